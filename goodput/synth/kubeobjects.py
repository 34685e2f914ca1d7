"""Kubernetes objects as the API server would have shown them at an instant of the simulation."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from goodput.synth.files import rfc3339, stable_uid
from goodput.synth.fleet import Attempt, Job, Node, Pod, PoolSpec, Snapshot
from goodput.synth.simulate import Simulation

Object = dict[str, Any]
HEARTBEAT_S = 300
GRACE_S = 30
# The node controller gives a silent kubelet this long before it flips Ready to Unknown.
MONITOR_GRACE_S = 45
HEALTHY = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID"),
    "Ready": ("True", "KubeletReady"),
    "AcceleratedHardwareReady": ("True", "NvidiaAcceleratedHardwareIsReady"),
    "IbLinkDown": ("False", "LinkUp"),
    "GpuThermalThrottle": ("False", "NoThrottle"),
}


@dataclass(frozen=True)
class Timeline:
    """An object over time: when it changed, what it was then, and from when it is gone."""

    kind: str
    changes: tuple[int, ...]
    build: Callable[[int], Object]
    created: int
    removed: int | None


def version(t: int, start: int) -> str:
    """A resourceVersion that grows with time."""
    return str(1_000_000 + (t - start) * 16)


def meta(name: str, uid: str, created: int, at: int, namespace: str = "", **more: Any) -> Object:
    """Object metadata; `resourceVersion` follows the instant of the last change."""
    base: Object = {"name": name, "uid": uid, "creationTimestamp": rfc3339(created)}
    if namespace:
        base["namespace"] = namespace
    base["resourceVersion"] = version(at, created)
    return base | more


# ----------------------------------------------------------------------- nodes


def node_timeline(node: Node, pool: PoolSpec) -> Timeline:
    """The Node object."""
    ready = [node.ready_at] if node.history[0].ready else []
    # Heartbeats alone do not count as changes; the flip of a silent node does.
    flips = [s.start + MONITOR_GRACE_S for s in node.history if s.conds.get("Ready")]
    changes = sorted({node.created, *ready, *(s.start for s in node.history), *flips})
    if node.deleted is not None:
        changes = [c for c in changes if c < node.deleted]
    return Timeline(
        "Node", tuple(changes), lambda t: _node(node, pool, t), node.created, node.deleted
    )


def _snapshot(node: Node, t: int) -> int:
    return max(0, bisect_right([s.start for s in node.history], t) - 1)


def _node(node: Node, pool: PoolSpec, t: int) -> Object:
    here = _snapshot(node, t)
    shown = node.history[here]
    ready = shown.ready and (here > 0 or t >= node.ready_at or node.created == shown.start)
    started = t >= node.ready_at and ready
    taints = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    if shown.cordoned:
        since = _since(node, here, lambda s: str(s.cordoned))
        taints.append(
            {
                "key": "node.kubernetes.io/unschedulable",
                "effect": "NoSchedule",
                "timeAdded": rfc3339(since),
            }
        )
    spec: Object = {
        "providerID": f"aws:///us-west-2a/i-{stable_uid(node.uid)[:17]}",
        "taints": taints,
    }
    if shown.cordoned:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta(node.name, node.uid, node.created, t, labels=_node_labels(node, pool)),
        "spec": spec,
        "status": {
            "capacity": _capacity(pool),
            "allocatable": _capacity(pool),
            "conditions": _conditions(node, here, t, started),
            "nodeInfo": {
                "bootID": stable_uid(node.uid, "boot", shown.boot),
                "machineID": stable_uid(node.uid, "machine").replace("-", ""),
                "systemUUID": stable_uid(node.uid, "system"),
                "kernelVersion": "6.8.0-1021-aws",
                "kubeletVersion": "v1.33.2",
                "osImage": "Ubuntu 24.04.2 LTS",
            },
            "addresses": [{"type": "Hostname", "address": node.name}],
        },
    }


def _node_labels(node: Node, pool: PoolSpec) -> dict[str, str]:
    labels = {
        "kubernetes.io/hostname": node.name,
        "node.kubernetes.io/instance-type": pool.instance_type,
        "eks.amazonaws.com/nodegroup": pool.name,
        "topology.kubernetes.io/zone": "us-west-2a",
        "topology.kubernetes.io/rack": node.rack,
        "nvidia.com/gpu.product": pool.model,
        "nvidia.com/gpu.count": str(pool.gpus),
    }
    if pool.mig:
        labels |= {"nvidia.com/mig.strategy": "mixed", "nvidia.com/mig.config.state": "success"}
    return labels


def _capacity(pool: PoolSpec) -> dict[str, str]:
    base = {"cpu": "192", "memory": "2113532Mi", "pods": "110"}
    if not pool.mig:
        return base | {"nvidia.com/gpu": str(pool.gpus)}
    # Two GPUs are cut into slices, the other two are whole.
    slices = {
        "nvidia.com/mig-1g.5gb": "4",
        "nvidia.com/mig-2g.10gb": "2",
        "nvidia.com/mig-3g.20gb": "2",
    }
    return base | slices | {"nvidia.com/gpu": str(pool.gpus - 2)}


def _since(node: Node, here: int, value: Callable[[Snapshot], str]) -> int:
    first = here
    while first and value(node.history[first - 1]) == value(node.history[here]):
        first -= 1
    return node.history[first].start


def _conditions(node: Node, here: int, t: int, started: bool) -> list[Object]:
    rows = []
    beat = node.created + (t - node.created) // HEARTBEAT_S * HEARTBEAT_S
    dead = node.history[here].conds.get("Ready")
    if dead:
        beat = _since(node, here, lambda s: str(s.conds.get("Ready")))
    for kind, healthy in HEALTHY.items():
        status, reason = node.history[here].conds.get(kind, healthy)
        since = _since(node, here, lambda s, k=kind: str(s.conds.get(k)))  # type: ignore[misc]
        changed = since if since > node.created else node.created + 5
        if kind == "Ready":
            if not started and not dead:
                status, reason, changed = "False", "KubeletNotReady", node.created
            elif not dead:
                changed = max(changed, node.ready_at)
            elif t < since + MONITOR_GRACE_S:
                status, reason = healthy
                changed = node.ready_at
            else:
                changed = since + MONITOR_GRACE_S
        rows.append(
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": "",
                "lastHeartbeatTime": rfc3339(max(beat, changed) if not dead else beat),
                "lastTransitionTime": rfc3339(changed),
            }
        )
    return rows


# ------------------------------------------------------------------------ pods


def pod_timeline(pod: Pod) -> Timeline:
    """The Pod object."""
    first = [pod.created, pod.bound, pod.running, pod.terminated, pod.deletion]
    if pod.disruption:
        first.append(pod.disruption[0])
    end = pod.removed if pod.removed is not None else 1 << 40
    changes = sorted({c for c in first if c is not None and c < end})
    return Timeline("Pod", tuple(changes), lambda t: _pod(pod, t), pod.created, pod.removed)


def _pod(pod: Pod, t: int) -> Object:
    changed = [c for c in (pod.created, pod.bound, pod.running, pod.terminated, pod.deletion) if c]
    at = max([c for c in changed if c <= t], default=pod.created)
    metadata = meta(pod.name, pod.uid, pod.created, at, pod.namespace, labels=_pod_labels(pod))
    if owner := _pod_owner(pod):
        metadata["ownerReferences"] = [owner]
    if pod.job is not None and pod.job.spec.owner != "PyTorchJob":
        metadata["annotations"] = {"batch.kubernetes.io/job-completion-index": str(pod.rank)}
    if pod.deletion is not None and t >= pod.deletion:
        metadata["deletionTimestamp"] = rfc3339(pod.deletion + GRACE_S)
        metadata["deletionGracePeriodSeconds"] = GRACE_S
    spec: Object = {
        "restartPolicy": "Never",
        "schedulerName": "default-scheduler",
        "containers": [
            {
                "name": "trainer" if pod.job else "server",
                "image": "registry.example.com/ml/train:26.10",
                "resources": {
                    "limits": {pod.resource: str(pod.gpus), "memory": "1Ti"},
                    "requests": {pod.resource: str(pod.gpus), "cpu": "64", "memory": "1Ti"},
                },
            }
        ],
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    }
    if pod.job is not None:
        spec["nodeSelector"] = {"eks.amazonaws.com/nodegroup": pod.job.spec.pool}
    if pod.bound is not None and t >= pod.bound and pod.node is not None:
        spec["nodeName"] = pod.node.name
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": _pod_status(pod, t),
    }


def _pod_labels(pod: Pod) -> dict[str, str]:
    if pod.job is None:
        return {"app": pod.name.rsplit("-", 2)[0], "team": "team-serving"}
    spec = pod.job.spec
    labels = {"team": spec.team, "kueue.x-k8s.io/queue-name": spec.pool}
    if spec.owner == "PyTorchJob":
        replica = "master" if pod.rank == 0 else "worker"
        return labels | {
            "training.kubeflow.org/job-name": spec.name,
            "training.kubeflow.org/replica-type": replica,
            "training.kubeflow.org/replica-index": str(max(0, pod.rank - 1)),
        }
    name = child_name(pod.job)
    labels |= {
        "batch.kubernetes.io/job-name": name,
        "batch.kubernetes.io/controller-uid": child_uid(pod.job, pod.attempt),
        "batch.kubernetes.io/job-completion-index": str(pod.rank),
    }
    if spec.owner == "JobSet":
        labels |= jobset_labels(pod.job, pod.attempt)
    return labels


def jobset_labels(job: Job, attempt: int) -> dict[str, str]:
    """The labels that JobSet puts on its child Job and pods."""
    return {
        "jobset.sigs.k8s.io/jobset-name": job.spec.name,
        "jobset.sigs.k8s.io/jobset-uid": job.uid,
        "jobset.sigs.k8s.io/replicatedjob-name": "workers",
        "jobset.sigs.k8s.io/job-index": "0",
        "jobset.sigs.k8s.io/restart-attempt": str(restarts(job, attempt)),
    }


def restarts(job: Job, attempt: int) -> int:
    """How often the controller had recreated the gang before this attempt (not: been suspended)."""
    return sum(a.outcome != "preempted" for a in job.attempts[: attempt - 1])


def child_name(job: Job) -> str:
    """The name of the batch Job that owns the pods."""
    return f"{job.spec.name}-workers-0" if job.spec.owner == "JobSet" else job.spec.name


def child_uid(job: Job, attempt: int) -> str:
    """The UID of the batch Job that owns the pods of an attempt."""
    if job.spec.owner != "JobSet":
        return job.uid
    return stable_uid(job.uid, "child", restarts(job, attempt))


def _pod_owner(pod: Pod) -> Object | None:
    if pod.job is None:
        name = pod.name.rsplit("-", 1)[0]
        kind = "StatefulSet" if name.startswith("notebook") else "ReplicaSet"
        return _owner("apps/v1", kind, name, stable_uid("serving", name))
    if pod.job.spec.owner == "PyTorchJob":
        return _owner("kubeflow.org/v1", "PyTorchJob", pod.job.spec.name, pod.job.uid)
    return _owner("batch/v1", "Job", child_name(pod.job), child_uid(pod.job, pod.attempt))


def _owner(api: str, kind: str, name: str, uid: str) -> Object:
    return {
        "apiVersion": api,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _pod_status(pod: Pod, t: int) -> Object:
    bound = pod.bound is not None and t >= pod.bound
    running = pod.running is not None and t >= pod.running
    over = pod.terminated is not None and t >= pod.terminated
    phase = "Pending"
    if over:
        phase = "Succeeded" if pod.exit_code == 0 else "Failed"
    elif running:
        phase = "Running"
    status: Object = {"phase": phase, "conditions": _pod_conditions(pod, t, bound, running, over)}
    if bound and pod.bound is not None:
        status["startTime"] = rfc3339(pod.bound)
        status["containerStatuses"] = [_container(pod, running, over)]
    if pod.disruption and t >= pod.disruption[0] and phase == "Failed":
        status["message"] = pod.disruption[2]
    return status


def _container(pod: Pod, running: bool, over: bool) -> Object:
    state: Object
    if over and pod.terminated is not None:
        ended = {
            "exitCode": pod.exit_code,
            "reason": pod.reason,
            "finishedAt": rfc3339(pod.terminated),
        }
        if running and pod.running is not None and pod.running <= pod.terminated:
            ended["startedAt"] = rfc3339(pod.running)
        else:
            ended["startedAt"] = None
        state = {"terminated": ended}
    elif running and pod.running is not None:
        state = {"running": {"startedAt": rfc3339(pod.running)}}
    else:
        state = {"waiting": {"reason": "ContainerCreating"}}
    return {
        "name": "trainer" if pod.job else "server",
        "ready": running and not over,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }


def _pod_conditions(pod: Pod, t: int, bound: bool, running: bool, over: bool) -> list[Object]:
    if not bound or pod.bound is None:
        return [_condition("PodScheduled", "False", pod.created, "Unschedulable")]
    rows = [
        _condition("PodScheduled", "True", pod.bound),
        _condition("Initialized", "True", pod.bound),
    ]
    if running and pod.running is not None:
        at = pod.terminated if over and pod.terminated is not None else pod.running
        rows.append(_condition("Ready", "False" if over else "True", at))
    if pod.disruption and t >= pod.disruption[0]:
        at, reason, message = pod.disruption
        rows.append(_condition("DisruptionTarget", "True", at, reason, message))
    return rows


def _condition(kind: str, status: str, at: int, reason: str = "", message: str = "") -> Object:
    row: Object = {"type": kind, "status": status, "lastTransitionTime": rfc3339(at)}
    if reason:
        row["reason"] = reason
    if message:
        row["message"] = message
    return row


# ------------------------------------------------------------------- workloads


def job_timelines(job: Job) -> list[Timeline]:
    """The owner object, its child Jobs and its Kueue Workload."""
    rows = [_owner_timeline(job), _workload_timeline(job)]
    if job.spec.owner == "JobSet":
        seen: dict[int, list[Attempt]] = {}
        for attempt in job.attempts:
            seen.setdefault(restarts(job, attempt.number), []).append(attempt)
        rows += [_child_timeline(job, group) for group in seen.values()]
    return rows


def _changes(job: Job) -> list[int]:
    times = [job.spec.submit]
    for a in job.attempts:
        times += [t for t in (a.queued, a.bound, a.ready, a.end) if t is not None]
    if job.ended is not None:
        times.append(job.ended)
    end = job.removed if job.removed is not None else 1 << 40
    return sorted({t for t in times if t < end})


def _template(job: Job) -> Object:
    return {
        "spec": {
            "nodeSelector": {"eks.amazonaws.com/nodegroup": job.spec.pool},
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "trainer",
                    "image": "registry.example.com/ml/train:26.10",
                    "resources": {"limits": {"nvidia.com/gpu": str(job.spec.gpus_per_pod)}},
                }
            ],
        }
    }


def _labels(job: Job) -> dict[str, str]:
    return {"team": job.spec.team, "kueue.x-k8s.io/queue-name": job.spec.pool}


def _latest(job: Job, t: int) -> Attempt:
    return [a for a in job.attempts if a.queued <= t][-1]


def _declared(job: Job, t: int) -> int | None:
    """When a controller said how it ended, if it has by now; of a deleted job nobody says so."""
    said = job.state in ("succeeded", "failed") and job.ended is not None and t >= job.ended
    return job.ended if said else None


def _suspended(job: Job, t: int) -> bool:
    """Whether Kueue holds the job back: before its first admission, and while it is preempted."""
    attempt = _latest(job, t)
    held = attempt.number == 1 or job.attempts[attempt.number - 2].outcome == "preempted"
    waiting = attempt.bound is None or t < attempt.bound
    evicted = attempt.end is not None and t >= attempt.end and attempt.outcome == "preempted"
    return (held and waiting) or evicted


def _owner_timeline(job: Job) -> Timeline:
    build = {"JobSet": _jobset, "Job": _plain_job, "PyTorchJob": _pytorchjob}[job.spec.owner]
    changes = tuple(_changes(job))
    return Timeline(job.spec.owner, changes, lambda t: build(job, t), job.spec.submit, job.removed)


def _head(job: Job, t: int, api: str, kind: str) -> Object:
    at = [c for c in _changes(job) if c <= t][-1]
    metadata = meta(
        job.spec.name, job.uid, job.spec.submit, at, job.spec.namespace, labels=_labels(job)
    )
    if job.state == "cancelled" and job.ended is not None and t >= job.ended:
        # Deleted in the foreground: the object stays until its pods are gone.
        metadata |= {"deletionTimestamp": rfc3339(job.ended), "finalizers": ["foregroundDeletion"]}
    return {"apiVersion": api, "kind": kind, "metadata": metadata}


def _jobset(job: Job, t: int) -> Object:
    spec = job.spec
    done = _declared(job, t)
    conditions = []
    if done is not None:
        kind, reason = (
            ("Completed", "AllJobsCompleted")
            if job.state == "succeeded"
            else ("Failed", "FailedJobs")
        )
        conditions.append(_condition(kind, "True", done, reason))
    status: Object = {"restarts": restarts(job, _latest(job, t).number), "conditions": conditions}
    if done is not None:
        status["terminalState"] = conditions[0]["type"]
    job_spec = {
        "parallelism": spec.pods,
        "completions": spec.pods,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": _template(job),
    }
    return _head(job, t, "jobset.x-k8s.io/v1alpha2", "JobSet") | {
        "spec": {
            "suspend": _suspended(job, t),
            "failurePolicy": {"maxRestarts": spec.restarts},
            "replicatedJobs": [{"name": "workers", "replicas": 1, "template": {"spec": job_spec}}],
        },
        "status": status,
    }


def _batch_status(job: Job, attempt: Attempt, t: int, failed: int) -> Object:
    status: Object = {}
    if attempt.bound is not None and t >= attempt.bound:
        status["startTime"] = rfc3339(attempt.bound)
        status["active"] = job.spec.pods
    if failed:
        status["failed"] = failed
    return status


def _plain_job(job: Job, t: int) -> Object:
    attempt = _latest(job, t)
    failed = sum(
        a.end is not None and a.end <= t and a.outcome != "succeeded" for a in job.attempts
    )
    status = _batch_status(job, attempt, t, failed)
    if (ended := _declared(job, t)) is not None:
        good = job.state == "succeeded"
        status["conditions"] = [
            _condition(
                "Complete" if good else "Failed",
                "True",
                ended,
                "" if good else "BackoffLimitExceeded",
            )
        ]
        status.pop("active", None)
        if good:
            status["succeeded"] = job.spec.pods
            status["completionTime"] = rfc3339(ended)
    return _head(job, t, "batch/v1", "Job") | {
        "spec": {
            "parallelism": job.spec.pods,
            "completions": job.spec.pods,
            "completionMode": "Indexed",
            "backoffLimit": job.spec.restarts,
            "suspend": _suspended(job, t),
            "template": _template(job),
        },
        "status": status,
    }


def _pytorchjob(job: Job, t: int) -> Object:
    attempt = _latest(job, t)
    conditions = [_condition("Created", "True", job.spec.submit, "PyTorchJobCreated")]
    if attempt.ready is not None and t >= attempt.ready:
        conditions.append(_condition("Running", "True", attempt.ready, "PyTorchJobRunning"))
    status: Object = {"conditions": conditions}
    if attempt.bound is not None and t >= attempt.bound:
        status["startTime"] = rfc3339(attempt.bound)
    if (ended := _declared(job, t)) is not None:
        kind = "Succeeded" if job.state == "succeeded" else "Failed"
        conditions.append(_condition(kind, "True", ended, f"PyTorchJob{kind}"))
        status["completionTime"] = rfc3339(ended)
    replicas = {"Master": {"replicas": 1, "restartPolicy": "Never", "template": _template(job)}}
    if job.spec.pods > 1:
        replicas["Worker"] = {**replicas["Master"], "replicas": job.spec.pods - 1}
    return _head(job, t, "kubeflow.org/v1", "PyTorchJob") | {
        "spec": {"runPolicy": {"suspend": _suspended(job, t)}, "pytorchReplicaSpecs": replicas},
        "status": status,
    }


def _child_timeline(job: Job, group: list[Attempt]) -> Timeline:
    created = group[0].queued
    last = group[-1]
    times = [created]
    for a in group:
        times += [t for t in (a.bound, a.ready, a.end) if t is not None]
    following = last.number < len(job.attempts)
    gone = job.attempts[last.number].queued if following else job.removed
    changes = tuple(sorted({t for t in times if gone is None or t < gone}))
    return Timeline("Job", changes, lambda t: _child(job, group, t), created, gone)


def _child(job: Job, group: list[Attempt], t: int) -> Object:
    attempt = [a for a in group if a.queued <= t][-1]
    over = attempt.end is not None and t >= attempt.end
    status = _batch_status(job, attempt, t, 0)
    if over and attempt.end is not None and attempt.outcome in ("failed", "evicted", "succeeded"):
        status.pop("active", None)
        if attempt.outcome == "succeeded":
            status |= {"succeeded": job.spec.pods, "completionTime": rfc3339(attempt.end)}
            status["conditions"] = [
                _condition("Complete", "True", attempt.end, "CompletionsReached")
            ]
        else:
            status["failed"] = 1
            status["conditions"] = [
                _condition("Failed", "True", attempt.end, "BackoffLimitExceeded")
            ]
    changed = [c for a in group for c in (a.queued, a.bound, a.ready, a.end) if c and c <= t]
    metadata = meta(
        child_name(job),
        child_uid(job, attempt.number),
        group[0].queued,
        max(changed),
        job.spec.namespace,
        labels=_labels(job) | jobset_labels(job, attempt.number),
        ownerReferences=[_owner("jobset.x-k8s.io/v1alpha2", "JobSet", job.spec.name, job.uid)],
    )
    spec = {
        "parallelism": job.spec.pods,
        "completions": job.spec.pods,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "suspend": _suspended(job, t),
        "template": _template(job),
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def _workload_timeline(job: Job) -> Timeline:
    return Timeline(
        "Workload", tuple(_changes(job)), lambda t: _workload(job, t), job.spec.submit, job.removed
    )


def _workload(job: Job, t: int) -> Object:
    """The Kueue Workload: one row per condition type, history overwritten."""
    held = _suspended(job, t)
    admitted = [
        a.bound
        for a in job.attempts
        if a.bound is not None
        and a.bound <= t
        and (a.number == 1 or job.attempts[a.number - 2].outcome == "preempted")
    ]
    evictions = [a.end for a in job.attempts if a.outcome == "preempted" and a.end and a.end <= t]
    conditions = []
    if admitted and not held:
        conditions += [
            _condition("QuotaReserved", "True", admitted[-1], "QuotaReserved"),
            _condition("Admitted", "True", admitted[-1], "Admitted"),
        ]
    else:
        since = evictions[-1] if evictions else job.spec.submit
        conditions.append(_condition("QuotaReserved", "False", since, "Pending"))
        if evictions:
            conditions.append(_condition("Admitted", "False", since, "NoReservation"))
    if evictions:
        state = "True" if held else "False"
        at = evictions[-1] if held else admitted[-1]
        conditions += [
            _condition("Evicted", state, at, "Preempted"),
            _condition("Preempted", state, at, "InClusterQueue"),
            _condition("Requeued", "True", evictions[-1], "Preempted"),
        ]
    if (ended := _declared(job, t)) is not None:
        reason = "Succeeded" if job.state == "succeeded" else "Failed"
        conditions.append(_condition("Finished", "True", ended, reason))
    head = _head(job, t, "kueue.x-k8s.io/v1beta1", "Workload")
    head["metadata"]["name"] = f"{job.spec.owner.lower()}-{job.spec.name}-{job.uid[:5]}"
    head["metadata"]["uid"] = stable_uid(job.uid, "workload")
    api = {"JobSet": "jobset.x-k8s.io/v1alpha2", "Job": "batch/v1", "PyTorchJob": "kubeflow.org/v1"}
    head["metadata"]["ownerReferences"] = [
        _owner(api[job.spec.owner], job.spec.owner, job.spec.name, job.uid)
    ]
    return head | {
        "spec": {
            "active": True,
            "queueName": job.spec.pool,
            "priority": job.spec.priority,
            "podSets": [{"name": "workers", "count": job.spec.pods, "template": _template(job)}],
        },
        "status": {"conditions": conditions},
    }


def timelines(sim: Simulation) -> list[Timeline]:
    """Every object of the simulation."""
    rows = [node_timeline(n, sim.pools[n.pool]) for n in sim.all_nodes]
    rows += [pod_timeline(p) for p in sim.pods]
    for job in sim.jobs:
        rows += job_timelines(job)
    return rows
