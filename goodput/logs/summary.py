"""The countable facts of one log, for a look at it without a lake."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from goodput.logs.hints import LogHints
from goodput.logs.reader import LogResult, read_log
from goodput.logs.steps import median_seconds


@dataclass(frozen=True)
class LogSummary:
    """Counts of one log.

    Attributes:
        step_lines: step lines by format, each rank's repetition included.
        records: other counted lines by format: loss records, MLLOG events.
        step_count: distinct step records of the log's own format.
        median_seconds: of the time per position, over the steps that could be placed.
        checkpoint_steps: steps whose save was begun or finished, in order.
        complete_checkpoint_steps: those whose save is known to be complete.
        outcomes: of each attempt in the file; None where the log does not say.
        restored_steps: that training went on from, in order.
        run_seconds: from the begin of training to the end of the run where the log says both, else
            from the first step's start to the last one's end; None if not placed.
        last_bar: the last progress bar's position and total, such as "723/1602".
        signatures: matching lines by signature.
    """

    format: str
    lines: int
    bytes: int
    step_lines: dict[str, int]
    records: dict[str, int]
    step_count: int
    first_step: int | None
    last_step: int | None
    total_steps: int | None
    median_seconds: float | None
    checkpoint_steps: list[int]
    complete_checkpoint_steps: list[int]
    outcomes: list[str | None]
    restored_steps: list[int]
    run_seconds: float | None
    phase_seconds: dict[str, float]
    last_bar: str | None
    signatures: dict[str, int]


def summarise(source: Path | str | IO[bytes], hints: LogHints | None = None) -> LogSummary:
    """Reads a log and counts.

    Raises:
        SourceUnreachable, UsageError: as read_log.
    """
    return summary_of(read_log(source, hints))


def summary_of(result: LogResult) -> LogSummary:
    """The counts of a log that was read."""
    file, steps = result.tables["log_files"][0], result.steps
    checkpoints = [c for s in result.segments for c in s.checkpoints if c.step is not None]
    return LogSummary(
        format=result.format,
        lines=file["lines"],
        bytes=file["bytes"],
        step_lines=dict(result.step_lines),
        records=dict(result.records),
        step_count=len(steps),
        first_step=file["first_step"],
        last_step=file["last_step"],
        total_steps=file["total_steps"],
        median_seconds=median_seconds(steps),
        checkpoint_steps=sorted({c.step for c in checkpoints if c.step is not None}),
        complete_checkpoint_steps=sorted(
            {c.step for c in checkpoints if c.complete and c.step is not None}
        ),
        outcomes=[segment.outcome for segment in result.segments],
        restored_steps=[r.step for segment in result.segments for r in segment.restores],
        run_seconds=_run_seconds(result),
        phase_seconds=_phase_seconds(result),
        last_bar="{}/{}".format(*result.last_bar) if result.last_bar else None,
        signatures=_signatures(result),
    )


def _run_seconds(result: LogResult) -> float | None:
    said = [
        s.outcome_ms - s.train_start_ms
        for s in result.segments
        if s.outcome_ms is not None and s.train_start_ms is not None
    ]
    if said:
        return sum(said) / 1000
    ends, starts = result.steps.known("end_ms"), result.steps.known("start_ms")
    return int(ends.max() - starts.min()) / 1000 if len(ends) and len(starts) else None


def _phase_seconds(result: LogResult) -> dict[str, float]:
    seconds: Counter[str] = Counter()
    for segment in result.segments:
        for phase in segment.phases:
            seconds[phase.kind] += (phase.end_ms or phase.start_ms) - phase.start_ms
    return {kind: ms / 1000 for kind, ms in sorted(seconds.items())}


def _signatures(result: LogResult) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for evidence in result.evidence:
        counts[evidence.signature.id] += 1 + evidence.repeats
    return dict(sorted(counts.items()))
