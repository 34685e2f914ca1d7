"""Step lines as columns: a long log has millions, and objects take ten times as long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from goodput.logs.formats import Pattern
from goodput.logs.lines import Texts, aside_bar

Lines = np.ndarray[Any, np.dtype[np.void]]
"""Rows of STEP_LINE, in file order."""

# No value, in a column of numbers.
NONE = int(np.iinfo(np.int64).min)
COVERS = ("iteration", "last", "bar")
BAR = COVERS.index("bar")
# In place of what tells a label; no hash is this one.
ASIDE = NONE
# A longer time is no time that a run could measure.
MAX_ELAPSED_MS = 10 * 366 * 86_400_000
# Products of what lines say may be larger than any run.
MAX_POSITION = 10**18
_WORD, _MAX_WORDS = 8, 128
_ALL, _SIGN = 1 << 64, 1 << 63
_ODD = 0x9E3779B97F4A7C15


class StepLine(NamedTuple):
    """A line that says that a step is done; NONE where it does not say.

    Attributes:
        line, offset: where it is: number from 1, first byte.
        rank: of the process that wrote it.
        stamp_ms: the time in the line itself.
        fresh_ms: else a time in one of the lines between the event before and this one.
        resolution_ms: how fine that one of the two was written; 1 without any.
        before_ms: the last time in the file above those lines.
        digest: tells lines with the same text from others.
        position: as steps are counted.
        first: the first position of the record, where a bar was seen at its beginning.
        covers: what `elapsed_ms` measures, as a place in COVERS.
        has_rate: of a bar, whether it tells iterations from other things.
        label: of a bar, tells its label from others; see label_of.
        is_epoch: whether that is one of an epoch.
    """

    line: int
    offset: int
    rank: int
    stamp_ms: int
    fresh_ms: int
    resolution_ms: int
    before_ms: int
    digest: int
    position: int
    elapsed_ms: int
    total: int
    samples: int
    tokens: int
    first: int
    covers: int
    has_rate: bool
    label: int
    is_epoch: bool


_FLAGS = ("has_rate", "is_epoch")
STEP_LINE = np.dtype(
    [(name, np.bool_ if name in _FLAGS else np.int64) for name in StepLine._fields], align=True
)


def digest(text: bytes) -> int:
    """A number that tells a text from others: the same for it alone as among many of its length.

    Of long texts the beginning and the length count.
    """
    head = text[: _MAX_WORDS * _WORD]
    count = len(head) // _WORD + 1
    words = np.frombuffer(head.ljust(count * _WORD, b"\0"), "<u8")
    whole = int(words @ _weights()[:count]) + len(text)
    return (whole + _SIGN) % _ALL - _SIGN


def digests(texts: Texts) -> Any:
    """The same for many texts."""
    heads = texts[:, : _MAX_WORDS * _WORD]
    size = heads.shape[1]
    words = np.zeros((len(texts), size // _WORD + 1), np.uint64)
    words.view(np.uint8)[:, :size] = heads
    whole = words @ _weights()[: words.shape[1]] + np.uint64(texts.shape[1])
    return whole.view(np.int64)


@cache
def _weights() -> Any:
    """An odd number for each word of a text."""
    return np.cumprod(np.full(_MAX_WORDS + 1, _ODD, np.uint64))


def label_of(text: str) -> tuple[int, bool]:
    """What tells the label of a progress bar from others, and whether it is one of an epoch.

    ASIDE where the bar does something else than train.
    """
    return ASIDE if aside_bar().match(text) else hash(text.strip()), "poch" in text


@dataclass(slots=True)
class StepLines:
    """The step lines of one pattern."""

    pattern: Pattern
    _parts: list[Lines] = field(default_factory=list)
    _single: list[StepLine] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(map(len, self._parts)) + len(self._single)

    def add(self, line: StepLine) -> None:
        """Adds one line."""
        self._single.append(line)

    def add_part(self, lines: Lines) -> None:
        """Adds lines that were read together."""
        self._parts.append(lines)

    def rows(self) -> Lines:
        """All of them, those that were added one by one first: mostly the first lines of a log."""
        single = [lines_of(self._single)] if self._single or not self._parts else []
        self._parts, self._single = [joined([*single, *self._parts])], []
        return self._parts[0]


def lines_of(single: Sequence[StepLine]) -> Lines:
    """Single lines as columns."""
    return np.array(single, STEP_LINE)


def joined(parts: Sequence[Lines]) -> Lines:
    """The rows of all parts, at least one, one part after another; a single one is no copy."""
    if len(parts) == 1:
        return parts[0]
    # As bytes: column by column it takes ten times as long.
    kind = parts[0].dtype
    rows: Lines = np.concatenate([part.view(f"V{kind.itemsize}") for part in parts]).view(kind)
    return rows


def lines_at(lines: Lines, places: Any) -> Lines:
    """The lines at some places in order; no copy where these are without a gap."""
    found: Lines
    if len(places) and int(places[-1]) - int(places[0]) + 1 == len(places):
        found = lines[int(places[0]) : int(places[-1]) + 1]
    else:
        found = np.take(lines, places)  # as bytes, which lines[places] would not take them
    return found


def in_file_order(parts: Iterable[StepLines]) -> Lines:
    """The lines of several patterns; of those in one line of the log, the first pattern's first."""
    rows = joined([part.rows() for part in parts] or [lines_of([])])
    offsets = rows["offset"]
    is_ordered = (offsets[1:] >= offsets[:-1]).all()
    return rows if is_ordered else np.take(rows, np.argsort(offsets, kind="stable"))


def position_of(fields: dict[str, Any], offset: int) -> int:
    """The position that a line names; NONE if it names none."""
    if "step" not in fields:
        return NONE
    epochs = fields.get("epoch", 0) * fields.get("epoch_size", 0)
    return int(min(fields["step"] + offset + epochs, MAX_POSITION))


def elapsed_ms(fields: dict[str, Any], unit: str) -> int | None:
    """The elapsed time that a line prints, in whole milliseconds."""
    value = fields.get("elapsed")
    if value is None:
        return None
    if isinstance(value, str):
        seconds = 0
        for part in value.split(":"):
            seconds = seconds * 60 + int(part or 0)
        ms: float = seconds * 1000
    else:
        ms = value * (1 if fields.get("unit", unit) == "ms" else 1000)
    return round(ms) if ms < MAX_ELAPSED_MS else None
