"""Reads a log once and keeps what matters: events of the formats, evidence, times, counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from goodput.logs.clock import SEARCHED_BYTES, LogClock, Stamp
from goodput.logs.formats import Format, Pattern
from goodput.logs.gate import Candidate, Gate, make_gate
from goodput.logs.lines import Line, read_line
from goodput.logs.reading import MAX_LINE_BYTES, Block
from goodput.logs.redraws import without_redrawn_bars
from goodput.logs.regex import Match
from goodput.logs.signatures import (
    Signature,
    SignatureSet,
    excerpt,
    unknown_error,
)

# Rows kept per signature and run start; the rest is counted: a storm says no more than its start.
MAX_ROWS_PER_SIGNATURE = 50
# Kinds of unknown lines kept for each run start: beyond, they are counted together.
MAX_SHAPES = 300
_SHAPE_BYTES = 300
_NUMBER = re.compile(rb"0x[0-9a-fA-F]+|\d+")
# How far back a line without a time may borrow one.
_LOOK_BACK_BYTES = 1 << 16
_FIRST_LINES = 200
_MAX_TIME_S = 1 << 35
# Roles of lines that follow from, or only talk about, a failure.
_ECHOES = ("cascade", "teardown", "info")
# Products of two such numbers still fit the raw tables' integers.
_MAX_DIGITS = 15
_DECIMALS = frozenset(["elapsed", "time_s"])
_INTEGERS = frozenset(
    ["step", "rank", "epoch", "epoch_size", "total", "samples", "tokens", "time_ms"]
)


@dataclass(slots=True)
class Event:
    """A line that a format knows.

    Attributes:
        line, offset: where it is: number from 1, first byte.
        rank: of the process that wrote it, if the line says so.
        stamp: the time in the line itself.
        fresh: else a time in one of the lines between the event before and this one.
        before: the last time in the file above those lines.
        fields: what the pattern's groups read; see fields_of.
        digest: tells lines with the same text from others.
        is_echo: whether a signature knows the line as the consequence of something else.
    """

    pattern: Pattern
    line: int
    offset: int
    rank: int | None
    stamp: Stamp | None
    fresh: Stamp | None
    before: Stamp | None
    fields: dict[str, Any]
    digest: int
    is_echo: bool = False

    @property
    def time(self) -> Stamp | None:
        """The time of the line or the one just above it."""
        return self.stamp or self.fresh


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


class _Plan(NamedTuple):
    """What to try on lines with the same literals."""

    patterns: tuple[Pattern, ...]
    may_be_unknown: bool


class _Place(NamedTuple):
    """What the events and the evidence of one line share; see Event."""

    line: int
    offset: int
    rank: int | None
    fresh: Stamp | None
    before: Stamp | None
    is_echo: bool


@dataclass(slots=True)
class Scanner:
    """Feeds on blocks in order; its attributes hold what was found."""

    formats: Collection[Format]
    signatures: SignatureSet
    clock: LogClock
    events: list[Event] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    first: Stamp | None = None
    last: Stamp | None = None
    records: Counter[str] = field(default_factory=Counter)
    _plans: dict[frozenset[str], _Plan] = field(default_factory=dict)
    _kept: dict[bytes, list[Evidence]] = field(default_factory=dict)
    _from_block_before: Stamp | None = None
    _gate: Gate | None = None
    _has_structure: bool = False
    _structured: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._structured = frozenset(f.name for f in self.formats if f.is_structured)

    def feed(self, block: Block) -> None:
        """Reads one block of whole lines."""
        data, floor = block.data, 0
        if self.first is None and block.offset == 0:
            self.first = self._first_stamp(data)
        for candidate in self._the_gate().candidates(without_redrawn_bars(data)):
            if self._read(block, floor, candidate, block.line_at(candidate.start)):
                floor = candidate.end
        rest = self._look_back(data, floor, len(data))
        self._from_block_before = rest if floor else rest or self._from_block_before

    def _the_gate(self) -> Gate:
        if self._gate is None:
            ours = (p.literals for f in self.formats for p in f.patterns)
            known = self.signatures.literals | unknown_error().literals
            self._gate = make_gate(frozenset[str]().union(*ours) | known)
        return self._gate

    def _read(self, block: Block, floor: int, candidate: Candidate, number: int) -> bool:
        """Tries the expressions on a line; if one matches, finds its time and says so."""
        start, end = candidate.start, min(candidate.end, candidate.start + MAX_LINE_BYTES)
        line = read_line(block.data[start:end])
        plan = self._plans.get(candidate.literals) or self._plan(candidate.literals)
        matches = self._matches(line, plan.patterns) if plan.patterns else []
        found = self.signatures.search(line.body, candidate.literals)
        if found is None and plan.may_be_unknown:
            found = _unknown(line.body, matches)
        if not matches and found is None:
            return False
        before = self.last
        stamp = self._note(self.clock.read(line.text))
        fresh = None if stamp else self._look_back(block.data, floor, start)
        if not stamp and not floor:
            fresh = fresh or self._from_block_before
        is_echo = found is not None and found[0].role in _ECHOES
        place = _Place(number, block.offset + start, line.rank, fresh, before, is_echo)
        for pattern, match in matches:
            stamp = self._add_event(pattern, match, place, stamp)
        if found is not None:
            self._add_evidence(*found, line, place, stamp or fresh)
        return True

    def _matches(self, line: Line, patterns: Iterable[Pattern]) -> list[tuple[Pattern, Match]]:
        found = []
        for pattern in patterns:
            if match := pattern.regex.search(line.body):
                if pattern.event == "record":
                    self.records[pattern.format] += pattern.regex.count(line.body)
                elif pattern.event == "slow_rank":
                    found += [(pattern, each) for each in pattern.regex.all(line.body)]
                else:
                    found.append((pattern, match))
        return found

    def _add_event(
        self, pattern: Pattern, match: Match, place: _Place, stamp: Stamp | None
    ) -> Stamp | None:
        fields = fields_of(pattern.regex.named(match))
        if fields is None:
            return stamp
        stamp = self._note(_epoch_stamp(self.clock, fields)) or stamp
        self.events.append(
            Event(
                pattern,
                place.line,
                place.offset,
                place.rank,
                stamp,
                place.fresh,
                place.before,
                fields,
                hash(match.string[match.start() :]),
                place.is_echo,
            )
        )
        if pattern.event == "run_start":
            self._kept.clear()
        elif not self._has_structure and pattern.event == "step":
            self._has_structure = pattern.format in self._structured
            if self._has_structure:
                self._plans.clear()
        return stamp

    def _plan(self, literals: frozenset[str]) -> _Plan:
        plan = self._plans[literals] = _Plan(
            tuple(p for p in self._useful() if not p.literals.isdisjoint(literals)),
            not unknown_error().literals.isdisjoint(literals),
        )
        return plan

    def _useful(self) -> Iterator[Pattern]:
        """All patterns, without steps of last resort once there are steps of a framework."""
        borrowed = {f.borrows for f in self.formats}
        for format_ in self.formats:
            is_spare = not format_.is_structured and format_.name not in borrowed
            for pattern in format_.patterns:
                if not (self._has_structure and is_spare and pattern.event == "step"):
                    yield pattern

    def _add_evidence(
        self,
        signature: Signature,
        match: Match,
        line: Line,
        place: _Place,
        stamp: Stamp | None,
    ) -> None:
        is_unknown = signature is unknown_error()
        key = self._shape(line.body) if is_unknown else signature.id.encode()
        kept = self._kept.setdefault(key, [])
        if len(kept) >= (1 if is_unknown else MAX_ROWS_PER_SIGNATURE):
            kept[0].repeats += 1
            kept[0].last_line = place.line
            return
        text, code = excerpt(line.body, match, signature.regex), signature.code(match)
        kept.append(Evidence(signature, place.line, place.offset, line.rank, stamp, code, text))
        self.evidence.append(kept[-1])

    def _shape(self, line: bytes) -> bytes:
        """What unknown lines of one kind share; the same for all once there are many kinds."""
        shape = _NUMBER.sub(b"#", line[:_SHAPE_BYTES])
        return shape if shape in self._kept or len(self._kept) < MAX_SHAPES else b"others"

    def _note(self, stamp: Stamp | None) -> Stamp | None:
        if stamp is not None:
            self.last = stamp
            self.first = self.first or stamp
        return stamp

    def _look_back(self, data: bytes, floor: int, end: int) -> Stamp | None:
        """The latest time in the lines of data[floor:end], not looking further than is useful."""
        begin = floor
        if end - floor > _LOOK_BACK_BYTES:
            begin = data.find(b"\n", end - _LOOK_BACK_BYTES, end) + 1 or end
        if not self.clock.may_find(data, begin, end):
            return None
        for start, stop in _lines_backwards(data, begin, end):
            if stamp := self.clock.read(data[start:stop]):
                return self._note(stamp)
        return None

    def _first_stamp(self, data: bytes) -> Stamp | None:
        for line in data[: 1 << 16].split(b"\n", _FIRST_LINES)[:_FIRST_LINES]:
            if stamp := self.clock.read(line):
                return stamp
        return None


def _unknown(
    line: bytes, matches: Iterable[tuple[Pattern, Match]]
) -> tuple[Signature, Match] | None:
    """A line that looks like an error and is known to nobody but as the end of a run."""
    if any(pattern.event != "run_end" for pattern, _ in matches):
        return None
    found = unknown_error().regex.search(line)
    return None if found is None else (unknown_error(), found)


def _lines_backwards(data: bytes, floor: int, end: int) -> Iterator[tuple[int, int]]:
    """Begin and end of the heads of the last lines of data[floor:end], the last line first."""
    end = max(end - 1, floor)
    while end > floor:
        start = data.rfind(b"\n", floor, end) + 1 or floor
        yield start, min(end, start + SEARCHED_BYTES)
        end = start - 1


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


def _epoch_stamp(clock: LogClock, fields: dict[str, Any]) -> Stamp | None:
    ms = fields.get("time_ms")
    if isinstance(ms, int):
        return clock.accept(ms) if ms < _MAX_TIME_S * 1000 else None
    seconds = fields.get("time_s")
    if isinstance(seconds, float) and seconds < _MAX_TIME_S:
        return clock.accept(int(seconds * 1000))
    return None
