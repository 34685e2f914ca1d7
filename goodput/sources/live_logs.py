"""Reads logs into the lake, again and again, while they grow and rotate.

A file that is as it was is not opened. One that grew is read from its start, for what a line means
depends on those before it; its rows are the same ones again plus the new ones, and the lake keeps
each row once. What was renamed, packed or copied is known by how it begins.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import IO, Any, Protocol

from goodput import __version__
from goodput.errors import GoodputError, SourceUnreachable, UsageError
from goodput.lake import Lake
from goodput.logs import LogHints, LogResult, read_log
from goodput.logs.reading import ByteSource, open_log
from goodput.logs.step_lines import NONE
from goodput.sources.artefact import quarantine_row
from goodput.sources.dump import NOTHING_FOUND, is_mostly_binary
from goodput.sources.log_lists import TABLE as LISTS
from goodput.sources.log_lists import LogList
from goodput.sources.places import Listing, Place, Stored, places
from goodput.sources.publisher import QUARANTINE, Publisher, Rows
from goodput.sources.readings import Reading, Readings, head_hash

READS = "log_reads"
GROUPS = ("job", "attempt", "rank", "namespace", "pod", "container")
"""What a pattern may find in a path."""
SETTLE = timedelta(minutes=15)
"""After so long without a write, a last line without an end is taken as it stands."""

_HEAD_BYTES = 64 << 10
_TAIL_BYTES = 256 << 10
_STREAM_BYTES = 1 << 20
_MAX_DIGITS = 9
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
_ID_LENGTH = 24

Tables = dict[str, list[dict[str, Any]]]


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


class Readable(Protocol):
    """Where the text of a log lies.

    Attributes:
        is_part: whether it is but a part of a log, so that finding nothing in it means nothing.
    """

    @property
    def is_part(self) -> bool:
        """As above."""
        ...

    def read(self, stored: Stored, /) -> IO[bytes]:
        """A stream over the bytes as they are stored, packed or not."""
        ...

    def read_at(self, stored: Stored, offset: int, size: int, /) -> bytes:
        """Some bytes, fewer at the end."""
        ...


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
    taken = TakenLogs(errors=source.errors)
    readings = Readings.of(lake, options.cluster)
    publisher = Publisher(lake, "logs", lambda: now, cluster=options.cluster, last=READS)
    with closing(publisher):
        for listed, place, stored in source.logs(readings):
            taken.files += 1
            last = readings.last_of(stored.name)
            is_told = readings.is_known_below(listed.root, stored.name)
            if last and is_told and not again and _is_unchanged(last, stored, options, now):
                taken.unchanged += 1
                taken.known += 1
                continue
            tables = _read(listed, place, stored, options, readings=readings, now=now)
            publisher.take(tables, stored.name)
            taken.known += bool(tables.get("log_files"))
            say(_sentence(stored.name, tables))
        lists = [listed.row(options.cluster, now) for listed in source.lists]
        publisher.take({**source.tables, LISTS: lists}, "")
        publisher.flush()
    taken.rows_added, taken.quarantined = publisher.rows_added, publisher.quarantined
    for error in taken.errors:
        say(str(error))
    return taken


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

    def logs(self, _: Readings) -> Iterator[tuple[LogList, Readable, Stored]]:
        """The files, each once; a path that cannot be listed does not stop the rest."""
        seen: set[str] = set()
        for path in self._paths:
            try:
                listed = LogList(Place.open(path).root)
            except GoodputError as error:
                self.errors.append(error)
                continue
            self.lists.append(listed)
            for place, listing in self._listings(path, listed):
                for stored in listing.entries:
                    hidden = stored.name.rsplit("/", 1)[-1].startswith(".")
                    if stored.is_directory or hidden:
                        continue
                    listed.files += 1
                    if stored.name not in seen:
                        seen.add(stored.name)
                        yield listed, place, stored

    def _listings(self, path: str, listed: LogList) -> list[tuple[Place, Listing]]:
        """What lies below a path, as far as it can be listed."""
        try:
            found = [(place, place.listing()) for place in places(path)]
        except GoodputError as error:
            listed.fail(str(error))
            self.errors.append(error)
            return []
        for _, listing in found:
            for flaw in listing.flaws:
                listed.miss(flaw.name, flaw.reason)
                self.errors.append(SourceUnreachable(f"{flaw}; check the permissions"))
        return found


def _is_unchanged(last: Reading, stored: Stored, options: LogOptions, now: datetime) -> bool:
    hints = options.hints(stored.name)
    told = (hints.job, hints.attempt, hints.tz)
    is_same = (last.file_bytes, last.modified_at) == (stored.size, stored.written_at)
    is_due = last.unread_bytes > 0 and _is_settled(stored, now)
    is_read_alike = (last.job, last.attempt, last.tz, last.reader) == (*told, __version__)
    return is_same and is_read_alike and not is_due


def _is_settled(stored: Stored, now: datetime) -> bool:
    return stored.written_at is None or stored.written_at <= now - SETTLE


def _is_less(wanted: int, size: int, last: Reading | None) -> bool:
    """Whether the whole lines of a file are less than what was read when it was smaller."""
    return (
        last is not None
        and size >= last.file_bytes
        and wanted < last.file_bytes - last.unread_bytes
    )


# ---------------------------------------------------------------- one file


def _read(
    listed: LogList,
    place: Readable,
    stored: Stored,
    options: LogOptions,
    *,
    readings: Readings,
    now: datetime,
) -> Rows:
    hints = options.hints(stored.name)
    try:
        size = stored.size or 0
        wanted = size if _is_settled(stored, now) else _whole_lines(place, stored)
        if not wanted or _is_less(wanted, size, readings.last_of(stored.name)):
            return {}  # nothing in it yet, or only more of a line that was read unfinished
        with _opened(place, stored, wanted) as source:
            if is_mostly_binary(source.head[:4096]):
                return _refused(stored, options, "binary bytes; only text, gzip and zstd are read")
            result = read_log(io.BufferedReader(source, _STREAM_BYTES), hints)
    except FileNotFoundError:
        return {}  # rotated since it was listed: the next run finds it under its new name
    except OSError as error:
        reason = f"the file cannot be read: {error.strerror or error}"
        listed.miss(stored.name, reason)
        return _refused(stored, options, reason)
    quarantine = list(result.quarantine)
    if not result.is_known_text and not place.is_part:
        quarantine += _refused(stored, options, NOTHING_FOUND)[QUARANTINE]
    reading = _reading(result, source, stored, hints, unread_bytes=size - wanted, root=listed.root)
    earlier = readings.continued_by(reading)
    reading = _identified(reading, result, earlier, readings)
    readings.add(reading)
    reads = [reading.row(options.cluster)]
    if earlier and reading.lines < earlier.lines:
        return {READS: reads}  # a shorter copy of what was read: it tells nothing new
    result.rename(reading.log_id)
    return {**result.tables, QUARANTINE: quarantine, READS: reads}


def _refused(stored: Stored, options: LogOptions, reason: str) -> Tables:
    hints = {"cluster": options.cluster, "file": stored.name}
    row = quarantine_row(hints, None, None, reason, table="log_files", column=None)
    return {QUARANTINE: [row]}


def _whole_lines(place: Readable, stored: Stored) -> int:
    """How much of a file that is being written to is whole lines; all of it where it is packed."""
    size = stored.size or 0
    if place.read_at(stored, 0, 4).startswith(_PACKED):
        return size
    start = max(0, size - _TAIL_BYTES)
    tail = place.read_at(stored, start, size - start)
    end = max(tail.rfind(b"\n"), tail.rfind(b"\r")) + 1
    return start + end if end or not start else size


class _Source(io.RawIOBase):
    """The unpacked bytes of a file, the first ones of them, and whether the last ends a line."""

    def __init__(self, unpacked: ByteSource) -> None:
        super().__init__()
        self.head = b""
        self.ends_line = True
        self._unpacked = unpacked
        self._ready = b""
        self._flaw: Exception | None = None
        self._fill()

    def _fill(self) -> None:
        """Reads the head ahead; what is damaged there is left for the reader to meet again."""
        parts: list[bytes] = []
        size = 0
        try:
            while size < _HEAD_BYTES and (part := self._unpacked.read1(_HEAD_BYTES - size)):
                parts.append(part)
                size += len(part)
        except Exception as error:  # noqa: BLE001 - whatever unpackers raise
            self._flaw = error
        self.head = self._ready = b"".join(parts)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        if not data:
            if self._flaw:
                raise self._flaw
            data = self._unpacked.read1(len(buffer))
        if data:
            self.ends_line = data.endswith(b"\n")
        buffer[: len(data)] = data
        return len(data)


class _Slice(io.RawIOBase):
    """The first bytes of a stream: what is written meanwhile belongs to the next run."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        super().__init__()
        self._stream = stream
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(min(len(buffer), self._left))
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)


