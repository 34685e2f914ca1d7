"""Finds the lines of a block that hold any of many literals, in one pass.

Two engines find the same: RE2 from line to line, and Hyperscan all places at once where it is
installed (`pip install goodput[fast]`). Measured on 20 MB of NCCL's talk with 700 literals: 0.03
and 0.01 CPU seconds, where trying 190 expressions on each line takes a minute.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import re2

# The extra `fast` may not be installed.
HAS_NATIVE = find_spec("hyperscan") is not None
if HAS_NATIVE:
    import hyperscan

# Room for the automaton of all literals; RE2 starts it anew when it is full.
_AUTOMATON_BYTES = 1 << 26
_NONE: frozenset[str] = frozenset()


class Candidate(NamedTuple):
    """A line, without its end, that holds at least one literal; offsets are into the block."""

    start: int
    end: int
    literals: frozenset[str]


class Gate(Protocol):
    """Searches blocks for a fixed set of lower-case ASCII literals without line ends."""

    def candidates(self, block: bytes) -> Iterator[Candidate]:
        """The lines that hold a literal in whatever case, in order; lines end at LF or CR."""


@cache
def make_gate(literals: frozenset[str]) -> Gate:
    """The fastest gate there is for some literals."""
    wanted = sorted(literals)
    return NativeGate(wanted) if HAS_NATIVE else LineGate(wanted)


class LineGate:
    """Looks for the next line with a literal, then for all literals in it."""

    def __init__(self, literals: list[str]) -> None:
        """Builds the automata."""
        options = _options()
        self._any = re2.compile("|".join(map(re.escape, literals)).encode(), options)
        self._all = re2.Set.SearchSet(options)
        self._literals = literals
        for literal in literals:
            self._all.Add(re.escape(literal).encode())
        self._all.Compile()
        self._sets: dict[tuple[int, ...], frozenset[str]] = {}

    def candidates(self, block: bytes) -> Iterator[Candidate]:
        """See Gate."""
        lines = _Lines(block)
        search = self._any.search
        found = search(block)
        while found is not None:
            start, end = lines.around(found.start())
            yield Candidate(start, end, self._literals_of(block[start:end]))
            found = search(block, end)

    def _literals_of(self, line: bytes) -> frozenset[str]:
        present = tuple(self._all.Match(line))
        literals = self._sets.get(present)
        if literals is None:
            literals = self._sets[present] = frozenset(self._literals[i] for i in present)
        return literals


class NativeGate:
    """Finds all literals of a block at once."""

    def __init__(self, literals: list[str]) -> None:
        """Builds the database."""
        self._literals = literals
        self._single = [frozenset([literal]) for literal in literals]
        self._sets: dict[tuple[frozenset[str], int], frozenset[str]] = {}
        # The database has scratch space for one scan at a time.
        self._scanning = threading.Lock()
        self._database = hyperscan.Database()
        self._database.compile(
            expressions=[re.escape(literal).encode() for literal in literals],
            ids=list(range(len(literals))),
            elements=len(literals),
            flags=[hyperscan.HS_FLAG_CASELESS] * len(literals),
        )

    def candidates(self, block: bytes) -> Iterator[Candidate]:
        """See Gate."""
        hits: list[tuple[int, int]] = []

        def keep(literal: int, _start: int, end: int, _flags: int, _context: Any) -> None:
            hits.append((end, literal))

        if block:
            with self._scanning:
                self._database.scan(block, match_event_handler=keep)
        around, single, sets = _Lines(block).around, self._single, self._sets
        start, end, present = 0, -1, _NONE
        # They come in the order of their ends; none crosses a line, so lines are in order.
        for place, index in hits:
            if place > end:
                if present:
                    yield Candidate(start, end, present)
                start, end = around(place - 1)
                present = single[index]
            else:
                # The same object each time, for its users look things up by it.
                present = sets.get((present, index)) or self._with(present, index)
        if present:
            yield Candidate(start, end, present)

    def _with(self, present: frozenset[str], index: int) -> frozenset[str]:
        both = present | self._single[index]
        self._sets[present, index] = both
        return both


class _Lines:
    """Bounds of lines around growing places of a block."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        self._end = self._line_feed = -1
        self._has_no_returns = b"\r" not in block

    def around(self, place: int) -> tuple[int, int]:
        """Begin and end of the line at a place behind the line before."""
        block = self._block
        if self._has_no_returns:
            start = block.rfind(b"\n", self._end + 1, place) + 1 or self._end + 1
            end = block.find(b"\n", place)
            self._end = len(block) if end < 0 else end
            return start, self._end
        # Each search is bounded by the one before: a block of carriage returns is linear.
        floor = self._end + 1
        if self._line_feed < place:
            floor = block.rfind(b"\n", floor, place) + 1 or floor
            line_feed = block.find(b"\n", place)
            self._line_feed = len(block) if line_feed < 0 else line_feed
        start = block.rfind(b"\r", floor, place) + 1 or floor
        end = block.find(b"\r", place, self._line_feed)
        self._end = self._line_feed if end < 0 else end
        return start, self._end


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.case_sensitive = False
    options.max_mem = _AUTOMATON_BYTES
    return options
