"""Makes a run's history out of the events of its log: attempts, steps, checkpoints, phases.

Steps are placed by the time in their line; else by the time just above it; else by adding the
elapsed time to where the clock stood. Without any time they are only counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from goodput.logs.clock import Stamp
from goodput.logs.ranks import RankReports, SlowRank
from goodput.logs.scan import Event
from goodput.logs.steps import Step, StepLine, bar_start, elapsed_ms, position_of, records_of

_STATUS = {
    "success": "succeeded",
    "succeeded": "succeeded",
    "aborted": "failed",
    "failed": "failed",
}
# The same step printed by several ranks: how many records back it is recognised.
_RECENT = 64
# A run that does so many steps more after an error or an end survived it. Fewer may be what other
# ranks, or buffers, had not yet written.
SURVIVED_STEPS = 3
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
    """A named interval that is not a step."""

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
    steps: list[Step] = field(default_factory=list)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)


class Assembler:
    """Reads the events of one format and the common ones in order.

    Args:
        start: the first time in the file.
    """

    def __init__(self, start: Stamp | None) -> None:
        self.segments = [Segment(0, 1, "file start", start.ms if start else None)]
        self._now = start.ms if start else None
        self._handlers: dict[str, Callable[[Event], None]] = {
            "run_start": self._on_run_start,
            "run_end": self._on_run_end,
            "train_begin": self._on_train_begin,
            "step": self._on_step,
            "step_begin": self._on_step_begin,
            "checkpoint_begin": self._on_checkpoint_begin,
            "checkpoint_end": self._on_checkpoint_end,
            "checkpoint_saved": self._on_checkpoint_saved,
            "restore_begin": self._on_restore_begin,
            "restore_end": self._on_restore_end,
            "resume": self._on_resume,
            "phase_begin": self._on_phase_begin,
            "phase_end": self._on_phase_end,
            "plan": self._on_plan,
            **dict.fromkeys(RankReports.EVENTS, self._on_ranks),
            "clock": lambda _: None,
        }
        self._begin()

    def _begin(self) -> None:
        self._ranks = RankReports(self._segment.start_ms)
        self._rank: int | None = None
        self._raw: list[StepLine] = []
        self._recent: dict[tuple[int, int], None] = {}  # in the order in which they came
        self._step_begin: int | None = None
        self._open_phases: dict[str, tuple[int, int]] = {}
        self._ready_ms: int | None = None
        self._resume: int | None = None
        self._bar_start: int | None = None
        self._is_weak = self._is_declared = False
        self._steps_since_end = 0

    @property
    def _segment(self) -> Segment:
        return self.segments[-1]

    def take(self, event: Event) -> None:
        """Reads the next event."""
        kind = event.pattern.event
        self._handlers[kind](event)
        if event.time and kind != "step":  # a step finds out itself where the clock stands
            self._now = event.time.ms
        self._segment.last_line = event.line

    def finish(self, last_line: int, end: Stamp | None) -> list[Segment]:
        """Closes the last segment and returns all."""
        self._close(last_line, end.ms if end else self._now)
        return self.segments

    # --- attempts ---

    def _on_run_start(self, event: Event) -> None:
        if self._raw or (self._segment.outcome and not self._is_weak):
            self._next_segment(event, "start line")

    def _next_segment(self, event: Event, reason: str) -> None:
        before = event.before.ms if event.before else self._now
        self._close(event.line - 1, before)
        start = event.time.ms if event.time else None
        self.segments.append(Segment(len(self.segments), event.line, reason, start))
        self._begin()

    def _on_run_end(self, event: Event) -> None:
        outcome = event.pattern.outcome or _STATUS.get(str(event.fields.get("status", "")).lower())
        segment = self._segment
        if outcome is None or self._is_declared:
            return
        if segment.outcome is None or outcome == "succeeded" or self._is_weak:
            segment.outcome, segment.outcome_line = outcome, event.line
            segment.outcome_ms = self._at(event)
            self._is_weak = event.pattern.weak or event.is_echo
            self._steps_since_end = 0
            self._is_declared = "status" in event.fields or (
                outcome == "succeeded" and not self._is_weak
            )

    def _on_train_begin(self, event: Event) -> None:
        self._ready_ms = event.time.ms if event.time else None
        if self._segment.train_start_ms is None:
            self._segment.train_start_ms = self._at(event)

    def _on_ranks(self, event: Event) -> None:
        self._ranks.take(event, self._at(event))

    def _on_plan(self, event: Event) -> None:
        total = event.fields.get("total")
        self._segment.planned = total if isinstance(total, int) else self._segment.planned

    def _close(self, last_line: int, end_ms: int | None) -> None:
        segment = self._segment
        segment.last_line = last_line
        self._ranks.finish()
        segment.slow_ranks = self._ranks.found
        segment.steps = records_of(self._raw, segment.resume_step)
        for checkpoint in segment.checkpoints:
            _settle(checkpoint, segment.steps[checkpoint.next_record :][:1])
        ends = [s.end_ms for s in segment.steps if s.end_ms is not None]
        known = [ms for ms in (end_ms, *ends[-1:]) if ms is not None]
        segment.end_ms = max(known, default=None)
        starts = [s.start_ms for s in segment.steps if s.start_ms is not None]
        if segment.start_ms is None or (starts and starts[0] < segment.start_ms):
            segment.start_ms = starts[0] if starts else segment.start_ms
        segment.phases += [
            phase
            for checkpoint in segment.checkpoints
            if (phase := _blocked(checkpoint, segment.steps[checkpoint.next_record :][:1]))
        ]
        _begin_after_phases(segment)

    # --- steps ---

    def _on_step_begin(self, event: Event) -> None:
        if event.time and self._step_begin is None:
            self._step_begin = event.time.ms

    def _on_step(self, event: Event) -> None:
        position = position_of(event, self._raw, self._resume)
        if self._is_repetition(event, position):
            return
        last = self._raw[-1].position if self._raw else None
        if self._segment.outcome and last is not None and position <= last:
            self._next_segment(event, "steps begin again after an end")
            last = None
        self._steps_since_end += 1
        if not self._is_declared and self._steps_since_end >= SURVIVED_STEPS:
            segment = self._segment
            segment.outcome = segment.outcome_line = segment.outcome_ms = None
        begin = self._step_begin
        if begin is None and (last is None or position <= last):
            begin = self._ready_ms
        step = StepLine(
            position,
            event,
            begin,
            self._step_begin is not None,
            self._resume,
            self._bar_start,
            self._now,
        )
        if event.pattern.covers == "bar" and (last is None or position < last):
            step.bar_start = self._bar_start = bar_start(event, self._now)
        self._raw.append(step)
        self._step_begin = self._resume = None
        self._now = step.settle(self._raw[-2] if len(self._raw) > 1 else None)

    def _is_repetition(self, event: Event, position: int) -> bool:
        """Whether another rank printed this, or the same text was just seen."""
        if self._rank is None:
            self._rank = event.rank
        if event.rank is not None and event.rank != self._rank:
            return True
        key = (position, event.digest)
        if key in self._recent or (self._raw and self._raw[-1].position == position):
            return True
        if len(self._recent) == _RECENT:
            del self._recent[next(iter(self._recent))]
        self._recent[key] = None
        return False

    # --- checkpoints and restores ---

    def _on_checkpoint_begin(self, event: Event) -> None:
        step = self._step_of(event)
        if any(c.step == step and not c.complete for c in self._segment.checkpoints[-4:]):
            return  # another rank says so, too
        self._add_checkpoint(event, step, self._at(event), None)

    def _add_checkpoint(
        self, event: Event, step: int | None, start_ms: int | None, end_ms: int | None
    ) -> None:
        pattern = event.pattern
        is_begin = pattern.event == "checkpoint_begin"
        self._segment.checkpoints.append(
            Checkpoint(
                step,
                None if step is None else step + pattern.covers_offset,
                start_ms,
                end_ms,
                event.line,
                blocking=is_begin and pattern.blocking,
                next_record=len(self._raw),
                complete=not is_begin,
                ends_with_next_step=pattern.commit == "next_step",
            )
        )

    def _on_checkpoint_end(self, event: Event) -> None:
        step = self._step_of(event) if "step" in event.fields else None
        for checkpoint in reversed(self._segment.checkpoints):
            if step is None or checkpoint.step == step:
                if not checkpoint.complete:
                    checkpoint.complete, checkpoint.end_ms = True, self._at(event)
                return
        self._on_checkpoint_saved(event)

    def _on_checkpoint_saved(self, event: Event) -> None:
        at, elapsed = self._at(event), elapsed_ms(event) or 0
        step = self._step_of(event)
        if not any(c.step == step for c in self._segment.checkpoints[-4:]):
            self._add_checkpoint(event, step, None if at is None else at - elapsed, at)

    def _on_restore_begin(self, event: Event) -> None:
        self._open_phase("restore", event)
        self._on_resume(event)

    def _on_restore_end(self, event: Event) -> None:
        self._close_phase("restore", event)
        self._on_resume(event)

    def _on_resume(self, event: Event) -> None:
        self._ready_ms = event.time.ms if event.time else self._ready_ms
        if "step" not in event.fields:
            return
        step = self._step_of(event)
        if step and step != self._resume:
            restore = Restore(step, self._at(event), event.line, bool(self._raw))
            self._segment.restores.append(restore)
        self._resume = step
        if not self._raw:
            self._segment.resume_step = step

    def _step_of(self, event: Event) -> int | None:
        step = event.fields.get("step")
        if isinstance(step, int):
            return step + event.pattern.offset
        return self._raw[-1].position if self._raw else None

    # --- phases ---

    def _on_phase_begin(self, event: Event) -> None:
        self._open_phase(event.pattern.phase, event)

    def _on_phase_end(self, event: Event) -> None:
        self._close_phase(event.pattern.phase, event)

    def _open_phase(self, kind: str, event: Event) -> None:
        at = self._at(event)
        if at is not None and kind not in self._open_phases:
            self._open_phases[kind] = (at, event.line)

    def _close_phase(self, kind: str, event: Event) -> None:
        opened = self._open_phases.pop(kind, None)
        elapsed, time = elapsed_ms(event), event.time
        if time is None and elapsed is not None and self._now is not None:
            opened = (self._now, event.line)
            self._now += elapsed
        end = time.ms if time else self._now
        if opened is None and elapsed is not None and end is not None:
            opened = (end - elapsed, event.line)
        if opened is not None and end is not None and end > opened[0]:
            self._segment.phases.append(Phase(kind, opened[0], end, opened[1]))

    def _at(self, event: Event) -> int | None:
        return event.time.ms if event.time else self._now


def _settle(checkpoint: Checkpoint, following: Sequence[Step]) -> None:
    """A save that training waits for, and that never says so, was durable at the next step."""
    if checkpoint.complete or not checkpoint.ends_with_next_step or not following:
        return
    checkpoint.complete = True
    step, floor = following[0], checkpoint.start_ms
    begins_after = step.start_ms is not None and floor is not None and step.start_ms >= floor
    checkpoint.end_ms = step.start_ms if begins_after else step.end_ms


def _blocked(checkpoint: Checkpoint, following: Sequence[Step]) -> Phase | None:
    """The time that training waited: until the save was durable or a step began before that."""
    start, end = checkpoint.start_ms, checkpoint.end_ms
    if not checkpoint.blocking or start is None:
        return None
    began = [s.start_ms for s in following if s.start_ms is not None and s.start_ms > start]
    end = min([ms for ms in (end, *began) if ms is not None], default=None)
    return Phase("ckpt_save", start, end, checkpoint.line) if end and end > start else None


def _begin_after_phases(segment: Segment) -> None:
    """Lets a step that took over from the one before begin when the pause between them is over.

    Where the log does not measure steps, one seems to begin with the end of the one before, though
    a save or an evaluation came first.
    """
    phases = sorted(segment.phases, key=lambda phase: phase.start_ms)
    place = 0
    for before, step in pairwise(segment.steps):
        if step.start_ms is None or step.end_ms is None or step.start_ms != before.end_ms:
            continue
        while place < len(phases) and phases[place].start_ms < step.start_ms - _ROUNDING_MS:
            place += 1
        for phase in phases[place:]:
            if phase.start_ms > step.start_ms + _ROUNDING_MS or phase.end_ms is None:
                break
            if step.start_ms < phase.end_ms < step.end_ms:
                step.start_ms = phase.end_ms


def assemble(
    events: Sequence[Event], *, start: Stamp | None, end: Stamp | None, last_line: int
) -> list[Segment]:
    """The attempts in a log.

    Args:
        events: of the log's format and the common ones, in file order.
        start: the first time in the file.
        end: the last time in the file.
        last_line: number of the last line.
    """
    assembler = Assembler(start)
    for event in events:
        assembler.take(event)
    return assembler.finish(last_line, end)
