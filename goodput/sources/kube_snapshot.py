"""One look at a cluster, put into the lake: every kind that says something about GPU time.

A list that is refused or does not come leaves a mark in `collector_gaps`, and the others go on.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

from goodput._memory import (
    give_file_pages_back,
    give_freed_blocks_back,
    quick_turns,
    without_cycle_search,
)
from goodput.errors import SourceUnreachable, UsageError
from goodput.lake import Lake
from goodput.sources.artefact import Row
from goodput.sources.kube_answers import ROLE, Refused, Unanswered, shut_out
from goodput.sources.kube_listing import Page, Resource, find_resources, pages
from goodput.sources.kube_namespaces import NAME
from goodput.sources.kube_objects import OBJECTS, read_page
from goodput.sources.kube_shapes import in_shape
from goodput.sources.kube_values import clean_text
from goodput.sources.kubernetes_api import KubernetesApi
from goodput.sources.publisher import Publisher, Rows, Taken

_SOURCE = "kubernetes"
# Bodies are long: a full page of objects does not wait for another one.
_CHECK_ROWS, _CHECK_OBJECTS = 2_500, 250
_PUBLISH_ROWS = 5_000
# Pages are read at one pace and published at another; each that waits is 2 MB.
_PAGES_WAITING = 3
# So few rows are one thread's work, and each thread holds memory of its own. What a statement frees
# goes back at once: kept for the next one, as DuckDB does with half a GB, it would be 10 MB.
_SMALL_SESSION = (
    "threads = 1",
    "async_threads = 0",
    "allocator_bulk_deallocation_flush_threshold = '256KB'",
)
LEASES_OF_NODES = "kube-node-lease"
# Events about nodes lie in this namespace, whichever ones the jobs are in.
_NODE_EVENTS = ("default", {"fieldSelector": "involvedObject.kind=Node"})
_BAD_REQUEST = 400
_SELECTED_ROLES = frozenset({"pod", "workload"})
_EQUALITY = re.compile(r"\s*(?P<key>[\w./-]+)\s*==?\s*(?P<value>[\w.-]*)\s*")


@dataclass(frozen=True, slots=True)
class Scope:
    """Which part of a cluster is looked at.

    Attributes:
        namespaces: none means all.
        left_out: namespaces that are not looked at.
        selector: Kubernetes label selector that pods and workloads must match.
    """

    namespaces: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    selector: str = ""


def chosen_namespaces(api: KubernetesApi, scope: Scope) -> tuple[str | None, ...]:
    """The namespaces to look at one by one; only None for all of them in one list.

    What is no name of a namespace is none of them, whoever says it.

    Leaving some out by a selector would make a list that seems to say that what is in them is
    gone. So the others are listed one by one.

    Raises:
        Refused, Unanswered: some are left out, and the server does not say which others it has.
    """
    if not scope.namespaces and not scope.left_out:
        return (None,)
    names = scope.namespaces or tuple(_listed_namespaces(api))
    return tuple(name for name in names if NAME.fullmatch(name) and name not in scope.left_out)


def _listed_namespaces(api: KubernetesApi) -> Iterator[str]:
    """What the server calls its namespaces."""
    for page in pages(api, "/api/v1/namespaces", {}):
        for item in page.items:
            metadata = item.get("metadata") if isinstance(item, dict) else None
            name = metadata.get("name") if isinstance(metadata, dict) else None
            if isinstance(name, str):
                yield name


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a cluster gave.

    Attributes:
        taken: rows, as of a dump.
        refused: lists that this account may not read.
        unanswered: lists that did not come; the next look may get them.
        versions: each list that came, and the resourceVersion that it shows.
    """

    taken: Taken
    refused: tuple[str, ...]
    unanswered: tuple[str, ...]
    versions: tuple[tuple[KubeList, str], ...]


