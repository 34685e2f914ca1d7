"""Kubernetes artefacts on disk: watch streams by day, Lists every few hours, events by day."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from goodput.synth.files import instant, rfc3339, stable_uid, write_ndjson, write_text
from goodput.synth.fleet import Attempt, Job, Node, Pod
from goodput.synth.kubeobjects import (
    MONITOR_GRACE_S,
    Object,
    Timeline,
    child_name,
    timelines,
)
from goodput.synth.plan import LAST_LIST_S, Fleet

LIST_EVERY_S = 6 * 3600
DUPLICATED = 0.03
SLOW_BIND_S = 300


def write_kube(fleet: Fleet, out: Path) -> None:
    """Write all Kubernetes artefacts below `out`."""
    rng = random.Random(fleet.start)
    rows = timelines(fleet.sim)
    _write_watch(fleet, rows, out / "watch", rng)
    _write_lists(fleet, rows, out / "lists", rng)
    _write_events(fleet, out / "events", rng)


def _seen(fleet: Fleet, t: int) -> bool:
    return not fleet.hole.start <= t < fleet.hole.end and t < fleet.sim.stop


def _write_watch(fleet: Fleet, rows: list[Timeline], out: Path, rng: random.Random) -> None:
    """`kubectl get KIND -A -w --output-watch-events -o json`, one line an event, a file a day."""
    streams: dict[tuple[str, str], list[Object]] = defaultdict(list)
    for row in rows:
        for t, change in _watched(row):
            if _seen(fleet, t):
                day = instant(t).strftime("%Y-%m-%d")
                streams[row.kind, day].append(change)
    for (kind, day), changes in sorted(streams.items()):
        doubled = changes + [c for c in changes if rng.random() < DUPLICATED]
        rng.shuffle(doubled)
        write_ndjson(out / f"{kind.lower()}s-{day}.ndjson", doubled)


def _watched(row: Timeline) -> Iterator[tuple[int, Object]]:
    for number, t in enumerate(row.changes):
        yield t, {"type": "MODIFIED" if number else "ADDED", "object": row.build(t)}
    if row.removed is not None:
        last = row.build(row.removed)
        last["metadata"].setdefault("deletionTimestamp", rfc3339(row.removed))
        yield row.removed, {"type": "DELETED", "object": last}


def list_times(fleet: Fleet) -> list[int]:
    """When somebody ran `kubectl get` on everything."""
    around = [fleet.hole.start - LAST_LIST_S, fleet.hole.end, fleet.sim.stop - 300]
    times = [*range(fleet.sim.start + 300, fleet.sim.stop, LIST_EVERY_S), *around]
    return sorted(t for t in times if _seen(fleet, t))


def _write_lists(fleet: Fleet, rows: list[Timeline], out: Path, rng: random.Random) -> None:
    """`kubectl get nodes,pods,... -A -o json` every six hours and around the collector's hole."""
    for t in list_times(fleet):
        items = [
            row.build(t)
            for row in rows
            if row.changes[0] <= t and (row.removed is None or t < row.removed)
        ]
        rng.shuffle(items)
        document = {
            "apiVersion": "v1",
            "kind": "List",
            "metadata": {"resourceVersion": ""},
            "items": items,
        }
        name = f"all-{instant(t).strftime('%Y%m%dT%H%M%SZ')}.json"
        write_text(out / name, json.dumps(document, separators=(",", ":")) + "\n")


# ---------------------------------------------------------------------- events


def _write_events(fleet: Fleet, out: Path, rng: random.Random) -> None:
    """`kubectl get events -A -w -o json`: what the API server keeps for an hour, a file a day."""
    days: dict[str, list[Object]] = defaultdict(list)
    for t, event in _events(fleet):
        if _seen(fleet, t):
            days[instant(t).strftime("%Y-%m-%d")].append(event)
    for day, rows in sorted(days.items()):
        doubled = rows + [r for r in rows if rng.random() < DUPLICATED]
        rng.shuffle(doubled)
        write_ndjson(out / f"events-{day}.ndjson", doubled)


def _events(fleet: Fleet) -> Iterator[tuple[int, Object]]:
    for pod in fleet.sim.pods:
        yield from _pod_events(pod)
    for job in fleet.sim.jobs:
        for attempt in job.attempts:
            yield from _attempt_events(job, attempt)
    yield from _node_events(fleet)


