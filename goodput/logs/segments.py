"""What makes up a run's history in a log: attempts with their steps, checkpoints and phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from goodput.logs.ranks import SlowRank
from goodput.logs.step_lines import NONE
from goodput.logs.steps import Step, Steps

# A pause begins this close to the end of a step when it follows it: logs show whole seconds.
_ROUNDING_MS = 1000


@dataclass(slots=True)
class Checkpoint:
    """A save: when it began, when it was durable (None: never seen), where it was said.

    `step` is as printed; `position` is the last one it covers, as steps are counted.
    """

    step: int | None
    position: int | None
    start_ms: int | None
    end_ms: int | None
    line: int
    blocking: bool
    next_record: int
    complete: bool = False
    ends_with_next_step: bool = False


@dataclass(slots=True)
class Phase:
    """A named interval that is not a step.

    Attributes:
        end_ms: None where the file ends before it; `start_ms` where the phase began in a file
            before this one, which shows its end alone.
    """

    kind: str
    start_ms: int
    end_ms: int | None
    line: int


@dataclass(slots=True)
class Restore:
    """Training went on from `step`; after steps of the same attempt, without a new process."""

    step: int
    at_ms: int | None
    line: int
    in_process: bool


@dataclass(slots=True)
class Segment:
    """One attempt inside the file."""

    index: int
    first_line: int
    reason: str
    start_ms: int | None = None
    end_ms: int | None = None
    last_line: int = 0
    outcome: str | None = None
    outcome_line: int | None = None
    outcome_ms: int | None = None
    train_start_ms: int | None = None
    resume_step: int | None = None
    planned: int | None = None
    slow_ranks: list[SlowRank] = field(default_factory=list)
    restores: list[Restore] = field(default_factory=list)
    steps: Steps = field(default_factory=Steps)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)


def settle(checkpoint: Checkpoint, following: Sequence[Step]) -> None:
    """A save that training waits for, and that never says so, was durable at the next step."""
    if checkpoint.complete or not checkpoint.ends_with_next_step or not following:
        return
    checkpoint.complete = True
    step, floor = following[0], checkpoint.start_ms
    begins_after = step.start_ms is not None and floor is not None and step.start_ms >= floor
    checkpoint.end_ms = step.start_ms if begins_after else step.end_ms


def blocked(checkpoint: Checkpoint, following: Sequence[Step]) -> Phase | None:
    """The time that training waited: until the save was durable or a step began before that."""
    start, end = checkpoint.start_ms, checkpoint.end_ms
    if not checkpoint.blocking or start is None:
        return None
    began = [s.start_ms for s in following if s.start_ms is not None and s.start_ms > start]
    end = min([ms for ms in (end, *began) if ms is not None], default=None)
    return Phase("ckpt_save", start, end, checkpoint.line) if end and end > start else None


def begin_after_phases(segment: Segment) -> None:
    """Lets a step that took over from the one before begin when the pause between them is over.

    Where the log does not measure steps, one seems to begin with the end of the one before, though
    a save or an evaluation came first.
    """
    phases, rows = sorted(segment.phases, key=lambda phase: phase.start_ms), segment.steps.rows
    if not phases or not len(rows):
        return
    starts, ends = rows["start_ms"], rows["end_ms"]
    begun = np.array([phase.start_ms for phase in phases])
    # Of the phases that did not begin before this step, or one above it.
    first = np.maximum.accumulate(np.searchsorted(begun, starts - _ROUNDING_MS))
    begun = np.append(begun, np.iinfo(np.int64).max)
    is_near = (begun[first] <= starts + _ROUNDING_MS) & (starts != NONE)
    is_near[1:] &= starts[1:] == ends[:-1]
    is_near[0] = False
    for place in np.flatnonzero(is_near).tolist():
        for phase in phases[first[place] :]:
            if phase.start_ms > starts[place] + _ROUNDING_MS or phase.end_ms is None:
                break
            if starts[place] < phase.end_ms < ends[place]:
                starts[place] = phase.end_ms
