"""Reads one log of a place, as far as it is whole, and finds out which log it is.

A file that grew is read from its start, for what a line means depends on those before it. What was
renamed, packed or copied is known by how it begins.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import IO, Any, Protocol

from goodput import __version__
from goodput.logs import LogHints, LogResult, read_log
from goodput.logs.reading import ByteSource, open_log
from goodput.logs.step_lines import NONE
from goodput.sources.artefact import quarantine_row
from goodput.sources.dump import NOTHING_FOUND, is_mostly_binary
from goodput.sources.log_lists import LogList
from goodput.sources.places import Stored
from goodput.sources.publisher import QUARANTINE, Rows
from goodput.sources.readings import TABLE as READS
from goodput.sources.readings import Reading, Readings, head_hash

SETTLE = timedelta(minutes=15)
"""After so long without a write, a last line without an end is taken as it stands."""

_HEAD_BYTES = 64 << 10
_TAIL_BYTES = 256 << 10
_STREAM_BYTES = 1 << 20
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
_ID_LENGTH = 24

Tables = dict[str, list[dict[str, Any]]]


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


def is_unchanged(last: Reading, stored: Stored, hints: LogHints, now: datetime) -> bool:
    """Whether a log that was read need not be read again."""
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


def read_one(
    listed: LogList,
    place: Readable,
    stored: Stored,
    hints: LogHints,
    *,
    readings: Readings,
    now: datetime,
) -> Rows:
    """The rows of one log, none if it holds nothing to read yet.

    Args:
        listed: the root below which it was found; told which log it is, or why it was not seen.
        hints: what is known about it.
        readings: all earlier ones; this one is added.
    """
    last = readings.last_of(stored.name)
    try:
        size = stored.size or 0
        wanted = size if _is_settled(stored, now) else _whole_lines(place, stored)
        if not wanted or _is_less(wanted, size, last):
            if wanted and last:
                listed.see(last.log_id)
            return {}  # nothing in it yet, or only more of a line that was read unfinished
        with _opened(place, stored, wanted) as source:
            if is_mostly_binary(source.head[:4096]):
                return _refused(hints, "binary bytes; only text, gzip and zstd are read")
            result = read_log(io.BufferedReader(source, _STREAM_BYTES), hints)
    except FileNotFoundError:
        # Rotated since it was listed: the next run finds it under its new name.
        listed.miss(stored.name, "it went while it was being listed")
        return {}
    except OSError as error:
        reason = f"the file cannot be read: {error.strerror or error}"
        listed.miss(stored.name, reason)
        return _refused(hints, reason)
    quarantine = list(result.quarantine)
    if not result.is_known_text and not place.is_part:
        quarantine += _refused(hints, NOTHING_FOUND)[QUARANTINE]
    reading = _reading(result, source, stored, hints, unread_bytes=size - wanted, root=listed.root)
    earlier = readings.continued_by(reading)
    reading = _identified(reading, result, earlier, readings)
    if readings.is_gone(listed.root, reading.log_id):
        # The same row again would be no new one: the lake holds each content once.
        reading = replace(reading, returned_at=now)
    readings.add(reading)
    listed.see(reading.log_id)
    reads = [reading.row(hints.cluster)]
    if earlier and reading.lines < earlier.lines:
        return {READS: reads}  # a shorter copy of what was read: it tells nothing new
    result.rename(reading.log_id)
    return {**result.tables, QUARANTINE: quarantine, READS: reads}


def _refused(hints: LogHints, reason: str) -> Tables:
    name = {"cluster": hints.cluster, "file": str(hints.path)}
    row = quarantine_row(name, None, None, reason, table="log_files", column=None)
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
