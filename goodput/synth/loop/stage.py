"""Shows a simulated fleet on an API server as it was at an instant: what is gone is gone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from goodput.synth.api_server import Cluster, Served
from goodput.synth.files import rfc3339, stable_uid
from goodput.synth.fleet import Node, Pod
from goodput.synth.kubeevents import events
from goodput.synth.kubemeta import Object, Timeline, meta, version
from goodput.synth.kubeobjects import timelines
from goodput.synth.simulate import Simulation
from goodput.synth.trainlogs import Line

EVENT_TTL_S = 3600
RENEW_S = 10
_SERVED = (
    ("v1", "nodes", "Node", False),
    ("v1", "pods", "Pod", True),
    ("v1", "events", "Event", True),
    ("batch/v1", "jobs", "Job", True),
    ("coordination.k8s.io/v1", "leases", "Lease", True),
    ("jobset.x-k8s.io/v1alpha2", "jobsets", "JobSet", True),
    ("kubeflow.org/v1", "pytorchjobs", "PyTorchJob", True),
    ("kueue.x-k8s.io/v1beta1", "workloads", "Workload", True),
)


class Stage:
    """A fleet behind an API server: deleted objects are gone, events live for an hour.

    Attributes:
        cluster: what the server serves.
    """

    def __init__(self, sim: Simulation, logs: Sequence[tuple[Pod, list[Line]]] = ()) -> None:
        """Shows nothing yet.

        Args:
            sim: what happened.
            logs: runs of pods in the order of time, and their lines, which the server shows.
        """
        self.cluster = Cluster()
        self.cluster.served = [Served(*entry) for entry in _SERVED]
        self._sim = sim
        self._logs = logs
        self._timelines = timelines(sim)
        self._events = sorted(events(sim), key=lambda event: event[0])

    def show(self, t: int) -> None:
        """Let the server answer as of `t`."""
        shown: dict[str, list[Object]] = {entry.kind: [] for entry in self.cluster.served}
        for row in self._timelines:
            if _is_there(row, t):
                shown[row.kind].append(row.build(t))
        shown["Event"] = [event for at, event in self._events if t - EVENT_TTL_S < at <= t]
        shown["Lease"] = [
            _lease(node, t)
            for node in self._sim.all_nodes
            if node.created <= t and (node.deleted is None or t < node.deleted)
        ]
        for entry in self.cluster.served:
            entry.items = shown[entry.kind]
        self.cluster.logs = self._logs_at(t)
        self.cluster.version = int(version(t, self._sim.start))
        self.cluster.changes, self.cluster.oldest = {}, 0
        self.cluster.set_clock(t)

    def _logs_at(self, t: int) -> dict[str, list[list[str]]]:
        """What each run of a container that began has printed."""
        shown: dict[str, list[list[str]]] = defaultdict(list)
        for pod, lines in self._logs:
            if pod.running is not None and pod.running <= t:
                printed = [text.replace(" stdout F ", " ", 1) for at, text in lines if at <= t]
                shown[f"{pod.namespace}/{pod.name}/trainer"].append(printed)
        return shown

    def changes(self, start: int, end: int) -> Iterator[tuple[int, dict[str, list[Object]]]]:
        """What happened after `start` and up to `end`: lines of watches by plural, per instant."""
        at: dict[int, list[tuple[str, str, Object]]] = defaultdict(list)
        for row in self._timelines:
            for change in row.changes:
                what = "ADDED" if change == row.changes[0] else "MODIFIED"
                if start < change <= end:
                    at[change].append((row.kind, what, row.build(change)))
            if row.removed is not None and start < row.removed <= end:
                at[row.removed].append((row.kind, "DELETED", row.build(row.removed - 1)))
        for instant, event in self._events:
            if start < instant <= end:
                at[instant].append(("Event", "ADDED", event))
        plurals = {entry.kind: entry.plural for entry in self.cluster.served}
        for instant in sorted(at):
            lines: dict[str, list[Object]] = defaultdict(list)
            first = int(version(instant, self._sim.start))
            for number, (kind, what, body) in enumerate(at[instant]):
                newer = {**body["metadata"], "resourceVersion": str(first + number)}
                lines[plurals[kind]].append({"type": what, "object": {**body, "metadata": newer}})
            yield instant, lines

    def forget(self) -> None:
        """Let every watch be too late that does not begin now, until the next `show`."""
        self.cluster.oldest = self.cluster.version


def _is_there(row: Timeline, t: int) -> bool:
    return row.changes[0] <= t and (row.removed is None or t < row.removed)


def _lease(node: Node, t: int) -> Object:
    """The lease that the kubelet renews while it lives."""
    here = [span for span in node.history if span.start <= t][-1]
    beat = here.start if here.conds.get("Ready") else t - (t - node.created) % RENEW_S
    uid = stable_uid(node.uid, "lease")
    spec = {
        "holderIdentity": node.name,
        "leaseDurationSeconds": 40,
        "renewTime": rfc3339(beat)[:-1] + ".000000Z",
    }
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": meta(node.name, uid, node.created, beat, "kube-node-lease"),
        "spec": spec,
    }
