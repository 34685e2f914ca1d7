"""Reads logs into the lake, again and again, while they grow and rotate.

A file that is as it was is not opened. One that grew is read from its start, for what a line means
depends on those before it; its rows are the same ones again plus the new ones, and the lake keeps
each row once. What was renamed, packed or copied is known by how it begins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from goodput.errors import GoodputError, NoData, SourceUnreachable, UsageError
from goodput.lake import Lake
from goodput.logs import LogHints
from goodput.logs.redact import redact
from goodput.sources.log_lists import TABLE as LISTS
from goodput.sources.log_lists import LogList, lost_logs
from goodput.sources.one_log import Readable, Tables, is_unchanged, read_one
from goodput.sources.places import Flaw, Listing, Place, Stored, places
from goodput.sources.publisher import QUARANTINE, Publisher, Rows
from goodput.sources.readings import TABLE as READS
from goodput.sources.readings import Reading, Readings
from goodput.texts import counted

GROUPS = ("job", "attempt", "rank", "namespace", "pod", "container")
"""What a pattern may find in a path."""

_MAX_DIGITS = 9
# What tells whose a log is; a file that only sits in a folder is a job of its own, named after it.
_NAMES = ("job", "path_job", "pod_uid", "namespace")
_NAMELESS = "; no job is named, --job or --path-pattern can"


@dataclass(frozen=True)
class LogOptions:
    """What the user says about all logs of a run; None where the logs or their paths tell.

    Attributes:
        pattern: searched in each path; its groups of the names in `GROUPS` say whose log it is.
    """

    cluster: str = "default"
    job: str | None = None
    attempt: int | None = None
    tz: str | None = None
    pattern: re.Pattern[str] | None = None

    def hints(self, path: str) -> LogHints:
        """What is known about one log; job and attempt that were named outright count first."""
        match = self.pattern.search(path) if self.pattern else None
        found = match.groupdict() if match else {}
        return LogHints(
            cluster=self.cluster,
            path=path,
            tz=self.tz,
            job=self.job or found.get("job"),
            attempt=_number(found.get("attempt")) if self.attempt is None else self.attempt,
            rank=_number(found.get("rank")),
            namespace=found.get("namespace"),
            pod=found.get("pod"),
            container=found.get("container"),
        )


def path_pattern(text: str) -> re.Pattern[str]:
    """A regular expression for `LogOptions.pattern`.

    Raises:
        UsageError: it is none, or has no group of a name that counts, or one that does not.
    """
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise UsageError(f"{text!r} is no regular expression: {error}") from None
    names = set(pattern.groupindex)
    if not names or names - set(GROUPS):
        raise UsageError(
            f"{text!r} needs named groups such as (?P<job>[^/]+), of {', '.join(GROUPS)}"
        )
    return pattern


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) <= _MAX_DIGITS else None


@dataclass
class TakenLogs:
    """What a run saw.

    Attributes:
        files: files that were looked at.
        unchanged: of these, the ones that need not be read again.
        known: that were read and hold lines of training, or were known from before.
        rows_added: rows by table that the lake did not have.
        quarantined: problems found.
        errors: of paths that could not be listed.
    """

    files: int = 0
    unchanged: int = 0
    known: int = 0
    rows_added: dict[str, int] = field(default_factory=dict)
    quarantined: int = 0
    errors: list[GoodputError] = field(default_factory=list)


class LogSource(Protocol):
    """Something that has logs.

    Attributes:
        errors: what could not be read, filled while `logs` goes on; it does not stop the rest.
        lists: what was seen of each root, filled likewise.
        tables: rows to publish besides, filled likewise.
    """

    errors: list[GoodputError]
    lists: list[LogList]
    tables: Tables

    def logs(self, readings: Readings) -> Iterator[tuple[LogList, Readable, Stored]]:
        """Every log that may have something new, given what was read before, below its root."""
        ...


def take_logs(
    lake: Lake,
    source: LogSource,
    options: LogOptions,
    *,
    now: datetime,
    again: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> TakenLogs:
    """Reads what is new in the logs of a source and publishes it, known from `now` on.

    Args:
        again: read unchanged logs, too.
        say: told one line per log that was read.

    Raises:
        UsageError: an address or a zone that cannot be understood.
    """
    now = now.replace(microsecond=now.microsecond // 1000 * 1000)
    taken = TakenLogs(errors=source.errors)
    readings = Readings.of(lake, options.cluster)
    publisher = Publisher(lake, "logs", lambda: now, cluster=options.cluster, last=READS)
    with closing(publisher):
        for listed, place, stored in source.logs(readings):
            taken.files += 1
            hints = options.hints(stored.name)
            last = readings.last_of(stored.name)
            is_told = last and readings.is_known_below(listed.root, last.log_id)
            if last and is_told and not again and is_unchanged(last, stored, hints, now):
                taken.unchanged += 1
                taken.known += 1
                publisher.take(_seen_again(last, listed, readings, now), stored.name)
                continue
            tables = read_one(listed, place, stored, hints, readings=readings, now=now)
            publisher.take(tables, stored.name)
            taken.known += bool(tables.get("log_files"))
            say(_sentence(stored.name, tables))
        publisher.take({**source.tables, **_looks(source.lists, readings, now, say)}, "")
        publisher.flush()
    taken.rows_added, taken.quarantined = publisher.rows_added, publisher.quarantined
    for error in taken.errors:
        say(str(error))
    return taken


def _seen_again(last: Reading, listed: LogList, readings: Readings, now: datetime) -> Tables:
    """Notes that a log is there as it was; a row if it was gone meanwhile."""
    listed.see(last.log_id)
    if not readings.is_gone(listed.root, last.log_id):
        return {}
    returned = replace(last, root=listed.root, gone_at=None, returned_at=now)
    readings.add(returned)
    return {READS: [returned.row(readings.cluster)]}


def _looks(
    lists: list[LogList], readings: Readings, now: datetime, say: Callable[[str], None]
) -> Tables:
    """What was seen of each root, and the logs that are gone from it."""
    for listed in lists:
        if listed.is_whole and listed.is_seen and listed.is_empty:
            say(f"{listed.root}: nothing is there")
    lost = lost_logs(lists, readings, now)
    for root, count in Counter(reading.root for reading in lost).items():
        say(f"{root}: not there any more: {counted(count, 'log')} that earlier runs read")
    return {
        READS: [reading.row(readings.cluster) for reading in lost],
        LISTS: [listed.row(readings.cluster, now) for listed in lists],
    }


class LogFiles:
    """The files below some paths."""

    def __init__(self, paths: Iterable[str]) -> None:
        """Nothing is looked at yet.

        Args:
            paths: files, folders, patterns, and addresses such as s3://bucket/logs/**/*.log.
        """
        self.errors: list[GoodputError] = []
        self.lists: list[LogList] = []
        self.tables: Tables = {}
        self._paths = paths

    def logs(self, readings: Readings) -> Iterator[tuple[LogList, Readable, Stored]]:
        """The files, each once; a path that cannot be listed does not stop the rest."""
        met: dict[str, LogList] = {}
        for path in self._paths:
            try:
                listed = LogList(Place.open(path).root, is_whole=True)
            except GoodputError as error:
                self.errors.append(error)
                continue
            self.lists.append(listed)
            for place, stored in self._files(path, listed):
                first = met.setdefault(stored.name, listed)
                if first is listed:
                    yield listed, place, stored
                else:
                    last = readings.last_of(stored.name)
                    listed.see_as(first, stored.name, last.log_id if last else None)

    def _files(self, path: str, listed: LogList) -> Iterator[tuple[Place, Stored]]:
        """The files below a path, each once, also where a pattern names the folders above, too."""
        here: set[str] = set()
        for place, listing in self._listings(path, listed):
            for stored in listing.entries:
                hidden = stored.name.rsplit("/", 1)[-1].startswith(".")
                if not (stored.is_directory or hidden or stored.name in here):
                    here.add(stored.name)
                    listed.files += 1
                    yield place, stored

    def _listings(self, path: str, listed: LogList) -> list[tuple[Place, Listing]]:
        """What lies below a path, as far as it can be listed."""
        try:
            found = [(place, _listing(place, listed.root)) for place in places(path)]
        except GoodputError as error:
            listed.fail(str(error))
            self.errors.append(error)
            return []
        for _, listing in found:
            for flaw in listing.flaws:
                listed.miss(flaw.name, flaw.reason)
                self.errors.append(SourceUnreachable(f"{flaw}; check the permissions"))
        return found


def _listing(place: Place, root: str) -> Listing:
    """What a root holds, or one of many that a pattern names, which does not spoil the others."""
    try:
        return place.listing()
    except GoodputError as error:
        if redact(place.root) == root:
            raise
        # It went since, or is a link to nothing: as in a folder, no log is there.
        is_gone = isinstance(error, NoData)
        reason = str(error).removeprefix(f"{place.name} ")
        return Listing([], [] if is_gone else [Flaw(place.root, reason)])


def _sentence(name: str, tables: Rows) -> str:
    if not tables:
        return f"{name}: nothing to read yet"
    file = tables.get("log_files")
    counts = [
        f"{len(rows)} {table}"
        for table, rows in tables.items()
        if rows and table not in (QUARANTINE, READS, "log_files")
    ]
    refused = [f"{len(rows)} quarantined"] if (rows := tables.get(QUARANTINE)) else []
    label = file[0]["format"] if file else "no log"
    hint = _NAMELESS if file and not any(file[0].get(key) for key in _NAMES) else ""
    return f"{name}: {label}: {', '.join(counts + refused) or 'nothing'}{hint}"