def take_kubernetes(
    lake: Lake,
    api: KubernetesApi,
    scope: Scope,
    *,
    cluster: str,
    say: Callable[[str], None] = lambda _: None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Look:
    """Publishes what the API server shows now, known from the moment of each publish on.

    Args:
        scope: what to look at.
        cluster: the name under which the lake knows it.
        say: told one line per list.
        clock: knowledge time.

    Raises:
        SourceUnreachable: the server refuses everything, or stopped answering; what had come by
            then is published.
        UsageError: the selector is none.
    """
    with closing(open_publisher(lake, cluster, clock)) as publisher, without_cycle_search():
        with quick_turns(), _Writer(publisher) as writer:
            look = _Look(api, scope, cluster, writer, clock=clock, say=say)
            look.take()
        return look.result(publisher.taken)


def open_publisher(lake: Lake, cluster: str, clock: Callable[[], datetime]) -> Publisher:
    """What takes the rows of a cluster's API server; their texts are long, so few wait."""
    give_freed_blocks_back()
    publisher = Publisher(
        lake,
        _SOURCE,
        clock,
        cluster=cluster,
        check_rows=_CHECK_ROWS,
        publish_rows=_PUBLISH_ROWS,
    )
    for setting in _SMALL_SESSION:
        publisher.con.execute(f"set {setting}")
    give_file_pages_back()
    return publisher


@dataclass(frozen=True, slots=True)
class KubeList:
    """One list to read.

    Attributes:
        namespace: the only one it covers; None means all.
        labels: what all its objects have; None where its selector cannot be said so.
        selectors: parameters of the request.
    """

    resource: Resource
    namespace: str | None = None
    labels: dict[str, str] | None = field(default_factory=dict)
    selectors: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Where it is."""
        return self.resource.path(self.namespace)

    @property
    def source(self) -> str:
        """What rows of it are read from."""
        return f"{_SOURCE} {self.path}"

    @property
    def name(self) -> str:
        """As 05_observed/149_collector_gaps_kube.sql names it: "Job.batch of team-a"."""
        kind = self.resource.kind
        dot = "." if kind.api_group else ""
        inside = f" of {self.namespace}" if self.namespace else ""
        return f"{kind.kind}{dot}{kind.api_group}{inside}"


class _Writer:
    """Puts rows into the lake in a thread of its own, while the next pages are read."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._thread = ThreadPoolExecutor(1)
        self._waiting: deque[Future[None]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Publishes what came, also where reading ended early."""
        with self._thread:
            self._settle(0)
            self._publisher.flush()

    def take(self, tables: Rows, source: str) -> None:
        """Takes rows of a page, when few wait; raises what went wrong with the ones before."""
        self._settle(_PAGES_WAITING)
        before = self._waiting[-1] if self._waiting else None
        self._waiting.append(self._thread.submit(self._write, before, tables, source))

    def _settle(self, most: int) -> None:
        while len(self._waiting) > most:
            self._waiting.popleft().result()

    def _write(self, before: Future[None] | None, tables: Rows, source: str) -> None:
        if before:
            before.result()  # nothing follows a page that failed: a list would seem whole
        self._publisher.take(tables, source)
        if len(tables.get(OBJECTS, ())) >= _CHECK_OBJECTS:
            self._publisher.check()


class _Look:
    """The lists of one look, one after the other."""

    def __init__(
        self,
        api: KubernetesApi,
        scope: Scope,
        cluster: str,
        writer: _Writer,
        *,
        clock: Callable[[], datetime],
        say: Callable[[str], None],
    ) -> None:
        self._api = api
        self._scope = scope
        self._cluster = cluster
        self._writer = writer
        self._clock = clock
        self._say = say
        self._refused: list[str] = []
        self._unanswered: list[str] = []
        self._versions: list[tuple[KubeList, str]] = []

    def take(self) -> None:
        """Reads every list."""
        try:
            resources = find_resources(self._api, self._failed)
        except (Refused, Unanswered) as error:
            raise _silent(error, "the address, and that this account may get /apis") from None
        try:
            namespaces = chosen_namespaces(self._api, self._scope)
        except (Refused, Unanswered) as error:
            needed = "that this account may list namespaces, which it must where some are left out"
            raise _silent(error, needed) from None
        for resource in resources:
            for each in _lists(resource, namespaces, self._scope.selector):
                try:
                    self._read(each)
                except (Refused, Unanswered) as error:
                    self._failed(each.name, error)
        if not self._versions:
            raise SourceUnreachable(f"not one list could be read; {ROLE}")

    def result(self, taken: Taken) -> Look:
        """What came of it."""
        return Look(
            taken,
            tuple(self._refused),
            tuple(self._unanswered),
            tuple(self._versions),
        )

    def _read(self, each: KubeList) -> None:
        kind = each.resource.kind
        hints = {"cluster": self._cluster, "file": each.source}
        for page in pages(self._api, each.path, each.selectors):
            tables = read_page(
                in_shape(page.items, kind),
                kind.kind,
                each.resource.api_version,
                page.observed_at,
                hints,
            )
            if page.is_last and each.labels is not None:
                tables["kube_lists"] = [self._list_row(each, page)]
            self._writer.take(tables, each.source)
            if page.is_last:
                self._say(f"{each.name}: {page.listed}")
                self._versions.append((each, page.version))

    def _list_row(self, each: KubeList, last: Page) -> Row:
        return {
            "cluster": self._cluster,
            "kind": each.resource.kind.kind,
            "api_group": each.resource.kind.api_group,
            "observed_at": last.observed_at,
            "items": last.listed,
            "namespace": each.namespace,
            "labels": json.dumps(each.labels, sort_keys=True),
            "is_consistent": last.is_consistent,
        }

    def _failed(self, name: str, error: Exception) -> None:
        """Records what was not observed; a server that lets nobody in any more ends the look."""
        if isinstance(error, Unanswered) and error.status is None:
            raise SourceUnreachable(
                f"the API server stopped answering at {name} ({error}); the next run takes the rest"
            ) from None
        if isinstance(error, Refused) and (reason := shut_out(error)):
            raise SourceUnreachable(f"{reason}; the next run takes the rest") from None
        if isinstance(error, Refused) and error.status == _BAD_REQUEST:
            raise UsageError(f"{name}: {error}; check the selector") from None
        (self._refused if isinstance(error, Refused) else self._unanswered).append(name)
        at = error.at if isinstance(error, Refused) else self._clock()
        gap = {
            "cluster": self._cluster,
            "source_name": f"{_SOURCE} {name}",
            "from": at,
            "to": at,
            "reason": clean_text(error),
        }
        self._writer.take({"collector_gaps": [gap]}, f"{_SOURCE} {name}")
        self._say(f"{name}: not read ({error})")


def _silent(error: Refused | Unanswered, check: str) -> SourceUnreachable:
    return SourceUnreachable(
        shut_out(error) or f"the API server does not say what it has ({error}); check {check}"
    )


def _lists(
    resource: Resource, namespaces: tuple[str | None, ...], selector: str
) -> Iterator[KubeList]:
    role = resource.kind.role
    if not resource.is_namespaced:
        yield KubeList(resource)
    elif role == "lease":
        yield KubeList(resource, LEASES_OF_NODES)
    elif role in _SELECTED_ROLES and selector:
        for namespace in namespaces:
            labels = _labels_of(selector)
            yield KubeList(resource, namespace, labels, {"labelSelector": selector})
    else:
        for namespace in namespaces:
            yield KubeList(resource, namespace)
        where, which = _NODE_EVENTS
        if role == "event" and not {None, where} & set(namespaces):
            yield KubeList(resource, where, None, which)


def _labels_of(selector: str) -> dict[str, str] | None:
    """The labels of everything that a selector lets through; None if it asks for more than those.

    What such a list lacks may only have stopped matching, so it cannot prove that it is gone.
    """
    terms = [_EQUALITY.fullmatch(term) for term in selector.split(",")]
    return {m["key"]: m["value"] for m in terms if m} if all(terms) else None
