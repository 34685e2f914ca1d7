"""Reads a log once and keeps what matters: events of the formats, evidence, times, counts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from goodput.logs.clock import SEARCHED_BYTES, LogClock, Stamp, TimePlace
from goodput.logs.events import Event, Evidence, LinePlace, epoch_stamp, fields_of, step_line_of
from goodput.logs.formats import Format, Pattern
from goodput.logs.gate import Candidate, Gate, make_gate
from goodput.logs.lines import Line, read_line
from goodput.logs.reading import MAX_LINE_BYTES, Block
from goodput.logs.redraws import without_redrawn_bars
from goodput.logs.regex import Match
from goodput.logs.shapes import (
    READ_LATER,
    ZEROS,
    Shape,
    Waiting,
    shape_of,
)
from goodput.logs.signatures import (
    Signature,
    SignatureSet,
    excerpt,
    unknown_error,
)
from goodput.logs.step_lines import NONE, StepLines

# Rows kept per signature and run start; the rest is counted: a storm says no more than its start.
MAX_ROWS_PER_SIGNATURE = 50
# Kinds of unknown lines kept for each run start: beyond, they are counted together.
MAX_SHAPES = 300
_SHAPE_BYTES = 300
_NUMBER = re.compile(rb"0x[0-9a-fA-F]+|\d+")
# How far back a line without a time may borrow one.
_LOOK_BACK_BYTES = 1 << 16
_FIRST_LINES = 200
# A time has more characters.
_SHORT_GAP = 12
# Lines that wait to be read together: a few megabytes.
_WAITING_LINES, _LONG_LINE = 1 << 15, 1000
# Of so many shapes, each must stand for some lines: else they take longer than to read each line.
# What stands for lines that have none, or that say nothing.
_NO_SHAPE, _NOTHING = -1, -2
_MANY_SHAPES, _LINES_PER_SHAPE = 200, 4
# Roles of lines that follow from, or only talk about, a failure.
_ECHOES = ("cascade", "teardown", "info")


@dataclass(slots=True)
class _Plan:
    """What to try on lines with the same literals.

    Attributes:
        shapes: the numbers of their shapes, by their text without digits, or _NO_SHAPE or
            _NOTHING; None where they must be looked at one by one.
        taken: lines that were read by their shape.
    """

    patterns: tuple[Pattern, ...]
    may_be_unknown: bool
    has_steps: bool
    has_records: bool
    shapes: dict[bytes, int] | None
    taken: int = 0


@dataclass(slots=True)
class Scanner:
    """Feeds on blocks in order; its attributes hold what was found, once it is finished.

    Attributes:
        events: lines that a format knows, without those of steps.
        steps: those, by pattern.
        first_ms, last_ms: the first and the last time, in UTC.
        records: lines that are only counted, by format.
    """

    formats: Collection[Format]
    signatures: SignatureSet
    clock: LogClock
    events: list[Event] = field(default_factory=list)
    steps: dict[Pattern, StepLines] = field(default_factory=dict)
    evidence: list[Evidence] = field(default_factory=list)
    first_ms: int | None = None
    last_ms: int | None = None
    records: Counter[str] = field(default_factory=Counter)
    _plans: dict[frozenset[str], _Plan] = field(default_factory=dict)
    _shapes: list[Shape] = field(default_factory=list)
    _waiting: Waiting = field(default_factory=Waiting)
    _last_alike: tuple[bytes, TimePlace] | None = None
    _kept: dict[bytes, list[Evidence]] = field(default_factory=dict)
    _data: bytes = b""  # of the block that is read
    _offset: int = 0
    _floor: int = 0  # behind the last line of it that said something
    _times: list[int] | None = None  # where a time may be
    _from_block_before: Stamp | None = None
    _gate: Gate | None = None
    _has_structure: bool = False
    _has_year: bool = False
    _structured: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._structured = frozenset(f.name for f in self.formats if f.is_structured)

    def feed(self, block: Block) -> None:
        """Reads one block of whole lines."""
        data = self._data = without_redrawn_bars(block.data)
        self._offset, self._floor, self._times = block.offset, 0, None
        if self.first_ms is None and block.offset == 0:
            self.first_ms = self._first_time(data)
        candidates = list(self._the_gate().candidates(data))
        numbers = block.lines_at([start for start, _, _ in candidates])
        for candidate, number in zip(candidates, numbers, strict=True):
            if self._read(candidate, number):
                self._floor = candidate[1]
        rest = self._look_back(self._floor, len(data))
        self._from_block_before = rest if self._floor else rest or self._from_block_before

    def finish(self) -> None:
        """Reads the lines that wait to be read together."""
        self._catch_up()
        waiting, self._waiting = self._waiting, Waiting()
        for pattern, lines in waiting.read(self._shapes, self.clock):
            self._steps_of(pattern).add_part(lines)

    def _the_gate(self) -> Gate:
        if self._gate is None:
            ours = (p.literals for f in self.formats for p in f.patterns)
            known = self.signatures.literals | unknown_error().literals
            self._gate = make_gate(frozenset[str]().union(*ours) | known)
        return self._gate

    def _steps_of(self, pattern: Pattern) -> StepLines:
        if pattern not in self.steps:
            self.steps[pattern] = StepLines(pattern)
        return self.steps[pattern]

    def _read(self, candidate: Candidate, number: int) -> bool:
        """Tries the expressions on a line; if one matches, finds its time and says so."""
        start, end, literals = candidate
        plan = self._plans.get(literals) or self._plan(literals)
        raw, text = self._data[start:end], b""
        if plan.shapes is not None and end - start <= _LONG_LINE:
            text = raw.translate(ZEROS)
            shape = plan.shapes.get(text)
            if shape is None:
                shape = self._learn(plan, literals, raw, text)
            if shape != _NO_SHAPE:
                plan.taken += 1
                return shape != _NOTHING and self._read_alike(shape, raw, number, start)
        raw = raw[:MAX_LINE_BYTES]
        line = read_line(raw)
        matches = self._matches(line, plan.patterns) if plan.patterns else []
        found = self.signatures.search(line.body, literals)
        if found is None and plan.may_be_unknown:
            found = _unknown(line.body, matches)
        if not matches and found is None:
            if plan.shapes is not None and text in plan.shapes and not plan.has_records:
                plan.shapes[text] = _NOTHING
            return False
        self._catch_up()
        before = self.last_ms
        stamp = self._note(self.clock.read(line.text))
        fresh = None if stamp else self._fresh(start)
        is_echo = found is not None and found[0].role in _ECHOES
        place = LinePlace(number, self._offset + start, line.rank, fresh, before, is_echo)
        for pattern, match in matches:
            stamp = self._add_match(pattern, match, place, stamp)
        if found is not None:
            self._add_evidence(*found, line, place, stamp or fresh)
        return True

    # --- lines that differ only in digits ---

    def _learn(self, plan: _Plan, literals: frozenset[str], raw: bytes, text: bytes) -> int:
        """The number of the shape of a line that is new, if it has one."""
        shapes = plan.shapes
        assert shapes is not None
        if len(shapes) >= _MANY_SHAPES and plan.taken < len(shapes) * _LINES_PER_SHAPE:
            plan.shapes = None
            return _NO_SHAPE
        shapes[text] = _NO_SHAPE
        if not plan.has_steps:
            return _NO_SHAPE
        line = read_line(raw)
        is_sure, time = self.clock.place(line.text)
        shape = None
        if is_sure and self.signatures.search(line.body, literals) is None:
            found = [(p, match) for p in plan.patterns if (match := p.regex.search(line.body))]
            shape = shape_of(raw, line, found, time)
        if shape is not None:
            shapes[text] = len(self._shapes)
            self._shapes.append(shape)
        return shapes[text]

    def _read_alike(self, number_of_shape: int, raw: bytes, number: int, start: int) -> bool:
        """Keeps a line to be read with others."""
        shape = self._shapes[number_of_shape]
        time, stamp_ms, fresh_ms, resolution_ms = shape.time, NONE, NONE, 1
        before_ms = READ_LATER if self._last_alike else self.last_ms
        if before_ms is None:
            before_ms = NONE
        if time is not None:
            stamp_ms, resolution_ms = self._time_alike(raw, time), time.resolution_ms
        elif fresh := self._fresh(start):
            fresh_ms, resolution_ms = fresh
        place = number, self._offset + start, stamp_ms, fresh_ms, resolution_ms, before_ms
        self._waiting.add(number_of_shape, place, raw)
        for format_name, count in shape.records.items():
            self.records[format_name] += count
        if not self._has_structure:
            for found in shape.found:
                self._note_structure(found.pattern)
        if len(self._waiting.lines) >= _WAITING_LINES:
            self.finish()
        return True

    def _time_alike(self, raw: bytes, place: TimePlace) -> int:
        """The time of such a line, later if that may be."""
        if self.clock.zone is None and self.first_ms is not None:
            self._last_alike = raw, place
            return READ_LATER
        # Which of two hours of the same name it is depends on the line above.
        stamp = self._note(self.clock.read(raw[place.begin : place.end]))
        return NONE if stamp is None else stamp.ms

    def _catch_up(self) -> None:
        """Finds the last time so far, where it is that of a line that waits."""
        if self._last_alike is not None:
            (raw, place), self._last_alike = self._last_alike, None
            self._note(self.clock.read(raw[place.begin : place.end]))

    # --- all others ---

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

    def _add_match(
        self, pattern: Pattern, match: Match, place: LinePlace, stamp: Stamp | None
    ) -> Stamp | None:
        fields = fields_of(pattern.regex.named(match))
        if fields is None:
            return stamp
        stamp = self._note(epoch_stamp(self.clock, fields)) or stamp
        if pattern.event == "step":
            text = match.string[match.start() :]
            self._steps_of(pattern).add(step_line_of(pattern, fields, text, place, stamp))
            self._note_structure(pattern)
            return stamp
        time = stamp or place.fresh
        self.events.append(
            Event(pattern, place.line, place.offset, time, place.before_ms, fields, place.is_echo)
        )
        if pattern.event == "run_start":
            self._kept.clear()
        return stamp

    def _note_structure(self, pattern: Pattern) -> None:
        if not self._has_structure and pattern.format in self._structured:
            self._has_structure = True
            self._plans.clear()

    def _plan(self, literals: frozenset[str]) -> _Plan:
        patterns = tuple(p for p in self._useful() if not p.literals.isdisjoint(literals))
        known = [p.regex for p in patterns]
        known += [s.regex for s in self.signatures.candidates(literals)]
        is_blind = all(regex.treats_digits_alike for regex in known)
        events = {pattern.event for pattern in patterns}
        plan = self._plans[literals] = _Plan(
            patterns,
            not unknown_error().literals.isdisjoint(literals),
            "step" in events,
            "record" in events,
            {} if is_blind else None,
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
        place: LinePlace,
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
            self.last_ms = stamp.ms
            if self.first_ms is None:
                self.first_ms = stamp.ms
            if not self._has_year and self.clock.year is not None:
                self._has_year = True
                self._times = None
                self._plans.clear()  # what was no time before may be one now
        return stamp

    def _fresh(self, start: int) -> Stamp | None:
        """A time above a line that has none, but below what was found before."""
        floor = self._floor
        if floor and start - floor < _SHORT_GAP:
            return None
        if self._times is None:
            self._times = self.clock.places(self._data)
        place = bisect_left(self._times, floor)
        fresh = None
        if place < len(self._times) and self._times[place] < start:
            fresh = self._look_back(floor, start)
        return fresh if fresh or floor else self._from_block_before

    def _look_back(self, floor: int, end: int) -> Stamp | None:
        """The latest time in the lines of data[floor:end], not looking further than is useful."""
        data, begin = self._data, floor
        if end - floor > _LOOK_BACK_BYTES:
            begin = data.find(b"\n", end - _LOOK_BACK_BYTES, end) + 1 or end
        if not self.clock.may_find(data, begin, end):
            return None
        self._catch_up()
        for start, stop in _lines_backwards(data, begin, end):
            if stamp := self.clock.read(data[start:stop]):
                return self._note(stamp)
        return None

    def _first_time(self, data: bytes) -> int | None:
        for line in data[: 1 << 16].split(b"\n", _FIRST_LINES)[:_FIRST_LINES]:
            if stamp := self.clock.read(line):
                return stamp.ms
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
