"""Step lines of a log as records in time: positions first..last over [start, end)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median_low

from goodput.logs.scan import Event

# A time above the line may be this much of a step older than the step's end and still be it.
_TOLERANCE = 10
# A longer time is no time that a run could measure.
_MAX_ELAPSED_MS = 10 * 366 * 86_400_000


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


@dataclass(slots=True)
class StepLine:
    """A step line before its neighbours are known."""

    position: int
    event: Event
    begin_ms: int | None
    is_begin_exact: bool
    resume: int | None
    bar_start: int | None
    now: int | None
    end_ms: int | None = None
    basis: str = "none"
    elapsed_ms: int | None = field(init=False)

    def __post_init__(self) -> None:
        self.elapsed_ms = elapsed_ms(self.event)

    def settle(self, before: StepLine | None) -> int | None:
        """Finds when the step ended, and returns where the clock now stands."""
        event, fresh = self.event, self.event.fresh
        if event.stamp:
            self.end_ms, self.basis = event.stamp.ms, "line"
            return self.end_ms
        due = self._due(before)
        if self.bar_start is not None and event.pattern.covers == "bar":
            self.end_ms, self.basis = self.bar_start + (self.elapsed_ms or 0), "elapsed"
        elif fresh and (due is None or fresh.ms >= due - self._duration(before) // _TOLERANCE):
            self.end_ms, self.basis = fresh.ms, "above"
        elif due is not None:
            self.end_ms, self.basis = due, "elapsed"
        elif self.now is not None:
            self.end_ms, self.basis = self.now, "carried"
        return self.end_ms if self.end_ms is not None else self.now

    def _duration(self, before: StepLine | None) -> int:
        elapsed = self.elapsed_ms or 0
        count = self.position - before.position if before and before.position < self.position else 1
        duration = elapsed * (count if self.event.pattern.covers == "iteration" else 1)
        return min(duration, _MAX_ELAPSED_MS)

    def _due(self, before: StepLine | None) -> int | None:
        if self.now is None or self.elapsed_ms is None:
            return None
        return self.now + self._duration(before)


def median_seconds(steps: Sequence[Step]) -> float | None:
    """The median time per position, over the steps that show one; None if none does."""
    befores: list[Step | None] = [None, *steps[:-1]]
    paces = (_pace(step, before) for step, before in zip(steps, befores, strict=False))
    times = [pace for pace in paces if pace is not None]
    return median_low(times) if times else None


def _pace(step: Step, before: Step | None) -> float | None:
    """Seconds per position of a step: by its place in time, else by what it says took so long."""
    if step.start_ms is not None and step.end_ms is not None:
        return (step.end_ms - step.start_ms) / (step.last - step.first + 1) / 1000
    if step.elapsed_ms is None:
        return None
    if not step.is_bar:
        return step.elapsed_ms / 1000
    if before is None or before.elapsed_ms is None or before.last >= step.last:
        return None  # a bar tells the time since it began
    return (step.elapsed_ms - before.elapsed_ms) / (step.last - before.last) / 1000


def position_of(event: Event, done: Sequence[StepLine], resume: int | None) -> int:
    """What the line says, or the count of such lines after the step resumed from."""
    fields = event.fields
    if "step" in fields:
        epochs = fields.get("epoch", 0) * fields.get("epoch_size", 0)
        return int(fields["step"] + event.pattern.offset + epochs)
    if resume is not None:
        return resume + 1
    return done[-1].position + 1 if done else 1


def bar_start(event: Event, now: int | None) -> int | None:
    """When the progress bar of an update began, in UTC ms."""
    if event.stamp:
        return event.stamp.ms - (elapsed_ms(event) or 0)
    return event.fresh.ms if event.fresh else now


def elapsed_ms(event: Event) -> int | None:
    """The elapsed time that the line prints, in whole milliseconds."""
    value = event.fields.get("elapsed")
    if value is None:
        return None
    if isinstance(value, str):
        seconds = 0
        for part in value.split(":"):
            seconds = seconds * 60 + int(part or 0)
        ms: float = seconds * 1000
    else:
        ms = value * (1 if event.fields.get("unit", event.pattern.unit) == "ms" else 1000)
    return round(ms) if ms < _MAX_ELAPSED_MS else None


def _stride(raw: Sequence[StepLine]) -> int:
    """How many positions a line usually covers: the most frequent difference."""
    counts = Counter(b.position - a.position for a, b in pairwise(raw) if b.position > a.position)
    return min(counts, key=lambda k: (-counts[k], k)) if counts else 1


def records_of(raw: Sequence[StepLine], resumed_from: int | None) -> list[Step]:
    """The step lines of one attempt, in file order, as records.

    Args:
        raw: settled lines.
        resumed_from: the step that the attempt resumed from.
    """
    stride = _stride(raw)
    records: list[Step] = []
    before: Step | None = None
    for step in raw:
        before = _record(step, before, stride, resumed_from)
        records.append(before)
    _estimate_starts(records)
    return records


def _estimate_starts(records: Sequence[Step]) -> None:
    """Lets a record that nothing says the start of take as long as the others usually do.

    The first step is often slower; what it takes longer is start-up.
    """
    paces = [
        (step.end_ms - step.start_ms) // (step.last - step.first + 1)
        for step in records
        if step.start_ms is not None and step.end_ms is not None
    ]
    if not paces:
        return
    pace = median_low(paces)
    for step in records:
        if step.start_ms is None and step.end_ms is not None:
            step.start_ms = step.end_ms - min(pace * (step.last - step.first + 1), _MAX_ELAPSED_MS)


def _record(step: StepLine, before: Step | None, stride: int, resumed_from: int | None) -> Step:
    event, last = step.event, step.position
    said = event.fields.get("first")
    follows = before is not None and before.last < last
    if follows and before is not None:
        bar = event.pattern.covers == "bar"
        first = before.last + 1 if bar else max(last - stride + 1, before.last + 1)
    else:
        base = step.resume if step.resume is not None else resumed_from
        lowest = min(last, 1) if before is None else 0
        floor = base + 1 if base is not None and base < last else lowest
        first = max(last - stride + 1, floor) if said is None else min(said, last)
    return Step(
        first=first,
        last=last,
        start_ms=_start(step, before if follows else None, last - first + 1),
        end_ms=step.end_ms,
        basis=step.basis,
        line=event.line,
        total=event.fields.get("total"),
        samples=event.fields.get("samples"),
        tokens=event.fields.get("tokens"),
        elapsed_ms=step.elapsed_ms,
        is_bar=event.pattern.covers == "bar",
    )


def _start(step: StepLine, before: Step | None, count: int) -> int | None:
    end, pattern = step.end_ms, step.event.pattern
    if end is None:
        return None
    floor = before.end_ms if before else None
    said = step.begin_ms if step.begin_ms is not None and step.begin_ms <= end else None
    if said is not None and step.is_begin_exact:
        return said
    elapsed = step.elapsed_ms
    if elapsed is None or pattern.covers == "bar" or (pattern.covers == "last" and count > 1):
        start = floor if floor is not None else said
    else:
        start = end - min(elapsed * count, _MAX_ELAPSED_MS)
        if floor is not None and start - floor < _resolution(step):
            start = floor  # a gap below what the clock can show is none
    if start is not None and floor is not None:
        start = max(start, min(floor, end))
    return None if start is None else min(start, end)  # the clock of the log may have gone back


def _resolution(step: StepLine) -> int:
    time = step.event.time
    return time.resolution_ms if time else 1
