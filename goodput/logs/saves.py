"""The checkpoints of one attempt, from what its log says of saves that begin and end."""

from __future__ import annotations

from dataclasses import dataclass

from goodput.logs.events import Event
from goodput.logs.segments import Checkpoint
from goodput.logs.step_lines import elapsed_ms

# Several ranks say the same: so many checkpoints back it is recognised.
_RECENT = 4


@dataclass(frozen=True, slots=True)
class Save:
    """What an event says of a save.

    Attributes:
        step: of the checkpoint; that of the last step where the event names none.
        at_ms: when.
        next_record: how many step records came before.
    """

    event: Event
    step: int | None
    at_ms: int | None
    next_record: int


def begin_save(checkpoints: list[Checkpoint], save: Save) -> None:
    """Adds the checkpoint that begins to be written, unless another rank said so."""
    if not any(c.step == save.step and not c.complete for c in checkpoints[-_RECENT:]):
        checkpoints.append(_checkpoint(save, save.at_ms, None))


def end_save(checkpoints: list[Checkpoint], save: Save) -> bool:
    """Completes the checkpoint of the event's step, else the last one; whether there was one."""
    is_any = "step" not in save.event.fields
    for checkpoint in reversed(checkpoints):
        if is_any or checkpoint.step == save.step:
            if not checkpoint.complete:
                checkpoint.complete, checkpoint.end_ms = True, save.at_ms
            return True
    return False


def add_saved(checkpoints: list[Checkpoint], save: Save) -> None:
    """Adds a checkpoint that is complete, unless another rank said so."""
    if any(c.step == save.step for c in checkpoints[-_RECENT:]):
        return
    took = elapsed_ms(save.event.fields, save.event.pattern.unit) or 0
    start = None if save.at_ms is None else save.at_ms - took
    checkpoints.append(_checkpoint(save, start, save.at_ms))


def _checkpoint(save: Save, start_ms: int | None, end_ms: int | None) -> Checkpoint:
    pattern, step = save.event.pattern, save.step
    is_begin = pattern.event == "checkpoint_begin"
    return Checkpoint(
        step,
        None if step is None else step + pattern.covers_offset,
        start_ms,
        end_ms,
        save.event.line,
        blocking=is_begin and pattern.blocking,
        next_record=save.next_record,
        complete=not is_begin,
        ends_with_next_step=pattern.commit == "next_step",
    )
