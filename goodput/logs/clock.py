"""Times in log lines as UTC milliseconds: many shapes, with or without a zone or a year."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from goodput._resources import catalog_dir
from goodput.errors import UsageError

# A time stands near the beginning of its line; what follows is text about something else.
SEARCHED_BYTES = 300
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_QUARTER_MS = 15 * 60 * 1000
_MONTHS = {
    name: number
    for number, name in enumerate(
        (
            b"Jan",
            b"Feb",
            b"Mar",
            b"Apr",
            b"May",
            b"Jun",
            b"Jul",
            b"Aug",
            b"Sep",
            b"Oct",
            b"Nov",
            b"Dec",
        ),
        1,
    )
}
# In every shape that names the year.
_YEAR = re.compile(rb"(?:19|20)\d\d")
# In every shape; a search for it is quick because it begins with a fixed byte.
_CLOCK = re.compile(rb":\d\d:\d\d")
_MINUTES_SECONDS = re.compile(rb":\d\d:\d\d(?:\D|$)")
_UTC_NAMES = (b"Z", b"UTC", b"GMT")
_LAST_HOUR, _LAST_MINUTE, _LEAP_SECOND = 23, 59, 60
_HALF_A_YEAR_MS = 183 * 86_400_000


class Stamp(NamedTuple):
    """An instant: UTC epoch milliseconds and how fine it was written (1 or 1000 ms)."""

    ms: int
    resolution_ms: int


@cache
def timestamp_patterns() -> tuple[re.Pattern[bytes], ...]:
    """The shapes of catalog/log_lines.toml in order."""
    text = (catalog_dir() / "log_lines.toml").read_text(encoding="utf-8")
    return tuple(re.compile(shape["regex"].encode()) for shape in tomllib.loads(text)["timestamp"])


def may_hold_time(text: bytes, begin: int, end: int) -> bool:
    """Whether any line in text[begin:end] can hold a time: most stretches of a log hold none."""
    return _CLOCK.search(text, begin, end) is not None


def zone_named(name: str) -> ZoneInfo:
    """The IANA zone of that name.

    Raises:
        UsageError: there is none.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UsageError(
            f"{name!r} is not a time zone; write an IANA name such as Europe/Paris, or UTC"
        ) from None


@dataclass(slots=True)
class LogClock:
    """Reads the times of one file in file order.

    Naive times are local to `zone`. In the hour that a change from summer time repeats, the first
    pass is taken unless that would go back before the line above and the second pass would not
    (STANDARD 0.6): file order is trusted for this and only for this.

    Attributes:
        zone: of times without one; None means UTC, and `assumed_utc` tells whether it mattered.
        year: of times without one, until a full date appears in the file.
    """

    zone: ZoneInfo | None = None
    year: int | None = None
    assumed_utc: bool = False
    _patterns: tuple[re.Pattern[bytes], ...] = field(default_factory=timestamp_patterns)
    _previous: int | None = None
    _days: dict[tuple[bytes, bytes, bytes], int | None] = field(default_factory=dict)
    _offsets: dict[int, tuple[int, int]] = field(default_factory=dict)

    def read(self, line: bytes) -> Stamp | None:
        """The first time in a line, or None."""
        head = line[:SEARCHED_BYTES]
        if not _MINUTES_SECONDS.search(head) or (self.year is None and not _YEAR.search(head)):
            return None
        for pattern in self._patterns:
            if (match := pattern.search(head)) and (stamp := self._stamp(match.groupdict())):
                return stamp
        return None

    def accept(self, ms: int, resolution_ms: int = 1) -> Stamp:
        """An instant that needs no reading, noted as the latest of the file."""
        self._previous = ms
        return Stamp(ms, resolution_ms)

    def _stamp(self, parts: dict[str, bytes | None]) -> Stamp | None:
        naive = self._naive_ms(parts)
        if naive is None:
            return None
        zone = parts.get("zone")
        ms = self._to_utc(naive) if zone is None else naive - _offset_ms(zone)
        return self.accept(ms, 1 if parts.get("fraction") else 1000)

    def _naive_ms(self, parts: dict[str, bytes | None]) -> int | None:
        year = parts.get("year")
        if year is not None:
            return self._on_day(year, parts)
        if self.year is None:
            return None
        naive = self._on_day(b"%d" % self.year, parts)
        previous = self._previous
        if naive is not None and previous is not None and naive < previous - _HALF_A_YEAR_MS:
            naive = self._on_day(b"%d" % (self.year + 1), parts)  # December, then January
        return naive

    def _on_day(self, year: bytes, parts: dict[str, bytes | None]) -> int | None:
        key = (year, parts["month"] or b"", parts["day"] or b"")
        midnight = self._days.get(key)
        if midnight is None and key not in self._days:
            midnight = self._days[key] = _day_ms(*key)
            if midnight is not None:
                self.year = int(year)
        time = _time_of_day_ms(parts)
        return None if midnight is None or time is None else midnight + time

    def _to_utc(self, naive: int) -> int:
        if self.zone is None:
            self.assumed_utc = True
            return naive
        quarter = naive // _QUARTER_MS
        if quarter not in self._offsets:
            local = datetime.fromtimestamp(quarter * _QUARTER_MS / 1000, UTC).replace(
                tzinfo=self.zone
            )
            self._offsets[quarter] = (_utcoffset_ms(local), _utcoffset_ms(local.replace(fold=1)))
        first, second = (naive - offset for offset in self._offsets[quarter])
        goes_back = self._previous is not None and first < self._previous
        return second if goes_back and second >= (self._previous or 0) and second > first else first


def _time_of_day_ms(parts: dict[str, bytes | None]) -> int | None:
    hour, minute = int(parts["hour"] or 0), int(parts["minute"] or 0)
    second = int(parts["second"] or 0)
    if hour > _LAST_HOUR or minute > _LAST_MINUTE or second > _LEAP_SECOND:
        return None
    half = parts.get("half")
    if half is not None:
        hour = hour % 12 + (12 if half == b"PM" else 0)
    fraction = parts.get("fraction")
    ms = 0 if fraction is None else int((fraction + b"00")[:3])
    return (hour * 3600 + minute * 60 + second) * 1000 + ms


def _day_ms(year: bytes, month: bytes, day: bytes) -> int | None:
    number = _MONTHS.get(month) or (int(month) if month.isdigit() else 0)
    try:
        return (datetime(int(year), number, int(day), tzinfo=UTC) - _EPOCH) // timedelta(
            milliseconds=1
        )
    except ValueError:
        return None


def _offset_ms(zone: bytes) -> int:
    if zone in _UTC_NAMES:
        return 0
    sign = -1 if zone.startswith(b"-") else 1
    return sign * (int(zone[1:3]) * 60 + int(zone[-2:])) * 60_000


def _utcoffset_ms(local: datetime) -> int:
    return (local.utcoffset() or timedelta()) // timedelta(milliseconds=1)
