"""What the real Prometheus of these tests holds: small clusters, each with one thing that happens.

Scraped every 30 s, 12 s after the half minute, for three hours of DAY.
"""

from datetime import UTC, datetime

from goodput.synth import remote_write

DAY = datetime(2026, 3, 2, tzinfo=UTC)
START_MS = int(DAY.timestamp()) * 1000
STEP_MS = 30_000
OFFSET_MS = 12_345
HOURS = 3
TIMES = range(START_MS + OFFSET_MS, START_MS + HOURS * 3_600_000, STEP_MS)


def at(clock):
    """Milliseconds of a clock time of DAY."""
    hours, minutes, seconds = (int(part) for part in f"{clock}:00".split(":")[:3])
    return START_MS + (hours * 3600 + minutes * 60 + seconds) * 1000


def sampled(value_at, holes=(), until=None):
    """Samples of a function of time, but none in some spans."""
    return [
        (time, float(value_at(time)))
        for time in TIMES
        if not any(at(start) <= time < at(end) for start, end in holes)
        and (until is None or time < at(until))
    ]


def labels(metric, cluster, **more):
    return frozenset({"__name__": metric, "cluster": cluster, **more}.items())


def condition(cluster, node, kind, status_at, holes=(), until=None, **more):
    """The three series of a node condition."""
    return {
        labels(
            "kube_node_status_condition",
            cluster,
            node=node,
            condition=kind,
            status=status,
            **{"instance": "ksm:8080", **more},
        ): sampled(lambda time, status=status: status_at(time) == status, holes, until)
        for status in ("true", "false", "unknown")
    }


def between(start, end, inside, outside):
    return lambda time: inside if at(start) <= time < at(end) else outside


def all_series():
    series = {}
    # A node that is lost for ten minutes over a full hour, first as unknown.
    series |= condition(
        "lost",
        "n-1",
        "Ready",
        lambda time: (
            "unknown"
            if at("00:55") <= time < at("01:00")
            else "false"
            if at("01:00") <= time < at("01:05")
            else "true"
        ),
    )
    # Holes of 1, 4 and 10 minutes.
    holes = [("00:10", "00:11"), ("00:20", "00:24"), ("01:55", "02:05")]
    series |= condition("holes", "n-1", "Ready", lambda _: "true", holes)
    # Kube-state-metrics moves to another address: the old series end with a stale marker.
    first = condition("moved", "n-1", "Ready", lambda _: "true", until="01:30", instance="ksm-a")
    last_ms = max(time for samples in first.values() for time, _ in samples)
    for samples in first.values():
        samples.append((last_ms + STEP_MS, remote_write.STALE))
    series |= first
    series |= condition(
        "moved", "n-1", "Ready", lambda _: "true", [("00:00", "01:30")], instance="ksm-b"
    )
    # A node that goes away: its series end with a stale marker, others go on.
    gone = condition("gone", "n-1", "Ready", lambda _: "true", until="00:30")
    for samples in gone.values():
        samples.append((at("00:30") + OFFSET_MS, remote_write.STALE))
    series |= gone
    series |= condition("gone", "n-2", "Ready", lambda _: "true")
    # A cordon while a check of the GPU is bad, and one while all is well.
    series |= {
        labels("kube_node_spec_unschedulable", "cordons", node="n-1"): sampled(
            between("00:30", "01:10", 1, 0)
        ),
        labels("kube_node_spec_unschedulable", "cordons", node="n-2"): sampled(
            between("01:30", "09:00", 1, 0)
        ),
    }
    series |= condition(
        "cordons", "n-1", "GpuCountMismatch", between("00:20", "01:00", "true", "false")
    )
    series |= condition("cordons", "n-2", "GpuCountMismatch", lambda _: "false")
    # GPU 0 has XID 79 and keeps it over a hole; GPU 1 had one before anyone looked; GPU 2 sends the
    # number that stands for no value.
    gpu = {"Hostname": "n-1", "UUID": "GPU-0", "instance": "dcgm:9400"}
    xids = {
        "0": sampled(between("00:40", "09:00", 79, 0), [("01:00", "01:10")]),
        "1": sampled(between("00:00", "02:00", 31, 94)),
        "2": sampled(lambda _: 9.223372036854775e18),
    }
    for index, samples in xids.items():
        series[labels("DCGM_FI_DEV_XID_ERRORS", "xids", gpu=index, **gpu)] = samples
    # Thermal slowdown with the idle bit on and off.
    series[labels("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "throttled", gpu="3", **gpu)] = sampled(
        lambda time: (64 if at("00:30") <= time < at("00:40") else 0) + time // STEP_MS % 2
    )
    # Scraped at the full half minute, so that a sample stands on each full hour.
    series[labels("kube_node_spec_unschedulable", "borders", node="n-1")] = [
        (time - OFFSET_MS, float(at("01:00") <= time - OFFSET_MS < at("02:00"))) for time in TIMES
    ]
    # Kube-state-metrics shows a pod first without its node, then with it.
    pod = {"namespace": "team", "pod": "p-0", "uid": "u-0"}
    gpus = {"container": "main", "resource": "nvidia_com_gpu", "unit": "integer", **pod}
    limits = "kube_pod_container_resource_limits"
    series[labels(limits, "bound", **gpus)] = sampled(lambda _: 8, until="00:01")
    series[labels(limits, "bound", node="n-1", **gpus)] = sampled(
        lambda _: 8, [("00:00", "00:01")], until="00:30"
    )
    # An eviction as kube-state-metrics shows it before 2.20, and since.
    for reason, is_it in (("Evicted", 1), ("NodeLost", 0)):
        series[labels("kube_pod_status_reason", "reasons-old", reason=reason, **pod)] = sampled(
            between("00:10", "01:00", is_it, 0)
        )
    series[labels("kube_pod_status_reason", "reasons-new", reason="Evicted", **pod)] = sampled(
        lambda _: 1, [("00:00", "00:10"), ("01:00", "03:00")]
    )
    # A cluster of which nothing else tells: a node, and a pod that holds all of it for an hour.
    pod = {"namespace": "ml", "pod": "a", "uid": "uid-a"}
    held = {**pod, "container": "main", "node": "n-1", "resource": "nvidia_com_gpu"}
    phases = {"Running": ("00:30", "01:30"), "Succeeded": ("01:30", "02:00")}
    life = [("00:00", "00:30"), ("02:00", "09:00")]
    series |= {
        labels(
            "kube_node_status_capacity", "alone", node="n-1", resource="nvidia_com_gpu"
        ): sampled(lambda _: 8),
        labels("kube_pod_container_resource_limits", "alone", **held): sampled(lambda _: 8, life),
        labels("kube_pod_owner", "alone", **pod, owner_kind="Job", owner_name="train"): sampled(
            lambda _: 1, life
        ),
    }
    for phase, (begin, end) in phases.items():
        series[labels("kube_pod_status_phase", "alone", **pod, phase=phase)] = sampled(
            between(begin, end, 1, 0), life
        )
    return series
