"""Times in log lines as UTC milliseconds: many shapes, with or without a zone or a year."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

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
_COLON, _ZERO, _ONE, _TWO, _NINE = b":0129"
_MINUTES_SECONDS = re.compile(rb":\d\d:\d\d(?:\D|$)")
# A digit that stands for itself, not for a count of what is before it.
_FIXED_DIGIT = re.compile(r"\{[\d,]+\}|\\.|(\d)")
_MS_DIGITS = 3
_SECOND = r"(?P<second>\d\d)"
_UTC_NAMES = (b"Z", b"UTC", b"GMT")
LAST_HOUR, LAST_MINUTE, LEAP_SECOND = 23, 59, 60
_MAX_MINUTES = 10_000
_HALF_A_YEAR_MS = 183 * 86_400_000


class Stamp(NamedTuple):
    """An instant: UTC epoch milliseconds and how fine it was written (1 or 1000 ms)."""

    ms: int
    resolution_ms: int


class TimePlace(NamedTuple):
    """Where a time is in a line: the day, the clock as hh:mm:ss, a fraction, and what follows.

    Of the fraction, which may be empty, the milliseconds; what follows is a zone, or the year.
    """

    begin: int
    clock: int
    fraction: int
    fraction_end: int
    rest: int
    end: int

    @property
    def resolution_ms(self) -> int:
        """How fine the time is written."""
        return 1 if self.fraction < self.fraction_end else 1000


class _Parts(NamedTuple):
    """What the groups of a shape read; None for those that it does not have."""

    year: bytes | None
    month: bytes
    day: bytes
    hour: bytes
    minute: bytes
    half: bytes | None
    second: bytes
    fraction: bytes | None
    zone: bytes | None


# Those that tell the minute come first.
_MINUTE_PARTS = 6


class _Shape:
    """One way to write a time."""

    __slots__ = ("_take", "search", "search_loosely")

    def __init__(self, source: str) -> None:
        source = source.replace(_SECOND, _SECOND + r"(?!\d)")  # 10:15:598 is no time of day
        regex = re.compile(source.encode())
        self.search = regex.search
        # The same where any digit may stand for another.
        loose = _FIXED_DIGIT.sub(lambda found: r"\d" if found[1] else found[0], source)
        self.search_loosely = re.compile(loose.encode()).search
        # Of what the groups took, with one more at the end for those that the shape has not.
        places = [regex.groupindex.get(name, 0) - 1 for name in _Parts._fields]
        self._take: Any = itemgetter(*places)

    def parts(self, match: re.Match[bytes]) -> _Parts:
        """What the groups read."""
        return _Parts._make(self._take((*match.groups(), None)))


@cache
def timestamp_shapes() -> tuple[_Shape, ...]:
    """The shapes of catalog/log_lines.toml in order."""
    text = (catalog_dir() / "log_lines.toml").read_text(encoding="utf-8")
    return tuple(_Shape(shape["regex"]) for shape in tomllib.loads(text)["timestamp"])


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
        latest: the time read last, in UTC ms.
    """

    zone: ZoneInfo | None = None
    year: int | None = None
    assumed_utc: bool = False
    latest: int | None = None
    _shapes: tuple[_Shape, ...] = field(default_factory=timestamp_shapes)
    _is_first_shape: bool = False
    _minutes: dict[tuple[bytes | None, ...], int | None] = field(default_factory=dict)
    _offsets: dict[int, tuple[int, int]] = field(default_factory=dict)

    def read(self, line: bytes) -> Stamp | None:
        """The first time in a line, or None."""
        head = line[:SEARCHED_BYTES]
        if self._is_first_shape and (stamp := self._read_as(self._shapes[0], head)):
            return stamp  # lines of one log are alike
        if not _MINUTES_SECONDS.search(head) or (self.year is None and not _YEAR.search(head)):
            return None
        for shape in self._shapes:
            if stamp := self._read_as(shape, head):
                self._is_first_shape = shape is self._shapes[0]
                return stamp
        return None

    def place(self, line: bytes) -> tuple[bool, TimePlace | None]:
        """Where the time is in this line and all that differ from it only in digits.

        Returns:
            Whether that can be said, as long as a year is known or none is; and the place, None if
            such lines hold no time.
        """
        head = line[:SEARCHED_BYTES]
        for shape in self._shapes:
            loose = shape.search_loosely(head)
            if loose is None or (self.year is None and "year" not in loose.re.groupindex):
                continue
            found = shape.search(head)
            place = None if found is None or found.span() != loose.span() else _place(found)
            return place is not None, place
        return True, None

    def day_at(self, line: bytes, place: TimePlace) -> int | None:
        """When the day begins that a line has at a place, in UTC ms; None where it is none.

        What it says does not count for the lines below.
        """
        text = line[place.begin : place.clock] + b"00:00:00" + line[place.rest : place.end]
        before = self.latest, self.year
        stamp = self.read(text)
        self.latest, self.year = before
        return None if stamp is None else stamp.ms

    def places(self, text: bytes) -> Any:
        """Where a time may be, in order: in each there is one of these places at least."""
        codes = np.frombuffer(text, np.uint8)
        if self.year is not None:
            found = (codes[:-3] == _COLON) & (codes[3:] == _COLON)
        else:
            first, second = codes[:-1], codes[1:]
            found = ((first == _ONE) & (second == _NINE)) | ((first == _TWO) & (second == _ZERO))
        return np.flatnonzero(found)

    def may_find(self, text: bytes, begin: int, end: int) -> bool:
        """Whether a line in text[begin:end] can hold a time: most stretches of a log hold none."""
        if self.year is None and not _YEAR.search(text, begin, end):
            return False
        return _CLOCK.search(text, begin, end) is not None

    def _read_as(self, shape: _Shape, head: bytes) -> Stamp | None:
        match = shape.search(head)
        return None if match is None else self._stamp(shape.parts(match))

    def accept(self, ms: int, resolution_ms: int = 1) -> Stamp:
        """An instant that needs no reading, noted as the latest of the file."""
        self.latest = ms
        return Stamp(ms, resolution_ms)

    def _stamp(self, parts: _Parts) -> Stamp | None:
        naive = self._naive_ms(parts)
        if naive is None:
            return None
        zone = parts.zone
        ms = self._to_utc(naive) if zone is None else naive - _offset_ms(zone)
        return self.accept(ms, 1 if parts.fraction else 1000)

    def _naive_ms(self, parts: _Parts) -> int | None:
        if parts.year is not None:
            return self._in_year(parts.year, parts)
        if self.year is None:
            return None
        naive = self._in_year(b"%d" % self.year, parts)
        previous = self.latest
        if naive is not None and previous is not None and naive < previous - _HALF_A_YEAR_MS:
            naive = self._in_year(b"%d" % (self.year + 1), parts)  # December, then January
        return naive

    def _in_year(self, year: bytes, parts: _Parts) -> int | None:
        key = (year, *parts[1:_MINUTE_PARTS])
        minute = self._minutes.get(key)
        if minute is None and key not in self._minutes:
            if len(self._minutes) >= _MAX_MINUTES:
                self._minutes.clear()
            minute = self._minutes[key] = _minute_ms(year, parts)
        if minute is not None:
            self.year = int(year)
        second = int(parts.second)
        if minute is None or second > LEAP_SECOND:
            return None
        fraction = parts.fraction
        ms = 0 if fraction is None else int((fraction + b"00")[:3])
        return minute + second * 1000 + ms

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
        goes_back = self.latest is not None and first < self.latest
        return second if goes_back and second >= (self.latest or 0) and second > first else first


def _place(found: re.Match[bytes]) -> TimePlace | None:
    """Where the parts of a time are; None if only its text says how to read it."""
    parts = {name: span for name in found.re.groupindex if (span := found.span(name))[0] >= 0}
    clock, rest = parts["hour"][0], parts["second"][1]
    if "year" not in parts or "half" in parts or rest - clock != len("hh:mm:ss"):
        return None
    begin, end = parts.get("fraction", (rest, rest))
    if 0 < end - begin < _MS_DIGITS:
        return None
    return TimePlace(found.start(), clock, begin, min(end, begin + _MS_DIGITS), end, found.end())


def _minute_ms(year: bytes, parts: _Parts) -> int | None:
    """The minute that a time is in; None if there is none."""
    hour, minute = int(parts.hour), int(parts.minute)
    midnight = _day_ms(year, parts.month, parts.day)
    if midnight is None or hour > LAST_HOUR or minute > LAST_MINUTE:
        return None
    if parts.half is not None:
        hour = hour % 12 + (12 if parts.half == b"PM" else 0)
    return midnight + (hour * 60 + minute) * 60_000


@lru_cache
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
