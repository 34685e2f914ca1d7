"""Every transition of a cluster as it happens: a look at it now and then, and watches between them.

The looks prove what is gone and what was listed; a watch goes on where the last one ended, so that
nothing is lost between two of them. Only a watch that expired begins at the last look.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from goodput.errors import SourceUnreachable, UsageError
from goodput.lake import Lake
from goodput.sources.artefact import quarantine_row
from goodput.sources.kube_answers import Refused, Unanswered
from goodput.sources.kube_objects import read_page
from goodput.sources.kube_snapshot import KubeList, Scope, open_publisher, take_kubernetes
from goodput.sources.kube_values import clean_text
from goodput.sources.kubernetes_api import KubernetesApi
from goodput.sources.publisher import QUARANTINE, Publisher
from goodput.texts import counted

_CHANGES = frozenset({"ADDED", "MODIFIED", "DELETED"})
_GONE = 410
_MAX_WAITING = 2_000
_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Pace:
    """How often things happen, in seconds."""

    look_s: float = 900.0
    publish_s: float = 60.0
    pause_s: float = 2.0


def watch_kubernetes(
    lake: Lake,
    api: KubernetesApi,
    scope: Scope,
    *,
    cluster: str,
    stop: threading.Event,
    pace: Pace | None = None,
    say: Callable[[str], None] = lambda _: None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> None:
    """Publishes what the API server shows and every change of it until told to stop.

    Args:
        scope: what to look at.
        cluster: the name under which the lake knows it.
        stop: set it, and what came is published and this returns.
        pace: None means the defaults.
        say: told one line per list of the first look, one per look that brought rows, by itself or
            with the changes before it, and what goes wrong.
        clock: knowledge time.

    Raises:
        SourceUnreachable: the first look failed; later ones are tried again.
        UsageError: the selector is none.
    """
    pace = pace or Pace()
    carried: dict[str, str] = {}
    gained: Counter[str] = Counter()
    has_looked = False
    while not stop.is_set():
        try:
            told = (lambda _: None) if has_looked else say
            look = take_kubernetes(lake, api, scope, cluster=cluster, say=told, clock=clock)
        except (SourceUnreachable, UsageError) as error:
            if not has_looked:
                raise
            say(str(error))
        else:
            has_looked = True
            gained.update(look.taken.rows_added)
            _tell(gained, clock(), say)
            with closing(open_publisher(lake, cluster, clock)) as publisher:
                watch = _Watch(api, carried, stop, pace, say)
                watch.run(look.versions, publisher, cluster)
                gained.update(publisher.rows_added)
        stop.wait(pace.pause_s)
    _tell(gained, clock(), say)


def _tell(gained: Counter[str], at: datetime, say: Callable[[str], None]) -> None:
    """Says how many rows came by table, if any did, and forgets them."""
    rows = [f"{table}: {counted(n, 'new row')}" for table, n in sorted(gained.items()) if n]
    if rows:
        say(f"{at:%H:%M:%SZ}: {', '.join(rows)}")
    gained.clear()


@dataclass(frozen=True, slots=True)
class _Change:
    """One line of a watch: {"type": …, "object": …}."""

    of: KubeList
    value: dict[str, Any]
    version: str
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class _NoChange:
    """What came in the place of a change.

    Attributes:
        message: what the server says; None for a line that cannot be read, of which nothing is
            kept, as it may be half an object with all of its secrets.
        reason: why it is no change.
    """

    of: KubeList
    message: str | None
    reason: str


class _BadLine(Exception):
    """A line is no change; the watch must begin again."""

    def __init__(self, message: str | None, reason: str) -> None:
        super().__init__(reason)
        self.message = message
        self.reason = reason


class _Expired(Exception):
    """The server has forgotten the version that a watch wants to begin at."""


class _Watch:
    """All lists watched at once, from one look to the next."""

    def __init__(
        self,
        api: KubernetesApi,
        carried: dict[str, str],
        stop: threading.Event,
        pace: Pace,
        say: Callable[[str], None],
    ) -> None:
        """Starts nothing yet.

        Args:
            api: the server.
            carried: by name of a list, the version up to which its changes were taken; read
                where a watch begins, and kept up to date.
            stop: set it to end before the time.
            pace: how long, and how often to publish.
            say: told which lists cannot be watched.
        """
        self._api = api
        self._carried = carried
        self._stop = stop
        self._pace = pace
        self._say = say
        self._over = threading.Event()
        self._until = time.monotonic() + pace.look_s
        self._changes: queue.Queue[_Change | _NoChange] = queue.Queue(_MAX_WAITING)
        self._expired: set[str] = set()

    def run(
        self, looked: Iterable[tuple[KubeList, str]], publisher: Publisher, cluster: str
    ) -> None:
        """Watches until the next look is due, which an expired watch brings forward.

        Args:
            looked: what to watch, and the version that the last look saw of it.
            publisher: takes the rows.
            cluster: the name under which the lake knows it.
        """
        for each, version in looked:
            # Every node renews its lease every ten seconds; a look shows it often enough.
            if each.resource.kind.role == "lease":
                continue
            # Where the last watch ended, so that no change is missed; or, if that was too long ago
            # as nothing has changed since, at the look.
            starts = [version]
            if (last := self._carried.get(each.name)) is not None:
                starts.append(last)
            threading.Thread(target=self._follow, args=(each, starts), daemon=True).start()
        try:
            while not self._is_over():
                self._take(publisher, cluster, self._pace.publish_s)
                publisher.flush()
        finally:
            self._over.set()
            self._take(publisher, cluster, 0)
            publisher.flush()
            for name in self._expired:
                self._carried.pop(name, None)

    def _is_over(self) -> bool:
        return self._over.is_set() or self._stop.is_set() or time.monotonic() >= self._until

    def _take(self, publisher: Publisher, cluster: str, seconds: float) -> None:
        """Moves changes into the batch for a while, and at the end all that wait."""
        until = time.monotonic() + seconds
        while True:
            left = 0 if self._is_over() else until - time.monotonic()
            try:
                if left > 0:
                    self._keep(self._changes.get(timeout=min(_POLL_S, left)), publisher, cluster)
                else:
                    self._keep(self._changes.get_nowait(), publisher, cluster)
            except queue.Empty:
                if left <= 0:
                    return

    def _keep(self, change: _Change | _NoChange, publisher: Publisher, cluster: str) -> None:
        source, resource = change.of.source, change.of.resource
        if isinstance(change, _NoChange):
            hints = {"cluster": cluster, "file": source}
            table = "kube_events" if resource.kind.role == "event" else "kube_objects"
            row = quarantine_row(
                hints, None, change.message, change.reason, table=table, column=None
            )
            publisher.take({QUARANTINE: [row]}, source)
            return
        # An event that is deleted has only run out of its time, and was taken before.
        is_over = resource.kind.role == "event" and change.value["type"] == "DELETED"
        if change.value["type"] in _CHANGES and not is_over:
            rows = read_page(
                [change.value],
                resource.kind.kind,
                resource.api_version,
                change.observed_at,
                {"cluster": cluster, "file": source},
            )
            publisher.take(rows, source)
        # Only now: what was still under way when it ended must be watched again.
        self._carried[change.of.name] = change.version

    def _follow(self, each: KubeList, starts: list[str]) -> None:
        """Watches one list, again and again from where it was."""
        version = starts.pop()
        stuck_at = None
        while not self._is_over():
            try:
                for change in self._watch(each, version):
                    if not self._hand_over(change):
                        return
                    version = change.version
            except _Expired:
                if not starts:
                    self._expired.add(each.name)
                    self._over.set()
                    return
                version = starts.pop()
            except Refused as refused:
                self._say(f"{each.name}: not watched ({refused})")
                return
            except _BadLine as bad:
                self._hand_over(_NoChange(each, bad.message, bad.reason))
                if starts and version == stuck_at:
                    version = starts.pop()  # it cannot be passed; the look saw what came of it
                stuck_at = version
                self._over.wait(self._pace.pause_s)
            except (Unanswered, SourceUnreachable, UsageError):
                # Of the user only as far as a new sign-in goes, which may work the next time.
                self._over.wait(self._pace.pause_s)

    def _watch(self, each: KubeList, version: str) -> Iterator[_Change]:
        """The changes after a version, until the server ends the watch."""
        parameters = {
            **each.selectors,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(max(1, round(self._until - time.monotonic()))),
        }
        try:
            for line in self._api.follow(each.path, parameters):
                value = _json_line(line)
                if value["type"] == "ERROR":
                    if value["object"].get("code") == _GONE:
                        raise _Expired
                    message = clean_text(value["object"].get("message"))
                    raise _BadLine(message, "the server ended the watch with an error")
                found = value["object"]["metadata"]["resourceVersion"]
                yield _Change(each, value, found, self._api.now())
        except Refused as refused:
            if refused.status == _GONE:
                raise _Expired from None
            raise

    def _hand_over(self, change: _Change | _NoChange) -> bool:
        """Waits for room; false when it is over."""
        while not self._over.is_set():
            try:
                self._changes.put(change, timeout=_POLL_S)
            except queue.Full:
                continue
            return True
        return False


def _json_line(line: bytes) -> dict[str, Any]:
    """A line of a watch; the object of an ERROR may be empty.

    Raises:
        _BadLine: it is half a line, or none of a watch.
    """
    try:
        value = json.loads(line)
        kind, found = value["type"], value.get("object")
        if kind == "ERROR":
            return {"type": kind, "object": found if isinstance(found, dict) else {}}
        version = found["metadata"]["resourceVersion"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        kind = found = version = None
    # The version goes into an address, which a lone surrogate could not.
    if not (isinstance(kind, str) and isinstance(version, str) and version and version.isascii()):
        raise _BadLine(None, "half a line of a watch, or no change of an object")
    return {"type": kind, "object": found}
