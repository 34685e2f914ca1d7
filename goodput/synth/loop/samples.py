"""What kube-state-metrics and dcgm-exporter would have shown of a simulated fleet's nodes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

from goodput.synth.fleet import Node, PoolSpec
from goodput.synth.kubenodes import node_timeline
from goodput.synth.remote_write import Labels, Sample
from goodput.synth.simulate import Simulation

SCRAPE_S = 60
# Samples stand a little after the full minute.
OFFSET_MS = 12_345
STATUSES = ("true", "false", "unknown")
THERMAL_BITS = 64
_XID = re.compile(r"Xid \(PCI:\w+:(\w+):\w+\): (\d+)")
_THERMAL = "GpuThermalThrottle"

Series = dict[Labels, list[Sample]]


def scrapes(sim: Simulation, holes: Iterable[tuple[int, int]]) -> list[int]:
    """The minutes in which somebody scraped: all but those of some holes."""
    minutes = range(-(-sim.start // SCRAPE_S) * SCRAPE_S, sim.stop, SCRAPE_S)
    return [t for t in minutes if not any(a <= t < b for a, b in holes)]


def all_series(sim: Simulation, times: Iterable[int]) -> Series:
    """The samples of some minutes, epoch seconds."""
    series: Series = defaultdict(list)
    for node in sim.all_nodes:
        mine = [
            t for t in times if node.created <= t and (node.deleted is None or t < node.deleted)
        ]
        for start, end in pairwise(_edges(node, sim)):
            inside = [t for t in mine if start <= t < end]
            if inside:
                for labels, value in _values(node, sim.pools[node.pool], start):
                    series[labels] += [(t * 1000 + OFFSET_MS, value) for t in inside]
        _add_xids(series, sim, node, mine)
    return series


def _edges(node: Node, sim: Simulation) -> list[int]:
    changes = node_timeline(node, sim.pools[node.pool]).changes
    return [*changes, max(changes[-1], sim.stop) + 1]


def _values(node: Node, pool: PoolSpec, t: int) -> Iterator[tuple[Labels, float]]:
    """The gauges of a node from the instant of a change on."""
    shown = node_timeline(node, pool).build(t)
    for condition in shown["status"]["conditions"]:
        for status in STATUSES:
            labels = _labels(
                "kube_node_status_condition",
                node=node.name,
                condition=condition["type"],
                status=status,
            )
            yield labels, float(condition["status"].lower() == status)
        if condition["type"] == _THERMAL:
            hot = THERMAL_BITS if condition["status"] == "True" else 0
            yield _labels("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", **_gpu(node, 3)), float(hot)
    cordoned = bool(shown["spec"].get("unschedulable"))
    yield _labels("kube_node_spec_unschedulable", node=node.name), float(cordoned)
    gpus = shown["status"]["allocatable"]["nvidia.com/gpu"]
    yield (
        _labels("kube_node_status_allocatable", node=node.name, resource="nvidia_com_gpu"),
        float(gpus),
    )


def _add_xids(series: Series, sim: Simulation, node: Node, times: list[int]) -> None:
    """The last XID of each GPU; a reboot forgets it."""
    found = [
        (t, int(match[1], 16) % node.gpus, int(match[2]))
        for t, of, text in sim.trace.kernel
        if of is node and (match := _XID.search(text))
    ]
    boots = [t for t, of, reason, _ in sim.trace.node_events if of is node and reason == "Rebooted"]
    for gpu in range(node.gpus):
        labels = _labels("DCGM_FI_DEV_XID_ERRORS", **_gpu(node, gpu))
        for t in times:
            booted = max((b for b in boots if b <= t), default=0)
            last = [xid for at, of, xid in found if of == gpu and booted <= at <= t]
            series[labels].append((t * 1000 + OFFSET_MS, float(last[-1] if last else 0)))


def _gpu(node: Node, index: int) -> dict[str, str]:
    return {"Hostname": node.name, "gpu": str(index), "UUID": f"GPU-{node.uid[:8]}-{index}"}


def _labels(metric: str, **labels: str) -> Labels:
    return frozenset({"__name__": metric, "job": "exporter", **labels}.items())
