"""Reads a log once and keeps what matters: events of the formats, evidence, times, counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from goodput.logs.clock import SEARCHED_BYTES, LogClock, Stamp
from goodput.logs.events import Event, Evidence, LinePlace, epoch_stamp, fields_of, step_line_of
from goodput.logs.formats import Format, Pattern
from goodput.logs.lines import Line, rank_told, read_line
from goodput.logs.plans import Batch, Plan, Plans
from goodput.logs.reading import MAX_LINE_BYTES, Block
from goodput.logs.redraws import drawn_over
from goodput.logs.regex import Match
from goodput.logs.shapes import Waiting
from goodput.logs.signatures import Signature, SignatureSet, excerpt, unknown_error
from goodput.logs.step_lines import NONE, StepLines

# Rows kept per signature and run start; the rest is counted: a storm says no more than its start.
MAX_ROWS_PER_SIGNATURE = 50
# Kinds of unknown lines kept for each run start: beyond, they are counted together.
MAX_SHAPES = 300
_SHAPE_BYTES = 300
_NUMBER = re.compile(rb"0x[0-9a-fA-F]+|\d+")
_LINE_END = re.compile(rb"[\r\n]")
# How far back a line without a time may borrow one.
_LOOK_BACK_BYTES = 1 << 16
_FIRST_LINES = 200
# As much as stands above a line that belongs to it.
_ABOVE_BYTES = 300
# A time has more characters.
_SHORT_GAP = 12
# Lines that wait to be read together: a few megabytes.
_WAITING_LINES = 1 << 15
# Roles of lines that follow from, or only talk about, a failure.
_ECHOES = ("cascade", "teardown", "info")


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
    _waiting: Waiting = field(default_factory=Waiting)
    _last_alike: bytes | None = None  # the text of its time
    _kept: dict[bytes, list[Evidence]] = field(default_factory=dict)
    _data: bytes = b""  # of the block that is read
    _tail: bytes = b""  # of the block before
    _floor: int = 0  # behind the last line of it that said something
    _times: Any = None  # where a time may be
    _from_block_before: Stamp | None = None
    _has_year: bool = False
    _plans: Plans = field(init=False)

    def __post_init__(self) -> None:
        self._plans = Plans(self.formats, self.signatures, self.clock)

    def feed(self, block: Block) -> None:
        """Reads one block of whole lines."""
        self._tail = self._data[-_ABOVE_BYTES:]
        block = block.without(*drawn_over(block.data))
        data = self._data = block.data
        self._floor, self._times = 0, None
        if self.first_ms is None and block.offset == 0:
            self.first_ms = self._first_time(data)
        found = self._plans.gate.lines(block)
        offsets, done = block.offsets_at(found.starts), 0
        while done < len(offsets):
            rest = slice(done, None)
            done += self._read(self._plans.sort(data, found.part(rest), offsets[rest]))
        last = self._look_back(self._floor, len(data))
        self._from_block_before = last if self._floor else last or self._from_block_before

    def finish(self) -> None:
        """Reads the lines that wait to be read together."""
        self._catch_up()
        waiting, self._waiting = self._waiting, Waiting()
        shapes = [kind.shape for kind in self._plans.kinds]
        for pattern, lines in waiting.read(shapes, self.clock):
            self._steps_of(pattern).add_part(lines)

    def _steps_of(self, pattern: Pattern) -> StepLines:
        if pattern not in self.steps:
            self.steps[pattern] = StepLines(pattern)
        return self.steps[pattern]

    def _read(self, batch: Batch) -> int:
        """Reads lines up to one that changes what is to be made of the others; how many."""
        edition, done = self._plans.edition, 0
        for place in self._to_look_at(batch):
            self._pass_over(batch, done, place)
            self._look_at(batch, place)
            done = place + 1
            if self._plans.edition != edition:
                break
        else:
            self._pass_over(batch, done, len(batch))
            done = len(batch)
        self._keep(batch, done)
        return done

    # --- lines that differ only in digits ---

    def _to_look_at(self, batch: Batch) -> list[int]:
        """The places of all lines but those of which nothing depends on the lines around them."""
        is_open = batch.kinds < 0
        if len(batch.timed) and (self.clock.zone is not None or self.first_ms is None):
            # Which of two hours of the same name it is depends on the line above.
            is_open[batch.alike[batch.timed]] = True
        if len(batch.timed) < len(batch.alike):
            ends, starts = batch.where.ends[batch.alike], batch.where.starts[batch.alike]
            floors = np.append(self._floor, ends[:-1])
            times = np.append(self._time_places(), len(self._data))
            may_be_fresh = times[np.searchsorted(times, floors)] < starts
            may_be_fresh[0] |= floors[0] == 0
            may_be_fresh[batch.timed] = False
            is_open[batch.alike] |= may_be_fresh
        places: list[int] = np.flatnonzero(is_open).tolist()
        return places

    def _pass_over(self, batch: Batch, begin: int, end: int) -> None:
        """Notes what lines that need no look leave to those below them."""
        first, last = batch.alike.searchsorted((begin, end)).tolist()
        if first == last:
            return
        self._floor = int(batch.where.ends[batch.alike[last - 1]])
        timed = batch.timed[slice(*batch.timed.searchsorted((first, last)))]
        if self._last_alike is None:
            stop = timed[0] + 1 if len(timed) else last
            batch.columns["before_ms"][first:stop] = self._last_or_none()
        if len(timed):
            self._last_alike = self._time_of(batch, batch.alike[timed[-1]])

    def _last_or_none(self) -> int:
        return NONE if self.last_ms is None else self.last_ms

    def _time_of(self, batch: Batch, place: int) -> bytes:
        shape = self._plans.kinds[batch.kinds[place]].shape
        time = shape.time if shape else None
        return batch.line(place)[time.begin : time.end] if time else b""

    def _look_at(self, batch: Batch, place: int) -> None:
        """Reads a line that is not alike, or whose time depends on the lines above."""
        start, end = int(batch.where.starts[place]), int(batch.where.ends[place])
        kind = int(batch.kinds[place])
        if kind < 0:
            number, offset = int(batch.where.numbers[place]), int(batch.offsets[place])
            plan = self._plans.plans[-1 - kind]
            if self._read_line(plan, batch.line(place), number, offset, start):
                self._floor = end
            return
        columns, row = batch.columns, int(batch.alike.searchsorted(place))
        if self._last_alike is None:
            columns["before_ms"][row] = self._last_or_none()
        if text := self._time_of(batch, place):
            stamp = self._note(self.clock.read(text))
            columns["stamp_ms"][row] = NONE if stamp is None else stamp.ms
        elif fresh := self._fresh(start):
            columns["fresh_ms"][row], columns["resolution_ms"][row] = fresh
        self._floor = end

    def _keep(self, batch: Batch, done: int) -> None:
        """Keeps the lines that are alike to be read together."""
        for shape, count in self._plans.note_lines(batch.kinds[:done]):
            for format_name, times in shape.records.items():
                self.records[format_name] += times * count
        alike = batch.alike[: batch.alike.searchsorted(done)]
        if not len(alike):
            return
        columns = batch.columns
        if len(alike) < len(batch.alike):
            columns = {name: values[: len(alike)] for name, values in columns.items()}
        self._waiting.add(batch.data, batch.where.part(alike), batch.kinds[alike], columns)
        if len(self._waiting) >= _WAITING_LINES:
            self.finish()

    def _catch_up(self) -> None:
        """Finds the last time so far, where it is that of a line that waits."""
        if self._last_alike is not None:
            text, self._last_alike = self._last_alike, None
            self._note(self.clock.read(text))

    # --- all others ---

    def _read_line(self, plan: Plan, raw: bytes, number: int, offset: int, start: int) -> bool:
        """Tries the expressions on a line; if one matches, finds its time and says so."""
        if self._plans.is_known(raw):
            return False
        line = read_line(raw[:MAX_LINE_BYTES])
        matches = self._matches(line, plan.patterns) if plan.patterns else []
        found = self.signatures.search(line.body, plan.literals)
        if found is None and plan.may_be_unknown:
            found = _unknown(line.body, matches)
        if not matches and found is None:
            self._plans.note_nothing(plan, raw)
            return False
        self._catch_up()
        is_start = any(pattern.event == "run_start" for pattern, _ in matches)
        if is_start and self.clock.may_find(line.text, 0, len(line.text)):
            # Of what has a time of its own, times above are of the run before: it was alive.
            self._look_back(self._floor, start)
        before = self.last_ms
        stamp = self._note(self.clock.read(line.text))
        fresh = None if stamp else self._fresh(start)
        is_echo = found is not None and found[0].role in _ECHOES
        place = LinePlace(number, offset, line.rank, fresh, before, is_echo)
        for pattern, match in matches:
            stamp = self._add_match(pattern, match, place, stamp)
        if found is not None:
            rank = rank_told(line, self._above(start))
            self._add_evidence(*found, line, place._replace(rank=rank), stamp or fresh)
        return True

    def _above(self, start: int) -> bytes:
        """The last bytes before a place of the block."""
        if start < _ABOVE_BYTES:
            return self._tail + self._data[:start]
        return self._data[start - _ABOVE_BYTES : start]

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
            self._plans.note_structure(pattern)
            return stamp
        time = stamp or place.fresh
        self.events.append(
            Event(pattern, place.line, place.offset, time, place.before_ms, fields, place.is_echo)
        )
        if pattern.event == "run_start":
            self._kept.clear()
        return stamp

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
        kept.append(Evidence(signature, place.line, place.offset, place.rank, stamp, code, text))
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
                self._plans.renew()  # what was no time before may be one now
        return stamp

    def _fresh(self, start: int) -> Stamp | None:
        """A time above a line that has none, but below what was found before."""
        floor = self._floor
        if floor and start - floor < _SHORT_GAP:
            return None
        times = self._time_places()
        place = int(np.searchsorted(times, floor))
        fresh = None
        if place < len(times) and times[place] < start:
            fresh = self._look_back(floor, start)
        return fresh if fresh or floor else self._from_block_before

    def _time_places(self) -> Any:
        if self._times is None:
            self._times = self.clock.places(self._data)
        return self._times

    def _look_back(self, floor: int, end: int) -> Stamp | None:
        """The latest time in the lines of data[floor:end], not looking further than is useful."""
        data, begin = self._data, floor
        if end - floor > _LOOK_BACK_BYTES:
            line_end = _LINE_END.search(data, end - _LOOK_BACK_BYTES, end)
            begin = line_end.end() if line_end else end
        if not self.clock.may_find(data, begin, end):
            return None
        self._catch_up()
        for start, stop in _lines_backwards(data, begin, end):
            if stamp := self.clock.read(data[start:stop]):
                return self._note(stamp)
        return None

    def _first_time(self, data: bytes) -> int | None:
        for line in _LINE_END.split(data[: 1 << 16], _FIRST_LINES)[:_FIRST_LINES]:
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
        feed = data.rfind(b"\n", floor, end) + 1 or floor
        # Each search is bounded by the one before: a block of line feeds is linear.
        while end > feed:
            start = data.rfind(b"\r", feed, end) + 1 or feed
            yield start, min(end, start + SEARCHED_BYTES)
            end = start - 1
        end = feed - 1
