"""What to try on lines by the literals that they hold, and which of them are alike."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from goodput.logs.clock import LogClock
from goodput.logs.formats import Format, Pattern
from goodput.logs.gate import Gate, make_gate
from goodput.logs.lines import ZEROS, are_alike, read_line, texts_at
from goodput.logs.reading import FoundLines
from goodput.logs.shapes import PLACE, READ_LATER, Shape, shape_of
from goodput.logs.signatures import SignatureSet, unknown_error
from goodput.logs.step_lines import NONE

_LONG_LINE = 1000
# Fewer lines are as quickly read one by one as together.
_FEW_LINES = 16
# Kinds of lines of one length that are told so: each takes a look at all of them.
_MAX_ROUNDS = 8
# Of so many kinds, each must stand for some lines: else they take longer than to read each line.
_MANY_KINDS, _LINES_PER_KIND = 200, 4
# In place of how fine the time of a kind is written: it has none, or says nothing at all.
_NO_TIME, _SAYS_NOTHING = 0, -1


@dataclass(slots=True)
class Plan:
    """What to try on lines with the same literals.

    Attributes:
        is_blind: whether lines that differ only in digits are of one kind.
        kinds: how many kinds there are.
        taken: lines that need not be looked at, for their kind is known.
    """

    literals: frozenset[str]
    patterns: tuple[Pattern, ...]
    may_be_unknown: bool
    is_blind: bool
    kinds: int = 0
    taken: int = 0

    def has(self, event: str) -> bool:
        """Whether one of its patterns is of that event."""
        return any(pattern.event == event for pattern in self.patterns)


class Kind(NamedTuple):
    """Lines that differ only in digits; without a shape they say nothing."""

    plan: Plan
    shape: Shape | None


class Batch:
    """Lines of a block that hold literals, in order.

    Attributes:
        data: the block.
        kinds: the number of its kind; if it is to be looked at by itself, -1 - that of its plan.
        where: as they were found.
        offsets: where each begins in the log.
        alike: the places of those of kinds that have a shape, as an array.
        timed: the places among these of those with a time of their own.
        columns: what is known of those that are alike, by PLACE.
    """

    def __init__(
        self,
        data: bytes,
        kinds: Any,
        where: FoundLines,
        offsets: Any,
        resolutions: list[int],
    ) -> None:
        self.data, self.kinds, self.where, self.offsets = data, kinds, where, offsets
        # Those that are to be looked at have the one at the end.
        resolution = np.array([*resolutions, _SAYS_NOTHING])[np.maximum(self.kinds, -1)]
        alike = self.alike = np.flatnonzero(resolution > _SAYS_NOTHING)
        resolution = resolution[alike]
        self.timed = np.flatnonzero(resolution)
        self.columns = {name: np.full(len(alike), NONE) for name in PLACE}
        self.columns["line"], self.columns["offset"] = where.numbers[alike], offsets[alike]
        self.columns["stamp_ms"][self.timed] = self.columns["before_ms"][:] = READ_LATER
        self.columns["resolution_ms"] = np.maximum(resolution, 1)

    def __len__(self) -> int:
        return len(self.kinds)

    def line(self, place: int) -> bytes:
        """The bytes of one."""
        return self.data[self.where.starts[place] : self.where.ends[place]]


@dataclass(slots=True)
class Plans:
    """The plans of one log.

    Attributes:
        plans, kinds: by their numbers.
        edition: changes whenever lines that were sorted must be sorted anew.
    """

    formats: Collection[Format]
    signatures: SignatureSet
    clock: LogClock
    plans: list[Plan] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)
    edition: int = 0
    _resolutions: list[int] = field(default_factory=list)
    _numbers: dict[frozenset[str], int] = field(default_factory=dict)
    # By the text of a line without digits.
    _known: dict[bytes, int] = field(default_factory=dict)
    _has_structure: bool = False
    _structured: frozenset[str] = field(init=False)
    _gate: Gate | None = None

    def __post_init__(self) -> None:
        self._structured = frozenset(f.name for f in self.formats if f.is_structured)

    def _literals(self) -> frozenset[str]:
        ours = (p.literals for f in self.formats for p in f.patterns)
        return frozenset[str]().union(*ours, self.signatures.literals, unknown_error().literals)

    @property
    def gate(self) -> Gate:
        """What finds the lines that a plan is made for."""
        if self._gate is None:
            self._gate = make_gate(self._literals())
        return self._gate

    def renew(self) -> None:
        """Forgets what was made of lines, for now it would be something else."""
        self._numbers.clear()
        self._known.clear()
        self.edition += 1

    def note_lines(self, kinds: Any) -> Iterator[tuple[Shape, int]]:
        """Notes that lines of some kinds were read; of those with a shape, how many."""
        counts = np.bincount(kinds[kinds >= 0])
        for number in np.flatnonzero(counts).tolist():
            (plan, shape), count = self.kinds[number], int(counts[number])
            plan.taken += count
            if shape is not None:
                yield shape, count
                for found in shape.found:
                    self.note_structure(found.pattern)

    def note_structure(self, pattern: Pattern) -> None:
        """Notes a step line of a pattern: those of last resort count no more beside a framework."""
        if not self._has_structure and pattern.format in self._structured:
            self._has_structure = True
            self.renew()

    def note_nothing(self, plan: Plan, line: bytes) -> None:
        """Notes that a line that was looked at said nothing."""
        text = line.translate(ZEROS)
        if text in self._known and not plan.has("record"):
            self._known[text] = self._new_kind(plan, None)

    def is_known(self, line: bytes) -> bool:
        """Whether the kind of a line is known by now."""
        return self._known.get(line.translate(ZEROS), -1) >= 0

    def sort(self, data: bytes, found: FoundLines, offsets: Any) -> Batch:
        """Sorts lines as far as the plans remain as they are, at least one.

        Args:
            offsets: where they begin in the log.
        """
        kinds, is_open = self._kinds_together(data, found)
        places = np.flatnonzero(is_open)
        bounds = zip(found.starts[places].tolist(), found.ends[places].tolist(), strict=True)
        kinds[places] = [self._learn(data[start:end]) for start, end in bounds]
        end = self._first_of_framework(kinds) + 1
        return Batch(data, kinds[:end], found.part(slice(end)), offsets[:end], self._resolutions)

    def _kinds_together(self, data: bytes, found: FoundLines) -> tuple[Any, Any]:
        """The kinds of lines, and which must yet be found one by one.

        Where many lines are of one length, those that are like the first of them are found at once.
        """
        kinds, is_open = np.zeros(len(found.starts), np.int64), np.ones(len(found.starts), np.bool_)
        sizes = found.ends - found.starts
        counts = np.bincount(np.minimum(sizes, _LONG_LINE))
        for size in np.flatnonzero(counts[:_LONG_LINE] >= _FEW_LINES).tolist():
            places = np.flatnonzero(sizes == size)
            texts = texts_at(data, found.starts[places], size)
            for _ in range(_MAX_ROUNDS):
                line = texts[0].tobytes()
                text = line.translate(ZEROS)
                alike = are_alike(texts, text)
                number = self._learn(line)
                if text in self._known:  # else each is to be learnt for itself
                    kinds[places[alike]] = number
                    is_open[places[alike]] = False
                texts, places = texts[~alike], places[~alike]
                if len(places) < _FEW_LINES:
                    break
        return kinds, is_open

    def _first_of_framework(self, kinds: Any) -> int:
        """The place of the first step line that changes the plans; of the last line without one."""
        if self._has_structure:
            return len(kinds) - 1
        shapes = {n: self.kinds[n].shape for n in set(kinds.tolist()) if n >= 0}
        first = [
            int(np.argmax(kinds == number))
            for number, shape in shapes.items()
            if shape and any(found.pattern.format in self._structured for found in shape.found)
        ]
        return min(first, default=len(kinds) - 1)

    def _learn(self, line: bytes) -> int:
        """What to do with a line that is new; see Batch.kinds."""
        text = line.translate(ZEROS)
        if text in self._known:
            return self._known[text]
        literals = self.gate.literals_of(line)
        number = self._numbers.get(literals)
        if number is None:
            number = self._numbers[literals] = len(self.plans)
            self.plans.append(self._plan(literals))
        plan = self.plans[number]
        if not plan.is_blind or len(line) > _LONG_LINE or self.gate.looks_at_digits(text):
            return -1 - number
        if plan.kinds >= _MANY_KINDS and plan.taken < plan.kinds * _LINES_PER_KIND:
            plan.is_blind = False
            return -1 - number
        plan.kinds += 1
        shape = self._shape_of(plan, line) if plan.has("step") else None
        self._known[text] = -1 - number if shape is None else self._new_kind(plan, shape)
        return self._known[text]

    def _new_kind(self, plan: Plan, shape: Shape | None) -> int:
        resolution = _SAYS_NOTHING
        if shape is not None:
            resolution = _NO_TIME if shape.time is None else shape.time.resolution_ms
        self.kinds.append(Kind(plan, shape))
        self._resolutions.append(resolution)
        return len(self.kinds) - 1

    def _shape_of(self, plan: Plan, raw: bytes) -> Shape | None:
        line = read_line(raw)
        is_sure, time = self.clock.place(line.text)
        if not is_sure or self.signatures.search(line.body, plan.literals) is not None:
            return None
        found = [(p, match) for p in plan.patterns if (match := p.regex.search(line.body))]
        return shape_of(raw, line, found, time)

    def _plan(self, literals: frozenset[str]) -> Plan:
        patterns = tuple(p for p in self._useful() if not p.literals.isdisjoint(literals))
        known = [p.regex for p in patterns]
        known += [s.regex for s in self.signatures.candidates(literals)]
        is_blind = all(regex.treats_digits_alike for regex in known)
        may_be_unknown = not unknown_error().literals.isdisjoint(literals)
        return Plan(literals, patterns, may_be_unknown, is_blind)

    def _useful(self) -> Iterator[Pattern]:
        """All patterns, without steps of last resort once there are steps of a framework."""
        borrowed = {f.borrows for f in self.formats}
        for format_ in self.formats:
            is_spare = not format_.is_structured and format_.name not in borrowed
            for pattern in format_.patterns:
                if not (self._has_structure and is_spare and pattern.event == "step"):
                    yield pattern
