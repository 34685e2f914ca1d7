"""Cuts pulled logs into parts of six hours, which then read like the parts of a rotated log.

A server that is asked for a log again and again has no file whose growth could be watched. So the
cut is made where every run makes it: at fixed instants. A part that is not over is read again from
its start, and its rows are the same ones again plus the new ones, whoever reads it, however often.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import IO

from goodput.sources.places import Stored
from goodput.sources.readings import Readings

PART = timedelta(hours=6)
SETTLE = timedelta(minutes=5)
"""How much later than its time stamp a line may come to the server."""

_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d):\d\d(?:\.\d{1,9})?(Z|[+-]\d\d:\d\d) ")
_NAME = "%Y%m%d-%H%M%S"
_MEMORY_BYTES = 1 << 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def part_start(instant: datetime) -> datetime:
    """When the part that an instant lies in begins."""
    return _EPOCH + (instant - _EPOCH) // PART * PART


def part_name(log: str, start: datetime) -> str:
    """What a part is called: as the kubelet calls a file that it rotated away then."""
    return f"{log}.{start.strftime(_NAME)}"


def _spool() -> IO[bytes]:
    return tempfile.SpooledTemporaryFile(_MEMORY_BYTES)


@dataclass
class Part:
    """The lines of one log between two fixed instants; it lies in memory, or on disk if it is long.

    Attributes:
        start: when the span begins.
        size: bytes so far.
    """

    is_part = True

    start: datetime
    size: int = 0
    _text: IO[bytes] = field(default_factory=_spool)
    _last: bytes = b""

    def add(self, line: bytes) -> None:
        """Takes a whole line, which begins with its time."""
        self._text.write(line)
        self.size += len(line)
        self._last = line[:64]

    def stored(self, log: str, known_until: datetime, over_at: datetime | None = None) -> Stored:
        """The part as a file whose last write was its last line, or the end of its span once over.

        Args:
            known_until: nothing that is older will come any more.
            over_at: when the whole log ended, if it did.
        """
        end = self.start + PART
        match = _STAMP.match(self._last)
        last = _instant(match) if match else self.start
        written_at = end if known_until >= end else max(last, over_at or last)
        name = part_name(log, self.start)
        written_at = written_at.replace(microsecond=written_at.microsecond // 1000 * 1000)
        return Stored(name, name, self.size, written_at)

    def close(self) -> None:
        """Forgets its text."""
        self._text.close()

    def read(self, _: Stored) -> IO[bytes]:
        """Its text, once: closing it forgets it."""
        self._text.seek(0)
        return self._text

    def read_at(self, _: Stored, offset: int, size: int) -> bytes:
        """Some bytes of it, fewer at its end."""
        self._text.seek(offset)
        return self._text.read(size)


def is_stamped(line: bytes) -> bool:
    """Whether a line begins with its time."""
    return _STAMP.match(line) is not None


def cut(lines: Iterable[bytes]) -> list[Part]:
    """The parts of a log, oldest first.

    Args:
        lines: each with its line end and an RFC 3339 time in front; one without goes on with the
            line before it. Lines of two streams may be a little out of order.
    """
    parts: dict[datetime, Part] = {}
    part: Part | None = None
    minute, zone = b"", b""
    for line in lines:
        match = _STAMP.match(line)
        if match and (part is None or match.groups() != (minute, zone)):
            minute, zone = match.groups()
            start = part_start(_instant(match))
            part = parts[start] = parts.get(start) or Part(start)
        if part:
            part.add(line)
    return [parts[start] for start in sorted(parts)]


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest part of a log that was read.

    Attributes:
        start: when its span begins.
        since: what is older need not be asked for again.
        known_until: the end of the log, or of the part, or its last line.
    """

    start: datetime
    since: datetime
    known_until: datetime


def newest_parts(readings: Readings, source: str) -> dict[str, Newest]:
    """The newest part of each log.

    Args:
        source: how the names of the logs begin.
    """
    newest: dict[str, Newest] = {}
    for path in readings.paths():
        log, _, name = path.rpartition(".")
        reading = readings.last_of(path)
        if not path.startswith(source) or reading is None or reading.modified_at is None:
            continue
        start = datetime.strptime(name, _NAME).replace(tzinfo=UTC)
        is_over = reading.modified_at >= start + PART
        part = Newest(start, start + PART if is_over else start, reading.modified_at)
        if log not in newest or part.start > newest[log].start:
            newest[log] = part
    return newest


def _instant(match: re.Match[bytes]) -> datetime:
    text = match[0].rstrip().decode()
    return datetime.fromisoformat(text).astimezone(UTC)
