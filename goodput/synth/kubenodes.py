"""Node objects as the API server would have shown them at an instant of the simulation."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from goodput.synth.files import rfc3339, stable_uid
from goodput.synth.fleet import Node, PoolSpec, Snapshot
from goodput.synth.kubemeta import Object, Timeline, meta

HEARTBEAT_S = 300
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
