"""What a line of a log says: an event of its format, a step, or evidence of a failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from goodput.logs.clock import LogClock, Stamp
from goodput.logs.formats import Pattern
from goodput.logs.signatures import Signature
from goodput.logs.step_lines import (
    COVERS,
    NONE,
    StepLine,
    digest,
    elapsed_ms,
    label_of,
    position_of,
)

_MAX_TIME_S = 1 << 35
# Products of two such numbers still fit the raw tables' integers.
_MAX_DIGITS = 15
_DECIMALS = frozenset(["elapsed", "time_s"])
_INTEGERS = frozenset(
    ["step", "rank", "epoch", "epoch_size", "total", "samples", "tokens", "time_ms"]
)


@dataclass(slots=True)
class Event:
    """A line that a format knows, other than of a step.

    Attributes:
        line, offset: where it is: number from 1, first byte.
        time: in the line itself, else in one of the lines between the event before and this one.
        before_ms: the last time in the file above those lines.
        fields: what the pattern's groups read; see fields_of.
        is_echo: whether a signature knows the line as the consequence of something else.
    """

    pattern: Pattern
    line: int
    offset: int
    time: Stamp | None
    before_ms: int | None
    fields: dict[str, Any]
    is_echo: bool = False


@dataclass(slots=True)
class Evidence:
    """A line that a signature knows.

    Attributes:
        code: the number that the line names, of a signature that looks codes up.
        text: the part of the line around the match, redacted.
        repeats: lines of its kind that were not kept, the last of them being `last_line`.
    """

    signature: Signature
    line: int
    offset: int
    rank: int | None
    stamp: Stamp | None
    code: str | None
    text: str
    repeats: int = 0
    last_line: int = 0


class LinePlace(NamedTuple):
    """What the events and the evidence of one line share; see Event and StepLine."""

    line: int
    offset: int
    rank: int | None
    fresh: Stamp | None
    before_ms: int | None
    is_echo: bool


def step_line_of(
    pattern: Pattern, fields: dict[str, Any], text: bytes, place: LinePlace, stamp: Stamp | None
) -> StepLine:
    """A step line whose fields were read, with the text that begins with the match."""
    time = stamp or place.fresh
    numbers = (place.rank, stamp and stamp.ms, place.fresh and place.fresh.ms, place.before_ms)
    rank, stamp_ms, fresh_ms, before_ms = (NONE if n is None else n for n in numbers)
    elapsed = elapsed_ms(fields, pattern.unit)
    label, is_epoch = label_of(str(fields.get("label", "")))
    return StepLine(
        line=place.line,
        offset=place.offset,
        rank=rank,
        stamp_ms=stamp_ms,
        fresh_ms=fresh_ms,
        resolution_ms=time.resolution_ms if time else 1,
        before_ms=before_ms,
        digest=digest(text),
        position=position_of(fields, pattern.offset),
        elapsed_ms=NONE if elapsed is None else elapsed,
        total=fields.get("total", NONE),
        samples=fields.get("samples", NONE),
        tokens=fields.get("tokens", NONE),
        first=NONE,
        covers=COVERS.index(pattern.covers),
        has_rate="rate" in fields,
        label=label,
        is_epoch=is_epoch,
    )


def fields_of(groups: dict[str, bytes]) -> dict[str, Any] | None:
    """What the groups of a match say: int, float or text, always the same by the group's name.

    None where a number is none that a run could print.
    """
    fields: dict[str, Any] = {}
    for name, raw in groups.items():
        if name in _INTEGERS:
            if len(raw) > _MAX_DIGITS:
                return None
            fields[name] = int(raw.replace(b",", b""))
        elif name in _DECIMALS and b":" not in raw:
            number = _decimal(raw)
            if number is None:
                return None
            fields[name] = number
        else:
            fields[name] = raw.decode("utf-8", "replace")
    return fields


def _decimal(raw: bytes) -> float | None:
    try:
        return float(raw) if len(raw) <= _MAX_DIGITS * 2 else None
    except ValueError:
        return None


def epoch_stamp(clock: LogClock, fields: dict[str, Any]) -> Stamp | None:
    """The time that a line says as a number of seconds or milliseconds."""
    ms = fields.get("time_ms")
    if isinstance(ms, int):
        return clock.accept(ms) if ms < _MAX_TIME_S * 1000 else None
    seconds = fields.get("time_s")
    if isinstance(seconds, float) and seconds < _MAX_TIME_S:
        return clock.accept(int(seconds * 1000))
    return None
