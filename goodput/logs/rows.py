"""Turns what was found in a log into rows of the raw tables of sql/00_raw/06x_log_*.sql."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from goodput.logs.assemble import Segment
from goodput.logs.hints import LogHints
from goodput.logs.paths import facts_of_path, stem_of_path, stream_of_path
from goodput.logs.reading import BlockReader, Flaw
from goodput.logs.scan import Evidence, Scanner
from goodput.logs.steps import Step

Row = dict[str, Any]

_MAX_DIGITS = 10
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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

    def tables(self) -> dict[str, list[Row]]:
        """Rows of the raw log tables, by table."""
        return {
            "log_files": [self._file()],
            "log_segments": [self._segment(s) for s in self.segments],
            "log_steps": [
                self._step(s, step)
                for s in self.segments
                for step in s.steps
                if step.end_ms is not None
            ],
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
        steps = [step for s in self.segments for step in s.steps]
        if not self.reader.size:
            rows.append(self._flaw(Flaw(0, "", "", "the log is empty")))
        elif steps and all(step.end_ms is None for step in steps):
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
        steps = [step for s in self.segments for step in s.steps]
        totals = [step.total for step in steps if step.total is not None]
        return self._row(
            path=self.path,
            stream=stream_of_path(self.path),
            name=stem_of_path(self.path),
            format=self.format,
            lines=self.reader.lines,
            bytes=self.reader.size,
            tz=hints.tz,
            tz_assumed=self.scanner.clock.assumed_utc,
            first_at=_at(self.scanner.first.ms if self.scanner.first else None),
            last_at=_at(self.scanner.last.ms if self.scanner.last else None),
            step_records=len(steps),
            placed_records=sum(step.end_ms is not None for step in steps),
            first_step=steps[0].last if steps else None,
            last_step=steps[-1].last if steps else None,
            total_steps=totals[-1] if totals else None,
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

    def _step(self, segment: Segment, step: Step) -> Row:
        return {  # not by _row: there are as many as step lines
            "cluster": self.hints.cluster,
            "log_id": self.log_id,
            "segment": segment.index,
            "first": step.first,
            "last": step.last,
            "started_at": _at(step.start_ms),
            "ended_at": _at(step.end_ms),
            "basis": step.basis,
            "elapsed_ms": step.elapsed_ms,
            "samples": step.samples,
            "tokens": step.tokens,
            "line": step.line,
        }

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
