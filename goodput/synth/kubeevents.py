"""core/v1 events of a simulated fleet, as its controllers and kubelets write them."""

from __future__ import annotations

from collections.abc import Iterator

from goodput.synth.files import rfc3339, stable_uid
from goodput.synth.fleet import Attempt, Job, Node, Pod
from goodput.synth.kubemeta import Object
from goodput.synth.kubenodes import MONITOR_GRACE_S
from goodput.synth.kubepods import child_name
from goodput.synth.simulate import Simulation

SLOW_BIND_S = 300


def events(sim: Simulation) -> Iterator[tuple[int, Object]]:
    """Every event, with the instant at which it happened."""
    for pod in sim.pods:
        yield from _pod_events(pod)
    for job in sim.jobs:
        for attempt in job.attempts:
            yield from _attempt_events(job, attempt)
    yield from _node_events(sim)


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


def _node_events(sim: Simulation) -> Iterator[tuple[int, Object]]:
    trace = sim.trace
    for t, node, on in trace.cordons:
        reason = "NodeNotSchedulable" if on else "NodeSchedulable"
        yield t, _node_event(node, t, reason, "Normal", f"Node {node.name} status is now: {reason}")
    for t, node, reason, kind in trace.node_events:
        boot = stable_uid(node.uid, "boot", node.boot)
        text = f"Node {node.name} has been rebooted, boot id: {boot}"
        yield t, _node_event(node, t, reason, kind, text)
    for node in sim.all_nodes:
        for span in node.history:
            if span.conds.get("Ready"):
                t = span.start + MONITOR_GRACE_S
                text = f"Node {node.name} status is now: NodeNotReady"
                yield t, _node_event(node, t, "NodeNotReady", "Normal", text)
        if node.deleted is not None:
            text = f"Node {node.name} event: Removing Node {node.name} from Controller"
            yield node.deleted, _node_event(node, node.deleted, "RemovingNode", "Normal", text)


def _pod_events(pod: Pod) -> Iterator[tuple[int, Object]]:
    if pod.bound is not None and pod.node is not None and pod.before is None:
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
) -> Object:
    of, namespace, name, uid = ref
    key = stable_uid(uid, reason, t)
    involved: Object = {"apiVersion": "v1", "kind": of, "name": name, "uid": uid}
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
