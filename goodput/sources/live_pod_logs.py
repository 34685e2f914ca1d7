"""Logs of pods through the API server: what containers print, and what the run before printed.

The API shows the file that the kubelet writes to now. What it rotated away, or deleted with the
pod, is gone. So this is for clusters where nobody ships logs; run it more often than pods come and
go.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import IO, Any

from goodput.errors import GoodputError, SourceUnreachable
from goodput.sources.artefact import quarantine_row
from goodput.sources.kube_answers import ROLE, Refused, Unanswered, shut_out
from goodput.sources.kube_fields import Pruner
from goodput.sources.kube_kinds import find_kind
from goodput.sources.kube_listing import listing, pages
from goodput.sources.kube_snapshot import Scope, chosen_namespaces
from goodput.sources.kube_values import clean_text, format_instant, parse_instant, safe_text
from goodput.sources.kubernetes_api import KubernetesApi
from goodput.sources.log_lists import LogList
from goodput.sources.log_parts import SETTLE, Part, cut, is_stamped, newest_parts
from goodput.sources.one_log import Readable, Tables
from goodput.sources.places import Stored
from goodput.sources.readings import Readings

_SOURCE = "kubernetes pods/log"
_FORBIDDEN = 403
_BAD_REQUEST = 400
# The API server asks the kubelet; one that is lost does not come back while we wait.
_ATTEMPTS = 2
_LINE_BYTES = 1 << 20
_MEMORY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ContainerRun:
    """One run of one container: from its start to its exit.

    Attributes:
        number: how often it was started before.
        is_previous: whether it is the run before the one that the API shows by default.
        finished_at: when it exited; None while it runs.
    """

    namespace: str
    pod: str
    uid: str
    node: str
    container: str
    number: int
    is_previous: bool
    finished_at: datetime | None

    @property
    def over_at(self) -> datetime | None:
        """When all of its lines were written: the second in which it exited is over."""
        return self.finished_at + timedelta(seconds=1) if self.finished_at else None

    @property
    def path(self) -> str:
        """The pod in the API."""
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.pod}"

    @property
    def log(self) -> str:
        """What its log is called, with the path that the kubelet keeps it at."""
        folder = f"{self.namespace}_{self.pod}_{self.uid}/{self.container}"
        return f"kubernetes /var/log/pods/{folder}/{self.number}.log"


class PodLogs:
    """The logs of training pods of one cluster.

    Attributes:
        errors: nodes and lists that did not answer.
        lists: the part of the cluster that is looked at, with the runs of containers in it.
        tables: what may not be read, and texts that are no logs.
    """

    def __init__(
        self,
        api: KubernetesApi,
        scope: Scope,
        cluster: str,
        *,
        again: bool = False,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Nothing is asked for yet.

        Args:
            scope: which pods; of these, the ones that hold GPUs or belong to a training workload.
            cluster: the name under which the lake knows it.
            again: read from the start what was read before.
            say: told once for each namespace whose logs may not be read.
        """
        self.errors: list[GoodputError] = []
        self.lists = [LogList(_root(scope), is_whole=True)]
        self.tables: Tables = {"collector_gaps": [], "quarantine": []}
        self._api = api
        self._scope = scope
        self._cluster = cluster
        self._again = again
        self._say = say
        self._has_come = False
        self._refused: set[str] = set()
        self._lost_nodes: set[str] = set()

    def logs(self, readings: Readings) -> Iterator[tuple[LogList, Readable, Stored]]:
        """Every part of a log that may have something new.

        Raises:
            SourceUnreachable: the API server does not answer, or shows no pods.
        """
        newest = {} if self._again else newest_parts(readings, "kubernetes ")
        [listed] = self.lists
        for run in self._runs():
            listed.files += 1
            listed.names.add(run.log)
            last = newest.get(run.log)
            if run.over_at and last and last.known_until >= run.over_at:
                self._has_come = True
                continue
            if run.namespace in self._refused or run.node in self._lost_nodes:
                listed.miss(run.log, "its namespace is refused, or its node does not answer")
                continue
            for part, stored in self._pull(run, last.since if last else None):
                yield listed, part, stored
        if self._refused and not self._has_come:
            self.errors.append(SourceUnreachable(f"not one log of a pod could be read; {ROLE}"))

    def _runs(self) -> Iterator[ContainerRun]:
        selectors = {"labelSelector": self._scope.selector} if self._scope.selector else {}
        try:
            for namespace in chosen_namespaces(self._api, self._scope):
                inside = f"/namespaces/{namespace}" if namespace else ""
                for page in pages(self._api, f"/api/v1{inside}/pods", selectors):
                    for pod in page.items:
                        if _is_training(pod):
                            yield from runs_of(pod)
        except (Refused, Unanswered) as error:
            raise SourceUnreachable(
                shut_out(error) or f"the API server does not show pods ({error}); {ROLE}"
            ) from None

    def _pull(self, run: ContainerRun, since: datetime | None) -> Iterator[tuple[Part, Stored]]:
        """The parts of the log of a run from some instant on."""
        with tempfile.SpooledTemporaryFile(_MEMORY_BYTES) as text:
            try:
                at = self._fetch(run, since, text)
            except Refused as refused:
                self._note_refusal(run, refused)
                return
            except Unanswered as error:
                self._note_silence(run, error)
                return
            self._has_come = True
            if at is None:
                self.lists[0].miss(run.log, "another run took its place while it was read")
                return
            parts = cut(self._lines(text, run))
        with ExitStack() as opened:
            for part in parts:
                opened.callback(part.close)
            for part in parts:
                over_at = run.over_at if part is parts[-1] else None
                yield part, part.stored(run.log, at - SETTLE, over_at)

    def _fetch(self, run: ContainerRun, since: datetime | None, text: IO[bytes]) -> datetime | None:
        """Writes the text into a file; None if it proved to be that of another run."""
        parameters = {"container": run.container, "timestamps": "true"}
        if run.is_previous:
            parameters["previous"] = "true"
        if since:
            # Parts begin at whole hours: whole seconds, which is all that the API takes.
            parameters["sinceTime"] = format_instant(since).replace(".000Z", "Z")
        at = self._api.fetch(f"{run.path}/log", parameters, text, _ATTEMPTS)
        if run.finished_at is None and not self._is_still(run):
            return None
        return at

    def _is_still(self, run: ContainerRun) -> bool:
        """Whether what was just read came from this run, and not from one that began meanwhile."""
        try:
            pod = self._api.get(run.path).body
        except Refused:
            return False  # gone; another may come under its name
        return any(
            (now.uid, now.container, now.number, now.is_previous)
            == (run.uid, run.container, run.number, False)
            for now in runs_of(pod)
        )

    def _lines(self, text: IO[bytes], run: ContainerRun) -> Iterator[bytes]:
        """Its lines; the last one of a container that runs only if it is whole."""
        text.seek(0)
        first = text.readline(_LINE_BYTES)
        if first and not is_stamped(first):
            # What the kubelet could not read it says in the place of the log.
            name = {"cluster": self._cluster, "file": run.log}
            words = first.decode(errors="replace").strip()
            self.lists[0].miss(run.log, safe_text(words))
            reason = "no line of a log: the kubelet says why it has none"
            row = quarantine_row(
                name, None, safe_text(words), reason, table="log_files", column=None
            )
            self.tables["quarantine"].append(row)
        line = first
        while line:
            if line.endswith(b"\n") or len(line) == _LINE_BYTES:
                yield line
            elif run.finished_at:
                yield line + b"\n"
            line = text.readline(_LINE_BYTES)

    def _note_refusal(self, run: ContainerRun, refused: Refused) -> None:
        """A container that has not started yet, or whose log is gone, is no news."""
        self.lists[0].miss(run.log, clean_text(refused))
        if refused.status != _FORBIDDEN:
            return
        self._refused.add(run.namespace)
        name = f"{_SOURCE} of {run.namespace}"
        self._gap(name, refused, refused.at)
        self._say(f"{name}: not read ({refused}); {ROLE}")

    def _note_silence(self, run: ContainerRun, error: Unanswered) -> None:
        if error.status is None:
            raise SourceUnreachable(
                f"the API server stopped answering at the log of {run.pod} ({error}); the next run"
                " takes the rest"
            ) from None
        self._lost_nodes.add(run.node)
        self.lists[0].miss(run.log, clean_text(error))
        self._gap(f"{_SOURCE} of node {run.node}", error, self._api.now())
        self.errors.append(SourceUnreachable(f"logs of node {run.node} did not come ({error})"))

    def _gap(self, name: str, error: Exception, at: datetime) -> None:
        self.tables["collector_gaps"].append(
            {
                "cluster": self._cluster,
                "source_name": name,
                "from": at,
                "to": at,
                "reason": clean_text(error),
            }
        )


