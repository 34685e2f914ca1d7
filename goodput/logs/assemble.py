"""Makes a run's history out of the events of its log: attempts, steps, checkpoints, phases.

Steps are placed by the time in their line; else by the time just above it; else by adding the
elapsed time to where the clock stood. Without any time they are only counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from goodput.logs.events import Event
from goodput.logs.phases import OpenPhases
from goodput.logs.ranks import RankReports, RecentSteps
from goodput.logs.saves import Save, add_saved, begin_save, end_save
from goodput.logs.segments import (
    Phase,
    Restore,
    Segment,
    begin_after_phases,
    blocked,
    settle,
)
from goodput.logs.step_lines import BAR, COVERS, NONE, Lines, StepLine, elapsed_ms, lines_at
from goodput.logs.steps import StepRun, Timing, end_of, ends_of, records_of

_STATUS = {
    "success": "succeeded",
    "succeeded": "succeeded",
    "aborted": "failed",
    "failed": "failed",
}
# A run that does so many steps more after an error or an end survived it. Fewer may be what other
# ranks, or buffers, had not yet written.
SURVIVED_STEPS = 3


class Assembler:
    """Reads the events of one format and the common ones in order.

    Args:
        lines: the step lines of the log.
        start_ms: the first time in the file.
    """

    def __init__(self, lines: Lines, start_ms: int | None) -> None:
        self.segments = [Segment(0, 1, "file start", start_ms)]
        self._lines = lines
        self._now = start_ms
        self._phases = OpenPhases({})
        self._handlers: dict[str, Callable[[Event], None]] = {
            "run_start": self._on_run_start,
            "run_end": self._on_run_end,
            "train_begin": self._on_train_begin,
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
        self._run = StepRun()
        self._recent = RecentSteps()
        self._step_begin: int | None = None
        self._phases = OpenPhases(self._phases.early_ends)
        self._ready_ms: int | None = None
        self._resume: int | None = None
        self._bar_start: int | None = None
        self._is_weak = self._is_declared = self._is_final = False
        self._steps_since_end = 0

    @property
    def _segment(self) -> Segment:
        return self.segments[-1]

    def take(self, event: Event) -> None:
        """Reads the next event."""
        self._handlers[event.pattern.event](event)
        if event.time:
            self._now = event.time.ms

    def finish(self, last_line: int, end_ms: int | None) -> list[Segment]:
        """Closes the last segment and returns all."""
        self._close(last_line, self._now if end_ms is None else end_ms)
        self._segment.phases += self._late_begins()
        self.segments[0].phases += self._phases.early_ends.values()
        return self.segments

    # --- attempts ---

    def _on_run_start(self, event: Event) -> None:
        if self._run.places or (self._segment.outcome and not self._is_weak):
            start = event.time.ms if event.time else None
            self._next_segment("start line", event.line, event.before_ms, start)

    def _next_segment(
        self, reason: str, line: int, before_ms: int | None, start_ms: int | None
    ) -> None:
        self._close(line - 1, self._now if before_ms is None else before_ms)
        self.segments.append(Segment(len(self.segments), line, reason, start_ms))
        self._begin()

    def _on_run_end(self, event: Event) -> None:
        outcome = event.pattern.outcome or _STATUS.get(str(event.fields.get("status", "")).lower())
        segment = self._segment
        if outcome is None or self._is_declared:
            return
        is_weak = event.pattern.weak or event.is_echo
        # What is only probable holds against what is no surer, unless it was a success.
        gives_way = self._is_weak and (not is_weak or segment.outcome == "succeeded")
        if segment.outcome is None or outcome == "succeeded" or gives_way:
            segment.outcome, segment.outcome_line = outcome, event.line
            segment.outcome_ms = self._at(event)
            self._is_weak, self._is_final = is_weak, event.pattern.final and not is_weak
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
        steps = segment.steps = records_of(self._lines, self._run, segment.resume_step)
        for checkpoint in segment.checkpoints:
            settle(checkpoint, steps[checkpoint.next_record :][:1])
        known = [ms for ms in (end_ms, *steps.known("end_ms")[-1:].tolist()) if ms is not None]
        segment.end_ms = max(known, default=None)
        starts = steps.known("start_ms")[:1].tolist()
        if segment.start_ms is None or (starts and starts[0] < segment.start_ms):
            segment.start_ms = starts[0] if starts else segment.start_ms
        segment.phases += [
            phase
            for checkpoint in segment.checkpoints
            if (phase := blocked(checkpoint, steps[checkpoint.next_record :][:1]))
        ]
        begin_after_phases(segment)

    # --- steps ---

    def _on_step_begin(self, event: Event) -> None:
        if event.time and self._step_begin is None:
            self._step_begin = event.time.ms

    def take_steps(self, begin: int, end: int) -> None:
        """Reads the step lines of these places: no event is between them."""
        while begin < end:
            begin = self._take_attempt(begin, end)

    def _take_attempt(self, begin: int, end: int) -> int:
        """Reads step lines up to the first of another attempt; returns the place behind that."""
        places, attempts = self._of_one_rank(np.arange(begin, end)), len(self.segments)
        positions = lines_at(self._lines, places)["position"]
        grows = np.append(np.diff(positions) > 0, False)
        stops = (np.flatnonzero(~grows) + 1).tolist()
        start = 0
        for stop in stops if len(places) else ():
            while start < stop and not self._take_growing(
                places[start:stop], positions[start:stop]
            ):
                place = int(places[start])
                self._take_step(place)
                if len(self.segments) > attempts:
                    return place + 1
                start += 1
            start = stop
        return end

    def _of_one_rank(self, places: Any) -> Any:
        """Of some step lines those of the rank that the attempt is told by."""
        ranks = lines_at(self._lines, places)["rank"]
        if self._rank is None and (known := ranks[ranks != NONE]).size:
            self._rank = int(known[0])
        return places if self._rank is None else places[(ranks == NONE) | (ranks == self._rank)]

    def _take_growing(self, places: Any, positions: Any) -> bool:
        """Reads lines whose positions grow, all at once; not if the first is to be looked at.

        It may repeat something, begin again, or end a pause.
        """
        run = self._run
        if not run.places or self._step_begin is not None or self._resume is not None:
            return False
        if positions[0] <= self._recent.newest(run.positions[-1]):
            return False
        lines = lines_at(self._lines, places)
        counts = np.diff(positions, prepend=run.positions[-1])
        placed = ends_of(lines, counts, self._now, self._bar_start)
        if placed is None:
            for place in places.tolist():
                self._take_step(place)
            return True
        ends, basis = placed
        run.add_all(places, positions, ends, basis)
        self._now = self._now if ends[-1] == NONE else int(ends[-1])
        self._recent.note_lines(lines)
        self._note_survival(len(places))
        return True

    def _take_step(self, place: int) -> None:
        step, run = StepLine(*self._lines[place].tolist()), self._run
        position = self._position_of(step)
        if self._is_repetition(step, position):
            return
        last = run.positions[-1] if run.positions else None
        stamp, fresh = _known(step.stamp_ms), _known(step.fresh_ms)
        if self._segment.outcome and last is not None and position <= last:
            start = fresh if stamp is None else stamp
            self._next_segment(
                "steps begin again after an end", step.line, _known(step.before_ms), start
            )
            last, run = None, self._run
        self._note_survival(1)
        number = len(run.places)
        if self._step_begin is not None:
            run.begins[number] = (self._step_begin, True)
        elif self._ready_ms is not None and (last is None or position <= last):
            run.begins[number] = (self._ready_ms, False)
        if self._resume is not None:
            run.resumes[number] = self._resume
        elapsed, covers = _known(step.elapsed_ms), COVERS[step.covers]
        if step.covers == BAR and (last is None or position < last):
            self._bar_start = self._now if fresh is None else fresh
            if stamp is not None:
                self._bar_start = stamp - (elapsed or 0)
        count = position - last if last is not None and last < position else 1
        timing = Timing(stamp, fresh, elapsed, covers, self._now, count, self._bar_start)
        end, basis = end_of(timing)
        run.add(place, position, NONE if end is None else end, basis)
        self._step_begin = self._resume = None
        self._now = self._now if end is None else end

    def _note_survival(self, steps: int) -> None:
        self._steps_since_end += steps
        holds = self._is_declared or self._is_final
        if not holds and self._steps_since_end >= SURVIVED_STEPS:
            segment = self._segment
            segment.outcome = segment.outcome_line = segment.outcome_ms = None

    def _position_of(self, step: StepLine) -> int:
        """What the line says, or the count of such lines after the step resumed from."""
        if step.position != NONE:
            return step.position
        if self._resume is not None:
            return self._resume + 1
        return self._run.positions[-1] + 1 if self._run.positions else 1

    def _is_repetition(self, step: StepLine, position: int) -> bool:
        """Whether the same text, or the same step, was just seen: several ranks print it."""
        key = (position, step.digest)
        is_last = bool(self._run.positions) and self._run.positions[-1] == position
        if is_last or key in self._recent:
            return True
        self._recent.note([key])
        return False

    # --- checkpoints and restores ---

    def _save(self, event: Event) -> Save:
        return Save(event, self._step_of(event), self._at(event), len(self._run.places))

    def _on_checkpoint_begin(self, event: Event) -> None:
        begin_save(self._segment.checkpoints, self._save(event))

    def _on_checkpoint_end(self, event: Event) -> None:
        if not end_save(self._segment.checkpoints, self._save(event)):
            if not self._segment.checkpoints:
                self._note_early_end("ckpt_save", event)
            self._on_checkpoint_saved(event)

    def _on_checkpoint_saved(self, event: Event) -> None:
        add_saved(self._segment.checkpoints, self._save(event))

    def _on_restore_begin(self, event: Event) -> None:
        self._begin_phase("restore", event)
        self._on_resume(event)

    def _on_restore_end(self, event: Event) -> None:
        self._end_phase("restore", event)
        self._on_resume(event)

    def _on_resume(self, event: Event) -> None:
        self._ready_ms = event.time.ms if event.time else self._ready_ms
        if "step" not in event.fields:
            return
        step = self._step_of(event)
        if step and step != self._resume:
            restore = Restore(step, self._at(event), event.line, bool(self._run.places))
            self._segment.restores.append(restore)
        self._resume = step
        if not self._run.places:
            self._segment.resume_step = step

    def _step_of(self, event: Event) -> int | None:
        step = event.fields.get("step")
        if isinstance(step, int):
            return step + event.pattern.offset
        return self._run.positions[-1] if self._run.positions else None

    # --- phases ---

    def _on_phase_begin(self, event: Event) -> None:
        self._begin_phase(event.pattern.phase, event)

    def _on_phase_end(self, event: Event) -> None:
        self._end_phase(event.pattern.phase, event)

    def _begin_phase(self, kind: str, event: Event) -> None:
        self._phases.begin(kind, self._at(event), event.line, len(self._run.places))

    def _end_phase(self, kind: str, event: Event) -> None:
        elapsed = _elapsed_ms(event)
        if event.time is None and elapsed is not None and self._now is not None:
            self._phases.forget(kind)
            self._now += elapsed
        ended, is_begin_known = self._phases.end(kind, self._at(event), event.line, elapsed)
        if ended is not None:
            self._segment.phases.append(ended)
        if not is_begin_known:
            self._note_early_end(kind, event)

    def _note_early_end(self, kind: str, event: Event) -> None:
        if len(self.segments) == 1 and not self._run.places and not self._segment.phases:
            self._phases.note_early_end(kind, self._at(event), event.line)

    def _late_begins(self) -> Iterator[Phase]:
        """Phases that may end in the file after this one: no step has come since they began."""
        yield from self._phases.late_begins(len(self._run.places))
        for save in self._segment.checkpoints[-1:]:
            is_open = (
                save.blocking and not save.complete and save.next_record == len(self._run.places)
            )
            if is_open and save.start_ms is not None:
                yield Phase("ckpt_save", save.start_ms, None, save.line)

    def _at(self, event: Event) -> int | None:
        return event.time.ms if event.time else self._now


def _known(value: int) -> int | None:
    return None if value == NONE else value


def _elapsed_ms(event: Event) -> int | None:
    return elapsed_ms(event.fields, event.pattern.unit)


def assemble(
    events: Sequence[Event],
    lines: Lines,
    *,
    start_ms: int | None,
    end_ms: int | None,
    last_line: int,
) -> list[Segment]:
    """The attempts in a log.

    Args:
        events: of the log's format and the common ones, in file order.
        lines: of its steps, in file order.
        start_ms: the first time in the file.
        end_ms: the last time in the file.
        last_line: number of the last line.
    """
    assembler = Assembler(lines, start_ms)
    done = 0
    # What else the line of a step says comes before the step.
    cuts = np.searchsorted(lines["offset"], [event.offset for event in events]).tolist()
    for event, cut in zip(events, cuts, strict=True):
        assembler.take_steps(done, cut)
        assembler.take(event)
        done = cut
    assembler.take_steps(done, len(lines))
    return assembler.finish(last_line, end_ms)