def _attempt_events(job: Job, attempt: Attempt) -> Iterator[tuple[int, Object]]:
    waited = attempt.bound is None or attempt.bound - attempt.queued > SLOW_BIND_S
    if waited and attempt.pods and attempt.number > 1:
        message = "0/24 nodes are available: insufficient nvidia.com/gpu."
        t = attempt.queued + 5
        yield t, _pod_event(attempt.pods[0], t, "FailedScheduling", "Warning", message)
    restarts = job.spec.owner == "JobSet" and attempt.outcome in ("failed", "evicted")
    if attempt.end and restarts:
        ref = ("JobSet", job.spec.namespace, job.spec.name, job.uid)
        text = f"restarting jobset because Job {child_name(job)} failed"
        reason = "RestartJobSetFailurePolicyAction"
        yield attempt.end, _event(ref, attempt.end, reason, "Warning", text, "jobset")


def _node_events(fleet: Fleet) -> Iterator[tuple[int, Object]]:
    trace = fleet.sim.trace
    for t, node, on in trace.cordons:
        reason = "NodeNotSchedulable" if on else "NodeSchedulable"
        yield t, _node_event(node, t, reason, "Normal", f"Node {node.name} status is now: {reason}")
    for t, node, reason, kind in trace.node_events:
        boot = stable_uid(node.uid, "boot", node.boot)
        text = f"Node {node.name} has been rebooted, boot id: {boot}"
        yield t, _node_event(node, t, reason, kind, text)
    for node in fleet.sim.all_nodes:
        for span in node.history:
            if span.conds.get("Ready"):
                t = span.start + MONITOR_GRACE_S
                text = f"Node {node.name} status is now: NodeNotReady"
                yield t, _node_event(node, t, "NodeNotReady", "Normal", text)
        if node.deleted is not None:
            text = f"Node {node.name} event: Removing Node {node.name} from Controller"
            yield node.deleted, _node_event(node, node.deleted, "RemovingNode", "Normal", text)


def _pod_events(pod: Pod) -> Iterator[tuple[int, Object]]:
    if pod.bound is not None and pod.node is not None:
        text = f"Successfully assigned {pod.namespace}/{pod.name} to {pod.node.name}"
        yield pod.bound, _pod_event(pod, pod.bound, "Scheduled", "Normal", text)
    if pod.running is not None and (pod.terminated is None or pod.running <= pod.terminated):
        yield pod.running, _pod_event(pod, pod.running, "Started", "Normal", "Started container")
    if pod.deletion is not None and pod.disruption is None:
        text = "Stopping container trainer"
        yield pod.deletion, _pod_event(pod, pod.deletion, "Killing", "Normal", text)
    if pod.disruption is not None:
        t, reason, _ = pod.disruption
        if reason == "DeletionByTaintManager":
            text = f"Marking for deletion Pod {pod.namespace}/{pod.name}"
            yield t, _pod_event(pod, t, "TaintManagerEviction", "Normal", text)


def _pod_event(pod: Pod, t: int, reason: str, kind: str, message: str) -> Object:
    ref = ("Pod", pod.namespace, pod.name, pod.uid)
    return _event(ref, t, reason, kind, message, "kubelet")


def _node_event(node: Node, t: int, reason: str, kind: str, message: str) -> Object:
    return _event(("Node", "default", node.name, node.uid), t, reason, kind, message, "kubelet")


def _event(
    ref: tuple[str, str, str, str], t: int, reason: str, kind: str, message: str, source: str
) -> dict[str, Any]:
    of, namespace, name, uid = ref
    key = stable_uid(uid, reason, t)
    involved: dict[str, Any] = {"apiVersion": "v1", "kind": of, "name": name, "uid": uid}
    if of != "Node":
        involved["namespace"] = namespace
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{name}.{key[:16].replace('-', '')}",
            "namespace": namespace,
            "uid": key,
            "creationTimestamp": rfc3339(t),
        },
        "involvedObject": involved,
        "reason": reason,
        "type": kind,
        "message": message,
        "count": 1,
        "firstTimestamp": rfc3339(t),
        "lastTimestamp": rfc3339(t),
        "eventTime": None,
        "source": {"component": source},
        "reportingComponent": source,
        "reportingInstance": "",
    }
