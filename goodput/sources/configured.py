"""The sources that a site's goodput.toml names, each a [[source]] with the options of its kind.

`kind` and `cluster` stand in each; docs/configuration.md lists the others. A source takes what it
has now, and taking it again adds nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec

from goodput.errors import SourceUnreachable, UsageError
from goodput.lake import Lake
from goodput.settings import Settings
from goodput.sources.web import Access, access_from_files
from goodput.texts import did_you_mean

if TYPE_CHECKING:
    from goodput.sources.kube_patience import Patience
    from goodput.sources.kube_snapshot import Scope
    from goodput.sources.kubernetes_api import KubernetesApi
    from goodput.sources.live_logs import LogOptions, LogSource
    from goodput.sources.loki_http import Loki
    from goodput.sources.prometheus_http import Prometheus
    from goodput.sources.prometheus_queries import Query

Say = Callable[[str], None]
_YEAR_HOURS = 366 * 24


@dataclass(frozen=True)
class Gain:
    """What one run took of a source: rows by table that the lake did not have, and problems."""

    rows_added: dict[str, int]
    quarantined: int = 0


@dataclass(frozen=True, kw_only=True)
class Source(ABC):
    """What every kind of source has.

    Attributes:
        cluster: the name under which the lake knows what comes from it.
    """

    kind: ClassVar[str]
    cluster: str = "default"

    @property
    def name(self) -> str:
        """What people call it."""
        return self.kind

    @abstractmethod
    def take(self, lake: Lake, now: datetime, say: Say) -> Gain:
        """Takes into the lake what it has now, known from `now` on.

        Raises:
            GoodputError: not all of it came; what came is in the lake.
        """


@dataclass(frozen=True, kw_only=True)
class _Web(Source):
    """A server that is asked over HTTP, and who asks."""

    api: ClassVar[str] = "/api/v1"
    url: str
    token_file: Path | None = None
    user: str | None = None
    password_file: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    ca: Path | None = None
    headers: dict[str, str] = field(default_factory=dict)
    timeout: Annotated[float, msgspec.Meta(ge=1, le=86_400)] = 120.0

    @property
    def name(self) -> str:
        """Kind and address."""
        return f"{self.kind} {self.url}"

    def access(self, **patience: Any) -> Access:
        """The way to it; what else is given replaces fields of `Access`."""
        return access_from_files(
            url=self.url,
            api=self.api,
            option="url",
            token_file=self.token_file,
            user=self.user,
            password_file=self.password_file,
            cert=self.cert,
            key=self.key,
            ca=self.ca,
            headers=self.headers,
            timeout_s=self.timeout,
            **patience,
        )


@dataclass(frozen=True, kw_only=True)
class _Cluster(Source):
    """A cluster's API server, by default that of the pod's own, and which part of it."""

    kubeconfig: Path | None = None
    context: str | None = None
    namespaces: list[str] = field(default_factory=list)
    exclude_namespaces: list[str] = field(default_factory=list)
    selector: str = ""

    @property
    def name(self) -> str:
        """Kind and cluster."""
        return f"{self.kind} {self.cluster}"

    def open(self, patience: Patience | None = None) -> KubernetesApi:
        """The way to it."""
        from goodput.sources.kube_opening import open_api

        return open_api(self.kubeconfig, self.context, patience)

    @property
    def scope(self) -> Scope:
        """The part."""
        from goodput.sources.kube_snapshot import Scope

        return Scope(tuple(self.namespaces), tuple(self.exclude_namespaces), self.selector)


@dataclass(frozen=True, kw_only=True)
class _Logs(Source):
    """Logs, and what they do not say themselves."""

    job: str | None = None
    attempt: int | None = None
    tz: str | None = None
    path_pattern: str | None = None

    def _options(self) -> LogOptions:
        from goodput.sources.live_logs import LogOptions, path_pattern

        pattern = path_pattern(self.path_pattern) if self.path_pattern else None
        return LogOptions(self.cluster, self.job, self.attempt, self.tz, pattern)

    def _take(self, lake: Lake, source: LogSource, now: datetime, say: Say) -> Gain:
        from goodput.sources.live_logs import take_logs

        taken = take_logs(lake, source, self._options(), now=now, say=say)
        if taken.errors:
            raise taken.errors[0]
        return Gain(taken.rows_added, taken.quarantined)


@dataclass(frozen=True, kw_only=True)
class Dump(Source):
    """Files and folders of files: kubectl output, logs, listings."""

    kind = "dump"
    paths: list[str]
    job: str | None = None
    attempt: int | None = None
    tz: str | None = None

    def take(self, lake: Lake, now: datetime, say: Say) -> Gain:  # noqa: D102 - as Source
        from goodput.sources.dump import collect_files
        from goodput.sources.dumped import take_dump

        reports = collect_files(
            self.paths,
            cluster=self.cluster,
            job=self.job,
            attempt=self.attempt,
            tz=self.tz,
            now=now,
        )
        taken = take_dump(lake, reports, cluster=self.cluster, now=now, say=say)
        return Gain(taken.rows_added, taken.quarantined)


@dataclass(frozen=True, kw_only=True)
class Kubernetes(_Cluster):
    """What an API server shows now."""

    kind = "kubernetes"

    def take(self, lake: Lake, now: datetime, say: Say) -> Gain:  # noqa: D102 - as Source
        from goodput.sources.kube_snapshot import take_kubernetes

        with closing(self.open()) as api:
            look = take_kubernetes(
                lake, api, self.scope, cluster=self.cluster, say=say, clock=lambda: now
            )
        if look.unanswered:
            raise SourceUnreachable(f"lists that did not come: {', '.join(look.unanswered)}")
        return Gain(look.taken.rows_added, look.taken.quarantined)


@dataclass(frozen=True, kw_only=True)
class PodLogs(_Cluster, _Logs):
    """Logs of training pods through the API server."""

    kind = "pod-logs"

    def take(self, lake: Lake, now: datetime, say: Say) -> Gain:  # noqa: D102 - as Source
        from goodput.sources import live_pod_logs

        with closing(self.open()) as api:
            logs = live_pod_logs.PodLogs(api, self.scope, self.cluster, say=say)
            return self._take(lake, logs, now, say)


@dataclass(frozen=True, kw_only=True)
class Logs(_Logs):
    """Log files: paths, patterns and addresses of object stores."""

    kind = "logs"
    paths: list[str]

    def take(self, lake: Lake, now: datetime, say: Say) -> Gain:  # noqa: D102 - as Source
        from goodput.sources.live_logs import LogFiles

        return self._take(lake, LogFiles(self.paths), now, say)


@dataclass(frozen=True, kw_only=True)
class LokiLogs(_Web, _Logs):
    """The streams that a LogQL query finds in Loki."""

    kind = "loki"
    api = "/loki/api/v1"
    query: str
    page: int = 5_000

    def open(self, **patience: Any) -> Loki:
        """The way to it."""
        from goodput.sources.loki_http import Loki

        return Loki(self.access(**patience), self.page)

    def take(self, lake: Lake, now: datetime, say: Say) -> Gain:  # noqa: D102 - as Source
        from goodput.sources import live_loki

        with closing(self.open()) as server:
            return self._take(lake, live_loki.LokiLogs(server, self.query, now), now, say)


@dataclass(frozen=True, kw_only=True)
class Checkpoints(Source):
    """Roots of checkpoint storage: folders and addresses of object stores."""

    kind = "checkpoints"
    roots: list[str]
    job: str | None = None

    def take(self, lake: Lake, now: datetime, say: Say) -> Gain:  # noqa: D102 - as Source
        from goodput.sources.live_checkpoints import take_checkpoints

        taken = take_checkpoints(
            lake, self.roots, cluster=self.cluster, job=self.job, now=now, say=say
        )
        if taken.errors:
            raise taken.errors[0]
        return Gain(taken.rows_added)


@dataclass(frozen=True, kw_only=True)
class PrometheusSamples(_Web):
    """Samples of nodes, pods and GPUs, from where the lake ends.

    Attributes:
        match: PromQL label matchers added to every query.
        only: names of the queries that are asked; none means all.
        queries: a file with more of them.
        settle: seconds after which an hour is complete.
        first_hours: how much the first run takes.
    """

    kind = "prometheus"
    match: list[str] = field(default_factory=list)
    only: list[str] = field(default_factory=list)
    queries: Path | None = None
    settle: Annotated[float, msgspec.Meta(ge=0, le=_YEAR_HOURS * 3600)] = 300.0
    samples: int = 2_000_000
    first_hours: Annotated[float, msgspec.Meta(ge=0, le=_YEAR_HOURS)] = 24.0

    def open(self, **patience: Any) -> Prometheus:
        """The way to it."""
        from goodput.sources.prometheus_http import Prometheus

        return Prometheus(self.access(**patience))

    def asked(self) -> list[Query]:
        """The queries."""
        from goodput.sources.prometheus_queries import load_queries

        return load_queries(self.queries, self.only)

    def take(self, lake: Lake, now: datetime, say: Say) -> Gain:  # noqa: D102 - as Source
        from goodput.sources.prometheus import Plan, collect_prometheus

        plan = Plan(
            cluster=self.cluster,
            queries=self.asked(),
            end=now - timedelta(seconds=self.settle),
            matchers=self.match,
            first=timedelta(hours=self.first_hours),
            samples_at_once=self.samples,
        )
        with closing(self.open()) as server:
            return Gain(collect_prometheus(lake, server, plan, now=now, say=say).rows_added)


KINDS: dict[str, type[Source]] = {
    kind.kind: kind
    for kind in (Dump, Kubernetes, PodLogs, Logs, LokiLogs, Checkpoints, PrometheusSamples)
}


def configured_sources(settings: Settings) -> Sequence[Source]:
    """The sources of a site, in the order of its goodput.toml.

    Raises:
        UsageError: one has no kind that is known, an option of another kind, or lacks one.
    """
    return [_source({"cluster": settings.cluster, **entry}) for entry in settings.source]


def _source(entry: dict[str, Any]) -> Source:
    kind = entry.pop("kind", None)
    if kind not in KINDS:
        known = ", ".join(sorted(KINDS))
        raise UsageError(f"there is no source of kind {kind!r}; known are {known}")
    wanted = KINDS[kind]
    options = [option.name for option in fields(wanted)]
    if unknown := sorted(set(entry) - set(options)):
        hint = did_you_mean(unknown[0], options) or f"; known are {', '.join(options)}"
        raise UsageError(f"a source of kind {kind!r} has no option {unknown[0]!r}{hint}")
    try:
        return msgspec.convert(entry, wanted, dec_hook=_path)
    except msgspec.ValidationError as error:
        raise UsageError(f"a source of kind {kind!r} cannot be used: {error}") from None


def _path(wanted: type, value: Any) -> Any:
    """Texts as paths; NotImplementedError is how msgspec hears of a type that is none of ours."""
    if wanted is Path and isinstance(value, str):
        return Path(value)
    raise NotImplementedError
