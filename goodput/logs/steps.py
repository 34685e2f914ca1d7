"""Step lines of a log as records in time: positions first..last over [start, end)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, overload

import numpy as np

from goodput.logs.step_lines import BAR, COVERS, MAX_ELAPSED_MS, NONE, Lines, joined, lines_at

BASES = ("none", "line", "above", "elapsed", "carried")
_LAST = COVERS.index("last")
_Numbers = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(slots=True)
class Step:
    """Positions first..last over [start, end) in UTC ms; `basis` tells where `end` is from."""

    first: int
    last: int
    start_ms: int | None
    end_ms: int | None
    basis: str
    line: int
    total: int | None = None
    samples: int | None = None
    tokens: int | None = None
    elapsed_ms: int | None = None
    is_bar: bool = False


_BASIS = list(Step.__dataclass_fields__).index("basis")
_STEP = np.dtype(
    [(name, np.int64) for name in Step.__dataclass_fields__ if name != "is_bar"]
    + [("is_bar", np.bool_)],
    align=True,
)
_NO_STEPS = np.empty(0, _STEP)


class Steps(Sequence[Step]):
    """Steps in file order, as columns.

    Attributes:
        rows: one column for each attribute of a step; NONE stands for None, and `basis` is a place
            in BASES.
    """

    def __init__(self, rows: np.ndarray[Any, np.dtype[np.void]] | None = None) -> None:
        self.rows = _NO_STEPS if rows is None else rows

    @staticmethod
    def joined(parts: Iterable[Steps]) -> Steps:
        """The steps of all parts, one part after another."""
        filled = [part.rows for part in parts if part]
        return Steps(joined(filled or [_NO_STEPS]))

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Step: ...
    @overload
    def __getitem__(self, place: slice) -> Steps: ...
    def __getitem__(self, place: int | slice) -> Step | Steps:
        if isinstance(place, slice):
            return Steps(self.rows[place])
        return _step(self.rows[place].tolist())

    def __iter__(self) -> Iterator[Step]:
        return map(_step, self.rows.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def known(self, column: str) -> _Numbers:
        """The values of a column, without those that are not known."""
        values = self.rows[column]
        known: _Numbers = values[values != NONE]
        return known


def _step(row: tuple[Any, ...]) -> Step:
    values: list[Any] = [None if value == NONE else value for value in row]
    values[_BASIS] = BASES[values[_BASIS]]
    return Step(*values)


def _numbers() -> array[int]:
    return array("q")


@dataclass(slots=True)
class StepRun:
    """The step lines of one attempt that count, with what was known when each was read.

    Attributes:
        places: of the lines.
        positions, ends, bases: of each: the position done, when, and where that is from.
        begins: when a step began, and whether that was said of this very step; by place here.
        resumes: the step that training had gone on from just before, by place here.
    """

    places: array[int] = field(default_factory=_numbers)
    positions: array[int] = field(default_factory=_numbers)
    ends: array[int] = field(default_factory=_numbers)
    bases: array[int] = field(default_factory=_numbers)
    begins: dict[int, tuple[int, bool]] = field(default_factory=dict)
    resumes: dict[int, int] = field(default_factory=dict)

    def add(self, place: int, position: int, end: int, basis: str) -> None:
        """Adds a line."""
        self.places.append(place)
        self.positions.append(position)
        self.ends.append(end)
        self.bases.append(BASES.index(basis))

    def add_all(self, places: Any, positions: Any, ends: Any, basis: str) -> None:
        """Adds lines that were placed in time alike."""
        bases = np.full(len(places), BASES.index(basis))
        kept = (self.places, self.positions, self.ends, self.bases)
        for column, added in zip(kept, (places, positions, ends, bases), strict=True):
            column.frombytes(added.tobytes())


class Timing(NamedTuple):
    """What tells when the step of a line ended; see StepLine.

    Attributes:
        now: where the clock stood before the line.
        positions: since the line before.
        bar_start: when the progress bar began.
    """

    stamp: int | None
    fresh: int | None
    elapsed: int | None
    covers: str
    now: int | None
    positions: int
    bar_start: int | None


# A time above the line may be this much of a step older than the step's end and still be it.
_TOLERANCE = 10


def end_of(step: Timing) -> tuple[int | None, str]:
    """When a step ended, and where that is from."""
    if step.stamp is not None:
        return step.stamp, "line"
    count = step.positions if step.covers == "iteration" else 1
    duration = min((step.elapsed or 0) * count, MAX_ELAPSED_MS)
    due = None if step.now is None or step.elapsed is None else step.now + duration
    if step.bar_start is not None and step.covers == "bar":
        return step.bar_start + (step.elapsed or 0), "elapsed"
    if step.fresh is not None and (due is None or step.fresh >= due - duration // _TOLERANCE):
        return step.fresh, "above"
    if due is not None:
        return due, "elapsed"
    return step.now, "none" if step.now is None else "carried"


def ends_of(lines: Lines, counts: _Numbers, now: int | None, bar_start: int | None) -> Any:
    """The same for many lines, and where those are from; None where they must be told one by one.

    Args:
        lines: at least one.
        counts: positions since the line before, at least one.
        now: where the clock stood before the first.
        bar_start: when the progress bar began that they are of.
    """
    stamps, elapsed, covers = lines["stamp_ms"], lines["elapsed_ms"], int(lines["covers"][0])
    if (stamps != NONE).all():
        return stamps, "line"
    is_mixed = (lines["covers"] != covers).any() or (stamps != NONE).any()
    if is_mixed or ((covers != BAR or bar_start is None) and (lines["fresh_ms"] != NONE).any()):
        return None
    if covers == BAR and bar_start is not None:
        return bar_start + np.where(elapsed == NONE, 0, elapsed), "elapsed"
    if now is None:
        return np.full(len(lines), NONE), "none"
    if covers == BAR or (elapsed == NONE).any():
        return None
    most = MAX_ELAPSED_MS // np.maximum(elapsed, 1) + 1
    durations = elapsed * np.minimum(counts, most) if not covers else elapsed
    return now + np.cumsum(np.minimum(durations, MAX_ELAPSED_MS)), "elapsed"


# --- records ---


def records_of(lines: Lines, run: StepRun, resumed_from: int | None) -> Steps:
    """The step lines of one attempt, in file order, as records.

    Args:
        lines: of the log.
        run: which of them, placed in time.
        resumed_from: the step that the attempt resumed from.
    """
    if not run.places:
        return Steps()
    lines = lines_at(lines, run.places)
    rows = np.empty(len(lines), _STEP)
    last = rows["last"] = np.array(run.positions, np.int64)
    rows["end_ms"], rows["basis"] = run.ends, run.bases
    for name in ("line", "total", "samples", "tokens", "elapsed_ms"):
        rows[name] = lines[name]
    rows["is_bar"] = lines["covers"] == BAR
    follows = np.append(False, last[1:] > last[:-1])
    rows["first"] = _firsts(lines, run, follows, resumed_from)
    rows["start_ms"] = _starts(lines, rows, run.begins, follows)
    _estimate_starts(rows)
    return Steps(rows)


def _stride(positions: _Numbers) -> int:
    """How many positions a line usually covers: the most frequent difference."""
    differences = np.diff(positions)
    values, counts = np.unique(differences[differences > 0], return_counts=True)
    return int(values[counts.argmax()]) if len(values) else 1


def _firsts(lines: Lines, run: StepRun, follows: Any, resumed_from: int | None) -> _Numbers:
    last = np.array(run.positions, np.int64)
    stride = _stride(last)
    floors = np.append(0, last[:-1] + 1)
    first = np.where(lines["covers"] == BAR, floors, np.maximum(last - stride + 1, floors))
    for place in np.flatnonzero(~follows).tolist():
        end, said = run.positions[place], int(lines["first"][place])
        base = run.resumes.get(place, resumed_from)
        lowest = min(end, 1) if place == 0 else 0
        floor = base + 1 if base is not None and base < end else lowest
        first[place] = max(end - stride + 1, floor) if said == NONE else min(said, end)
    return first


def _starts(
    lines: Lines, rows: Any, begins: Mapping[int, tuple[int, bool]], follows: Any
) -> _Numbers:
    end, elapsed, covers = rows["end_ms"], rows["elapsed_ms"], lines["covers"]
    count = rows["last"] - rows["first"] + 1
    floor = np.where(follows, np.append(NONE, end[:-1]), NONE)
    said, is_exact = np.full(len(rows), NONE), np.zeros(len(rows), np.bool_)
    for place, (begin_ms, exact) in begins.items():
        if begin_ms <= end[place]:
            said[place], is_exact[place] = begin_ms, exact
    has_floor, has_said = floor != NONE, said != NONE
    most = MAX_ELAPSED_MS // np.maximum(elapsed, 1) + 1
    measured = end - np.minimum(elapsed * np.minimum(count, most), MAX_ELAPSED_MS)
    # A gap below what the clock can show is none.
    is_close = has_floor & (measured - floor < lines["resolution_ms"])
    measured = np.where(is_close, floor, measured)
    is_unmeasured = (elapsed == NONE) | (covers == BAR) | ((covers == _LAST) & (count > 1))
    start = np.where(is_unmeasured, np.where(has_floor, floor, said), measured)
    bounded = np.maximum(start, np.minimum(floor, end))
    start = np.where(has_floor & (start != NONE), bounded, start)
    start = np.minimum(start, end)  # the clock of the log may have gone back
    start = np.where(has_said & is_exact, said, start)
    return np.where(end == NONE, NONE, start)


def _estimate_starts(rows: Any) -> None:
    """Lets a record that nothing says the start of take as long as the others usually do.

    The first step is often slower; what it takes longer is start-up.
    """
    start, end, count = rows["start_ms"], rows["end_ms"], rows["last"] - rows["first"] + 1
    has_both = (start != NONE) & (end != NONE)
    if not has_both.any():
        return
    pace = _median_low((end - start)[has_both] // count[has_both])
    is_open = (start == NONE) & (end != NONE)
    most = MAX_ELAPSED_MS // max(int(pace), 1) + 1
    durations = np.minimum(pace * np.minimum(count[is_open], most), MAX_ELAPSED_MS)
    start[is_open] = end[is_open] - durations


def _median_low(values: Any) -> Any:
    middle = (len(values) - 1) // 2
    return np.partition(values, middle)[middle]


def median_seconds(steps: Steps) -> float | None:
    """The median time per position, over the steps that show one; None if none does.

    Each by its place in time, else by what it says took so long.
    """
    if not steps:
        return None
    rows = steps.rows
    start, end, elapsed, last = (
        rows[name] for name in ("start_ms", "end_ms", "elapsed_ms", "last")
    )
    has_both = (start != NONE) & (end != NONE)
    placed = (end - start) / (last - rows["first"] + 1) / 1000
    positions = np.append(0, np.diff(last))
    # A bar tells the time since it began.
    of_bar = np.append(0, np.diff(elapsed)) / np.maximum(positions, 1) / 1000
    is_bar_known = (elapsed != NONE) & (np.append(NONE, elapsed[:-1]) != NONE) & (positions > 0)
    pace = np.where(has_both, placed, np.where(rows["is_bar"], of_bar, elapsed / 1000))
    is_known = has_both | np.where(rows["is_bar"], is_bar_known, elapsed != NONE)
    return float(_median_low(pace[is_known])) if is_known.any() else None
