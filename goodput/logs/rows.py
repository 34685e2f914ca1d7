"""Turns what was found in a log into rows of the raw tables of sql/00_raw/06x_log_*.sql."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, overload

import numpy as np

from goodput.logs.events import Evidence
from goodput.logs.hints import LogHints
from goodput.logs.paths import facts_of_path, stem_of_path, stream_of_path
from goodput.logs.reading import BlockReader, Flaw
from goodput.logs.scan import Scanner
from goodput.logs.segments import Segment
from goodput.logs.step_lines import NONE
from goodput.logs.steps import BASES, Steps

Row = dict[str, Any]

_MAX_DIGITS = 10
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class StepRows(Sequence[Row]):
    """Rows of raw.log_steps as columns: there are as many as step lines.

    Attributes:
        cluster, log_id: of all of them.
    """

    def __init__(self, cluster: str, log_id: str, segments: Sequence[Segment]) -> None:
        """Takes the steps that are placed in time."""
        self.cluster, self.log_id = cluster, log_id
        steps = Steps.joined(segment.steps for segment in segments).rows
        counts = [len(segment.steps) for segment in segments]
        is_placed = steps["end_ms"] != NONE
        self._steps = steps if is_placed.all() else np.compress(is_placed, steps)
        self._segment = np.repeat([segment.index for segment in segments], counts)[is_placed]

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            return list(self._rows(place))
        number = range(len(self))[place]
        return next(self._rows(slice(number, number + 1)))

    def __iter__(self) -> Iterator[Row]:
        return self._rows(slice(None))

    def _rows(self, part: slice) -> Iterator[Row]:
        columns = {name: values[part].tolist() for name, values in self.columns().items()}
        for name in ("started_at", "ended_at"):
            columns[name] = [_at(ms) for ms in columns[name]]
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(columns, values, strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def columns(self) -> dict[str, Any]:
        """Arrays by column, masked where nothing is known; instants in UTC ms."""
        steps, size = self._steps, len(self)
        known = {
            name: np.ma.masked_equal(steps[name], NONE, copy=False)
            for name in ("start_ms", "elapsed_ms", "samples", "tokens")
        }
        return {
            # np.full takes ten times as long for objects.
            "cluster": np.repeat(np.array([self.cluster], np.object_), size),
            "log_id": np.repeat(np.array([self.log_id], np.object_), size),
            "segment": self._segment,
            "first": steps["first"],
            "last": steps["last"],
            "started_at": known["start_ms"],
            "ended_at": steps["end_ms"],
            "basis": np.array(BASES, np.object_)[steps["basis"]],
            "elapsed_ms": known["elapsed_ms"],
            "samples": known["samples"],
            "tokens": known["tokens"],
            "line": steps["line"],
        }


@dataclass(frozen=True)
class LogRows:
    """Turns what was found into rows of the raw tables."""

    hints: LogHints
    path: str
    log_id: str
    format: str
    scanner: Scanner
    reader: BlockReader
    segments: list[Segment]

    def tables(self) -> dict[str, Sequence[Row]]:
        """Rows of the raw log tables, by table."""
        return {
            "log_files": [self._file()],
            "log_segments": [self._segment(s) for s in self.segments],
            "log_steps": StepRows(self.hints.cluster, self.log_id, self.segments),
            "log_phases": [
                self._row(
                    segment=s.index,
                    kind=p.kind,
                    started_at=_at(p.start_ms),
                    ended_at=_at(p.end_ms),
                    line=p.line,
                )
                for s in self.segments
                for p in s.phases
            ],
            "log_checkpoints": [
                self._row(
                    segment=s.index,
                    step=c.step,
                    position=c.position,
                    began_at=_at(c.start_ms),
                    committed_at=_at(c.end_ms),
                    complete=c.complete,
                    blocking=c.blocking,
                    line=c.line,
                )
                for s in self.segments
                for c in s.checkpoints
            ],
            "log_evidence": [self._evidence(e) for e in self.scanner.evidence],
            "log_slow_ranks": [
                self._row(
                    segment=s.index,
                    rank=r.rank,
                    node=r.node,
                    excess=r.excess,
                    started_at=_at(r.start_ms),
                    reported_at=_at(r.end_ms),
                    reports=r.reports,
                    line=r.line,
                )
                for s in self.segments
                for r in s.slow_ranks
            ],
            "log_restores": [
                self._row(
                    segment=s.index,
                    step=r.step,
                    restored_at=_at(r.at_ms),
                    in_process=r.in_process,
                    line=r.line,
                )
                for s in self.segments
                for r in s.restores
            ],
        }

    def quarantine(self) -> list[Row]:
        """Rows of raw.quarantine."""
        rows = [self._flaw(flaw) for flaw in self.reader.flaws]
        steps = Steps.joined(s.steps for s in self.segments)
        if not self.reader.size:
            rows.append(self._flaw(Flaw(0, "", "", "the log is empty")))
        elif steps and not len(steps.known("end_ms")):
            reason = (
                "the step lines cannot be placed in time, for the log has no times; collect it "
                "with `kubectl logs --timestamps`, or let the framework or launcher print them"
            )
            value = f"{len(steps)} steps, {steps[0].last} to {steps[-1].last}"
            rows.append(self._flaw(Flaw(steps[0].line, "ended_at", value, reason)))
        return rows

    def _flaw(self, flaw: Flaw) -> Row:
        return {
            "cluster": self.hints.cluster,
            "file": self.path,
            "row_number": flaw.line,
            "table_name": "log_steps" if flaw.column == "ended_at" else "log_files",
            "column_name": flaw.column or None,
            "value": flaw.value or None,
            "reason": flaw.reason,
        }

    def _row(self, **columns: Any) -> Row:
        return {"cluster": self.hints.cluster, "log_id": self.log_id, **columns}

    def _file(self) -> Row:
        facts, hints = facts_of_path(self.path), self.hints
        steps = Steps.joined(s.steps for s in self.segments)
        totals = steps.known("total")[-1:].tolist()
        return self._row(
            path=self.path,
            stream=stream_of_path(self.path),
            name=stem_of_path(self.path),
            format=self.format,
            lines=self.reader.lines,
            bytes=self.reader.size,
            tz=hints.tz,
            tz_assumed=self.scanner.clock.assumed_utc,
            first_at=_at(self.scanner.first_ms),
            last_at=_at(self.scanner.last_ms),
            step_records=len(steps),
            placed_records=len(steps.known("end_ms")),
            first_step=steps[0].last if steps else None,
            last_step=steps[-1].last if steps else None,
            total_steps=totals[0] if totals else None,
            namespace=hints.namespace or facts.get("namespace"),
            pod=hints.pod or facts.get("pod"),
            pod_uid=hints.pod_uid or facts.get("pod_uid"),
            container=hints.container or facts.get("container"),
            node=hints.node or facts.get("node"),
            job=hints.job,
            attempt=hints.attempt,
            rank=hints.rank if hints.rank is not None else _integer(facts.get("rank")),
            path_job=facts.get("job"),
            path_attempt=_integer(facts.get("attempt")),
        )

    def _segment(self, segment: Segment) -> Row:
        steps = segment.steps
        return self._row(
            segment=segment.index,
            reason=segment.reason,
            first_line=segment.first_line,
            last_line=segment.last_line,
            started_at=_at(segment.start_ms),
            ended_at=_at(segment.end_ms),
            step_records=len(steps),
            first_step=steps[0].first if steps else None,
            last_step=steps[-1].last if steps else None,
            resume_step=segment.resume_step,
            outcome=segment.outcome,
            outcome_line=segment.outcome_line,
        )

    def _evidence(self, evidence: Evidence) -> Row:
        signature = evidence.signature
        return self._row(
            segment=self._segment_at(evidence.line),
            observed_at=_at(evidence.stamp.ms if evidence.stamp else None),
            source=signature.evidence_source,
            value=evidence.code or evidence.text,
            signature=signature.id,
            text=evidence.text,
            rank=evidence.rank,
            repeats=evidence.repeats,
            line=evidence.line,
            byte_offset=evidence.offset,
        )

    def _segment_at(self, line: int) -> int:
        return max((s.index for s in self.segments if s.first_line <= line), default=0)


def _at(ms: int | None) -> datetime | None:
    if ms is None:
        return None
    return _EPOCH + timedelta(milliseconds=ms)


def _integer(text: str | None) -> int | None:
    return int(text) if text is not None and len(text) < _MAX_DIGITS else None