def _root(scope: Scope) -> str:
    """What the part of a cluster is called whose logs are looked at."""
    parts = (
        ("of", ", ".join(sorted(scope.namespaces))),
        ("but", ", ".join(sorted(scope.left_out))),
        ("with", scope.selector),
    )
    return " ".join((_SOURCE, *(f"{word} {value}" for word, value in parts if value)))


def runs_of(pod: dict[str, Any]) -> Iterator[ContainerRun]:
    """The runs of a pod whose logs the API can show: the current one and the one before."""
    metadata, spec = _mapping(pod.get("metadata")), _mapping(pod.get("spec"))
    statuses = listing(_mapping(pod.get("status")).get("containerStatuses"))
    wanted = _containers(spec)
    for status in statuses:
        if not isinstance(status, dict) or status.get("name") not in wanted:
            continue
        state, last = _mapping(status.get("state")), _mapping(status.get("lastState"))
        count = int(status.get("restartCount") or 0)
        before = _mapping(last.get("terminated"))
        exited = _mapping(state.get("terminated"))
        is_started = bool(exited) or "running" in state
        runs = []
        if before and is_started:
            runs.append((count - 1, True, before))
        if is_started or before:
            # While it waits to be started again, what is shown is the run that ended last.
            runs.append((count, False, exited if is_started else before))
        for number, is_previous, end in runs:
            if number >= 0:
                yield ContainerRun(
                    namespace=str(metadata.get("namespace")),
                    pod=str(metadata.get("name")),
                    uid=str(metadata.get("uid")),
                    node=str(spec.get("nodeName")),
                    container=str(status["name"]),
                    number=number,
                    is_previous=is_previous,
                    finished_at=_finish(end),
                )


