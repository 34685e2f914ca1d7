"""Reads lines alike that differ only in digits: what is found in one is found in all of them.

The step lines of a run are such lines. An expression that treats all digits alike matches either
all or none of them, at the same places; so one is read with care, and of the others the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodput.logs.clock import LAST_HOUR, LAST_MINUTE, LEAP_SECOND, LogClock, TimePlace
from goodput.logs.formats import Pattern
from goodput.logs.lines import ZEROS, Line, Texts, places_of, texts_at
from goodput.logs.reading import FoundLines
from goodput.logs.regex import Match, Span
from goodput.logs.step_lines import (
    COVERS,
    MAX_ELAPSED_MS,
    NONE,
    STEP_LINE,
    Lines,
    digests,
    label_of,
)

_ZERO = ord("0")
# A time that is to be read with those of other lines; no line has it.
READ_LATER = NONE + 1
# With so many digits a number is exact in a double, and the double exact in its decimals.
_EXACT_DIGITS = 15
# Products of such numbers fit 64 bits.
_FEW_DIGITS = 9
Numbers = np.ndarray[Any, np.dtype[np.int64]]

_TEXTS = frozenset(["unit", "label", "rate"])
_NUMBERS = frozenset(["step", "epoch", "epoch_size", "total", "samples", "tokens"])


@dataclass(frozen=True, slots=True)
class Found:
    """A step pattern's match in all lines of a shape.

    Attributes:
        begin: where it begins.
        end: where the line ends, without escapes behind it.
        spans: where its groups are.
        fields: what the groups that are the same in all lines say.
    """

    pattern: Pattern
    begin: int
    end: int
    spans: dict[str, Span]
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """Lines that differ only in digits.

    Attributes:
        text: such a line with zeros for digits.
        found: the step patterns that match.
        records: how often lines to be counted match, by format.
        rank: where the rank of the writer is.
        time: where the time is.
    """

    text: bytes
    found: Sequence[Found]
    records: dict[str, int]
    rank: Span | None
    time: TimePlace | None


# What is known of a line besides its text; see StepLine. Times that are READ_LATER are those of the
# line itself, and of the last such line above it.
PLACE = ("line", "offset", "stamp_ms", "fresh_ms", "resolution_ms", "before_ms")


class Waiting:
    """Lines of known shapes, in file order, that are to be read together."""

    def __init__(self) -> None:
        self._size = 0
        self._places: dict[int, list[Numbers]] = {}
        self._texts: dict[int, list[Texts]] = {}
        self._columns: list[dict[str, Numbers]] = []

    def __len__(self) -> int:
        return self._size

    def add(
        self, data: bytes, where: FoundLines, shapes: Numbers, columns: dict[str, Numbers]
    ) -> None:
        """Adds lines, each with the number of its shape and what is known of it, by PLACE."""
        for number in np.flatnonzero(np.bincount(shapes)).tolist():
            places = np.flatnonzero(shapes == number)
            starts = where.starts[places]
            size = int(where.ends[places[0]] - starts[0])
            self._places.setdefault(number, []).append(places + self._size)
            self._texts.setdefault(number, []).append(texts_at(data, starts, size))
        self._size += len(shapes)
        self._columns.append(columns)

    def read(
        self, shapes: Sequence[Shape | None], clock: LogClock
    ) -> Iterator[tuple[Pattern, Lines]]:
        """The lines as columns: for each pattern that they match."""
        if not self._size:
            return
        columns = {name: np.concatenate([c[name] for c in self._columns]) for name in PLACE}
        parts = []
        for number, of_blocks in sorted(self._places.items()):
            places, shape = np.concatenate(of_blocks), shapes[number]
            assert shape is not None
            part = _Part(shape, np.concatenate(self._texts[number]))
            stamps = columns["stamp_ms"][places]
            if (stamps == READ_LATER).any():
                stamps = np.where(stamps == READ_LATER, part.times(clock), stamps)
                columns["stamp_ms"][places] = stamps
            parts.append((places, part))
        _fill_before(columns["before_ms"], columns["stamp_ms"])
        for places, part in parts:
            for found in part.shape.found:
                rows = part.rows(found)
                for name, values in columns.items():
                    rows[name] = values[places]
                yield found.pattern, rows


def _fill_before(before: Any, stamps: Any) -> None:
    """Puts the time of the last line above that has one where it was not known yet."""
    places = np.maximum.accumulate(np.where(stamps == NONE, -1, np.arange(len(stamps))))
    last = np.append(NONE, np.where(places < 0, NONE, stamps[places])[:-1])
    is_open = before == READ_LATER
    before[is_open] = last[is_open]


class _Part:
    """Some lines of one shape, digit by digit."""

    def __init__(self, shape: Shape, texts: Texts) -> None:
        self.shape = shape
        self._texts = texts
        self._digits = texts - _ZERO  # wraps where there is no digit

    def times(self, clock: LogClock) -> Any:
        """Their times; NONE where one is none."""
        place = self.shape.time
        assert place is not None
        columns = [*range(place.begin, place.clock), *range(place.rest, place.end)]
        day = self._digits[:, columns]
        is_new = np.append(True, (day[1:] != day[:-1]).any(axis=1))
        first = np.flatnonzero(is_new)
        days = [clock.day_at(self._texts[number].tobytes(), place) for number in first.tolist()]
        known = np.array([NONE if ms is None else ms for ms in days], np.int64)
        start = known[np.cumsum(is_new) - 1]
        hour, minute, second = (
            self._integer((begin, begin + 2)) for begin in range(place.clock, place.clock + 9, 3)
        )
        ms = self._integer((place.fraction, place.fraction_end))
        ms += ((hour * 60 + minute) * 60 + second) * 1000
        is_time = (
            (hour <= LAST_HOUR)
            & (minute <= LAST_MINUTE)
            & (second <= LEAP_SECOND)
            & (start != NONE)
        )
        return np.where(is_time, start + ms, NONE)

    def rows(self, found: Found) -> Lines:
        """What they say by one pattern."""
        rows = np.empty(len(self._texts), STEP_LINE)
        rows["rank"] = NONE if self.shape.rank is None else self._integer(self.shape.rank)
        rows["digest"] = digests(self._texts[:, found.begin : found.end])
        rows["position"] = self._position(found)
        rows["elapsed_ms"] = self._elapsed(found)
        for name in ("total", "samples", "tokens"):
            rows[name] = self._integer(found.spans[name]) if name in found.spans else NONE
        rows["first"] = NONE
        rows["covers"] = COVERS.index(found.pattern.covers)
        rows["has_rate"] = "rate" in found.spans
        rows["label"], rows["is_epoch"] = self._labels(found)
        return rows

    def _integer(self, span: Span) -> Any:
        """The number that the digits of a span make; commas count for nothing."""
        columns = [i for i in range(*span) if self.shape.text[i] == _ZERO]
        powers = 10 ** np.arange(len(columns) - 1, -1, -1, dtype=np.int64)
        return self._digits[:, columns].astype(np.int64) @ powers

    def _position(self, found: Found) -> Any:
        spans = found.spans
        if "step" not in spans:
            return NONE
        position = self._integer(spans["step"]) + found.pattern.offset
        if "epoch" in spans and "epoch_size" in spans:
            position += self._integer(spans["epoch"]) * self._integer(spans["epoch_size"])
        return position

    def _elapsed(self, found: Found) -> Any:
        if "elapsed" not in found.spans:
            return NONE
        begin, end = found.spans["elapsed"]
        text = self.shape.text[begin:end]
        if b":" in text:
            ms = np.zeros(len(self._texts), np.int64)
            for part in text.split(b":"):
                ms = ms * 60 + self._integer((begin, begin + len(part)))
                begin += len(part) + 1
            ms *= 1000
        else:
            decimals = len(text) - 1 - text.find(b".") if b"." in text else 0
            value = self._integer((begin, end)) / 10**decimals
            unit = found.fields.get("unit", found.pattern.unit)
            ms = np.rint(value * (1 if unit == "ms" else 1000)).astype(np.int64)
        return np.where(ms < MAX_ELAPSED_MS, ms, NONE)

    def _labels(self, found: Found) -> Any:
        if "label" not in found.spans:
            return label_of("")
        begin, end = found.spans["label"]
        if _ZERO not in self.shape.text[begin:end]:
            return label_of(found.fields["label"])
        texts = [text.tobytes().decode("utf-8", "replace") for text in self._texts[:, begin:end]]
        return np.array([label_of(text) for text in texts]).T


def shape_of(
    raw: bytes, line: Line, matches: Sequence[tuple[Pattern, Match]], time: TimePlace | None
) -> Shape | None:
    """What a line shows of all lines that differ from it only in digits.

    Args:
        raw: the line.
        line: the same without what wraps it.
        matches: all patterns that match it; they, and those that do not, treat digits alike.
        time: where its time is, in the text of `line`.

    Returns:
        None where such lines must be looked at one by one.
    """
    places = places_of(raw, line)
    if places is None or (line.rank is not None and line.rank_at is None):
        return None
    if any(pattern.event not in ("step", "record") for pattern, _ in matches):
        return None
    text, at = raw.translate(ZEROS), len(line.text) - len(line.body)
    found = []
    records: dict[str, int] = {}
    for pattern, match in matches:
        if pattern.event == "record":
            count = pattern.regex.count(line.body)
            records[pattern.format] = records.get(pattern.format, 0) + count
            continue
        said = pattern.regex.named(match)
        spans = {
            name: _moved((at + begin, at + end), places)
            for name, (begin, end) in pattern.regex.spans(match).items()
        }
        if not all(_is_plain(name, text[slice(*spans[name])], said[name]) for name in spans):
            return None
        texts = {name: said[name].decode("utf-8", "replace") for name in _TEXTS & spans.keys()}
        found.append(Found(pattern, places[at + match.start()], places[-2] + 1, spans, texts))
    if not found:
        return None
    rank = None if line.rank_at is None else _moved(line.rank_at, places)
    if time is not None:
        if places[time.end - 1] - places[time.begin] != time.end - 1 - time.begin:
            return None  # escapes within
        time = TimePlace(*(places[time.begin] + place - time.begin for place in time))
    return Shape(text, found, records, rank, time)


def _moved(span: Span, places: Sequence[int]) -> Span:
    """The same characters in the line with escapes."""
    begin, end = span
    return (places[begin], places[end - 1] + 1) if begin < end else (places[begin],) * 2


def _is_plain(name: str, text: bytes, said: bytes) -> bool:
    """Whether a field can be read off its place: a number that is not too long, without escapes."""
    digits = text.count(b"0")
    if len(text) != len(said):
        return False
    if name in _NUMBERS:
        most = _FEW_DIGITS if "epoch" in name else _EXACT_DIGITS
        return 0 < digits <= len(text) <= most and not text.strip(b"0,")
    if name == "elapsed" and b":" not in text:
        return 0 < digits <= _EXACT_DIGITS and text.count(b".") <= 1 and not text.strip(b"0.")
    if name == "elapsed":
        return digits <= _FEW_DIGITS and not text.strip(b"0:")
    return name == "label" or (name in _TEXTS and not digits)
