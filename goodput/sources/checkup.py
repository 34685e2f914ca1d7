"""What `goodput doctor` finds out about sources: whether they answer, let us ask, and have it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from goodput.errors import GoodputError, SourceUnreachable
from goodput.lake import Lake
from goodput.sources.configured import (
    Checkpoints,
    Dump,
    Kubernetes,
    Logs,
    LokiLogs,
    PodLogs,
    PrometheusSamples,
    Source,
)
from goodput.sources.kube_answers import Refused, Unanswered, shut_out
from goodput.sources.kube_listing import Resource, find_resources
from goodput.sources.kube_patience import Patience
from goodput.sources.kube_snapshot import LEASES_OF_NODES
from goodput.sources.kubernetes_api import KubernetesApi
from goodput.sources.places import Place, places
from goodput.texts import counted

OK, MISSING, REFUSED, UNREACHABLE = "ok", "missing", "refused", "unreachable"

_PATIENCE = Patience(attempts=2, read_s=20.0, total_s=30.0)
_WEB_PATIENCE = {"attempts": 2, "first_wait_s": 0.5}
_HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Finding:
    """One thing about one source.

    Attributes:
        state: ok, missing (nothing of what is asked for), refused or unreachable.
    """

    source: str
    state: str
    detail: str


def check_up(source: Source, lake: Lake | None, now: datetime) -> Iterator[Finding]:
    """What there is to say about a source; nothing is read that grows with the cluster.

    Args:
        lake: None if there is none yet.
    """
    found = partial(Finding, source.name)
    try:
        match source:
            case PodLogs() | Kubernetes():
                yield from _check_cluster(source, found)
            case PrometheusSamples():
                yield from _check_prometheus(source, lake, now, found)
            case LokiLogs():
                yield _check_loki(source, now, found)
            case Dump(paths=paths) | Logs(paths=paths) | Checkpoints(roots=paths):
                for path in paths:
                    yield _check_place(path, found)
            case _:
                raise TypeError(f"nobody knows how to look at {source.kind}")
    except GoodputError as error:
        yield found(UNREACHABLE, str(error))


class _Right(NamedTuple):
    """Something to be allowed to do; without a namespace, in all of them."""

    verb: str
    group: str
    resource: str
    namespace: str | None = None

    def __str__(self) -> str:
        name = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {name}" + (f" in {self.namespace}" if self.namespace else "")


def _rights(api: KubernetesApi, source: Kubernetes | PodLogs) -> Iterator[_Right]:
    """What this source needs; of kinds that the cluster does not have, nothing."""
    spaces: list[str | None] = [*source.namespaces] or [None]
    if isinstance(source, PodLogs):
        needed = [("list", "", "pods", spaces), ("get", "", "pods/log", spaces)]
    else:
        needed = [
            ("list", served.kind.api_group, served.plural, _spaces_of(served, spaces))
            for served in find_resources(api, lambda *_: None)
        ]
    for verb, group, resource, where in needed:
        yield from (_Right(verb, group, resource, space) for space in where)


def _spaces_of(served: Resource, spaces: list[str | None]) -> list[str | None]:
    if served.kind.role == "lease":
        return [LEASES_OF_NODES]
    return spaces if served.is_namespaced else [None]


def _check_cluster(
    source: Kubernetes | PodLogs, found: Callable[[str, str], Finding]
) -> Iterator[Finding]:
    with closing(source.open(_PATIENCE)) as api:
        try:
            version = api.get("/version").body.get("gitVersion", "of an unknown version")
            yield found(OK, f"the API server answers: {version}")
            asked = list(_rights(api, source))
            refused = [str(right) for right in asked if not api.may(*right)]
        except Refused as error:
            yield found(REFUSED, shut_out(error) or f"{error}")
            return
        except Unanswered as error:
            no_use = f"the API server gives no answer of use ({error}); check the address"
            yield found(UNREACHABLE, shut_out(error) or no_use)
            return
    if refused:
        yield found(REFUSED, f"this account may not {', '.join(refused)}; see its RBAC")
    else:
        yield found(OK, f"this account may read all {len(asked)} resources")


def _check_prometheus(
    source: PrometheusSamples,
    lake: Lake | None,
    now: datetime,
    found: Callable[[str, str], Finding],
) -> Iterator[Finding]:
    from goodput.sources.prometheus import newest_slices

    queries = source.asked()
    at_ms = round((now - timedelta(seconds=source.settle)).timestamp() * 1000)
    with closing(source.open(**_WEB_PATIENCE)) as server:
        series = {
            query.name: server.count_series(query.selector(source.match), at_ms)
            for query in queries
        }
    looked = f"at {_utc(at_ms)}"
    there = [f"{name} ({count} series)" for name, count in series.items() if count]
    if there:
        yield found(OK, f"{looked} it had {', '.join(there)}")
    if absent := [name for name, count in series.items() if not count]:
        yield found(MISSING, f"{looked} it had no series of {', '.join(absent)}")
    if lake is None:
        return
    newest = newest_slices(lake, source.cluster, set(series))
    if newest:
        until_ms = min(newest.values())
        behind = counted((at_ms - until_ms) // _HOUR_MS, "hour")
        yield found(OK, f"its hours until {_utc(until_ms)} are in the lake, {behind} behind")
    else:
        yield found(MISSING, f"the lake has nothing of it for cluster {source.cluster}")


def _utc(epoch_ms: int) -> str:
    return f"{datetime.fromtimestamp(epoch_ms / 1000, UTC):%Y-%m-%d %H:%M} UTC"


def _check_loki(source: LokiLogs, now: datetime, found: Callable[[str, str], Finding]) -> Finding:
    end_ns = round(now.timestamp()) * 1_000_000_000
    start_ns = end_ns - 3600 * 1_000_000_000
    with closing(source.open(**_WEB_PATIENCE)) as server:
        for _ in server.entries(source.query, start_ns, end_ns):
            return found(OK, "has lines of the last hour")
    return found(MISSING, f"has no line of the last hour for {source.query}")


def _check_place(path: str, found: Callable[[str, str], Finding]) -> Finding:
    try:
        for place in places(path):
            _reach(place)
    except GoodputError as error:
        return found(UNREACHABLE, str(error))
    return found(OK, f"{path} can be read")


def _reach(place: Place) -> None:
    """Touches a place without listing what is in it.

    Raises:
        SourceUnreachable: it is not there, or may not be read.
    """
    try:
        if place.store is not None:
            place.store.reach(place.path)
        elif os.path.isdir(place.path):  # noqa: PTH112 - names need not be text
            os.scandir(place.path).close()
        else:
            open(place.path, "rb").close()  # noqa: PTH123 - as above
    except OSError as error:
        reason = error.strerror or error
        raise SourceUnreachable(f"{place.name} cannot be read: {reason}") from None