@contextmanager
def _opened(place: Readable, stored: Stored, size: int) -> Iterator[_Source]:
    with (
        place.read(stored) as stream,
        open_log(io.BufferedReader(_Slice(stream, size), _STREAM_BYTES)) as unpacked,
    ):
        yield _Source(unpacked)


# ---------------------------------------------------------------- which log it is


def _reading(
    result: LogResult,
    source: _Source,
    stored: Stored,
    hints: LogHints,
    *,
    unread_bytes: int,
    root: str,
) -> Reading:
    file = result.tables["log_files"][0]
    lines = file["lines"] - (not source.ends_line)
    return Reading(
        log_id=file["log_id"],
        stream=file["stream"],
        replaces=None,
        path=stored.name,
        file_bytes=stored.size or 0,
        unread_bytes=unread_bytes,
        modified_at=stored.written_at,
        lines=lines,
        head_bytes=len(source.head),
        head_hash=head_hash(source.head),
        steps_hash=_steps_hash(result, file["lines"]),
        job=hints.job,
        attempt=hints.attempt,
        tz=hints.tz,
        reader=__version__,
        root=root,
        head=source.head,
    )


def _identified(
    reading: Reading, result: LogResult, earlier: Reading | None, readings: Readings
) -> Reading:
    """The reading under the identity of the log that it continues, or of a log of its own."""
    if earlier is None:
        # Two logs of one name may begin with the same banner: the second gets a name of its own.
        is_taken = readings.is_taken(reading.log_id)
        own = _hash(f"{reading.log_id} {reading.head_hash}")
        return reading.under(own if is_taken else reading.log_id, None)
    is_shorter = reading.lines < earlier.lines
    # The older reading may have taken an unfinished line after its whole ones for a step.
    alike = {_steps_hash(result, earlier.lines), _steps_hash(result, earlier.lines + 1)}
    if is_shorter or earlier.steps_hash in alike:
        return reading.under(earlier.log_id, None)
    # More of the log, or a newer goodput, shows other step lines: the older reading was wrong.
    return reading.under(_hash(f"{earlier.log_id} {reading.steps_hash}"), earlier.log_id)


def _steps_hash(result: LogResult, lines: int) -> str:
    """What says which step lines were found among the first lines of a log."""
    digest = hashlib.sha256()
    rows = result.steps.rows
    rows = rows[(rows["end_ms"] != NONE) & (rows["line"] <= lines)]
    for line, first, last in rows[["line", "first", "last"]].tolist():
        digest.update(f"{line} {first} {last}\n".encode())
    return digest.hexdigest()[:_ID_LENGTH]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_ID_LENGTH]


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
    return f"{name}: {label}: {', '.join(counts + refused) or 'nothing'}"