def _finish(terminated: dict[str, Any]) -> datetime | None:
    try:
        return parse_instant(terminated.get("finishedAt"))
    except ValueError:
        return None


def _containers(spec: dict[str, Any]) -> set[str]:
    """The containers that hold GPUs; all of them where none does, as in a launcher."""
    containers = [item for item in listing(spec.get("containers")) if isinstance(item, dict)]
    holding = [item for item in containers if _holds_devices(item)]
    return {str(item.get("name")) for item in holding or containers}


def _holds_devices(container: dict[str, Any]) -> bool:
    claims = _mapping(container.get("resources")).get("claims")
    return bool(claims) or bool(Pruner().requests({"containers": [container]}, ""))


def _is_training(pod: Any) -> bool:
    """Whether it holds GPUs, or a kind of workload made it that runs on them."""
    if not isinstance(pod, dict):
        return False
    spec = _mapping(pod.get("spec"))
    containers = [item for item in listing(spec.get("containers")) if isinstance(item, dict)]
    if any(map(_holds_devices, containers)):
        return True
    owners = listing(_mapping(pod.get("metadata")).get("ownerReferences"))
    kinds = [
        find_kind(str(owner.get("kind")), str(owner.get("apiVersion")))
        for owner in owners
        if isinstance(owner, dict)
    ]
    return any(kind is not None and kind.role == "workload" for kind in kinds)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
