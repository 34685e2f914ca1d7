"""Reads one training log into the rows of the raw log tables."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from goodput._memory import keep_freed_blocks, without_cycle_search
from goodput.logs.assemble import assemble
from goodput.logs.bars import training_bar
from goodput.logs.clock import LogClock, zone_named
from goodput.logs.events import Event, Evidence
from goodput.logs.formats import Format, Pattern, load_formats
from goodput.logs.hints import LogHints
from goodput.logs.paths import printable, stream_of_path
from goodput.logs.reading import BlockReader, open_log
from goodput.logs.rows import LogRows, Row, StepRows
from goodput.logs.scan import Scanner
from goodput.logs.segments import Segment
from goodput.logs.signatures import load_signatures, unknown_error
from goodput.logs.step_lines import Lines, StepLines, in_file_order
from goodput.logs.steps import Steps

GENERIC, _BARS = "generic", "tqdm"
BAR = "bar"
_ID_BYTES = 1024
_ID_LENGTH = 24
# A structured format needs this share of the step lines of the most frequent one.
_MIN_SHARE = 0.05


@dataclass(frozen=True)
class LogResult:
    """What a log says.

    Attributes:
        format: the name of its format.
        segments: the attempts in the file, each with steps, checkpoints and phases.
        evidence: lines that a signature knows, redacted and bounded.
        is_known_text: whether any line was known to a format or a signature.
        step_lines: step lines by format, whether they were used or not.
        records: other counted lines by format.
        last_bar: the last progress bar's position and total; None without one.
        tables: rows of raw.log_files, log_segments, log_steps, log_phases, log_checkpoints,
            log_evidence, log_restores and log_slow_ranks.
        quarantine: rows of raw.quarantine: what could not be read or placed, and why.
    """

    format: str
    segments: list[Segment]
    evidence: list[Evidence]
    is_known_text: bool
    step_lines: Counter[str]
    records: Counter[str]
    last_bar: tuple[int, int] | None
    tables: dict[str, Sequence[Row]]
    quarantine: list[Row] = field(default_factory=list)

    @property
    def steps(self) -> Steps:
        """The steps of all segments."""
        return Steps.joined(segment.steps for segment in self.segments)

    def rename(self, log_id: str) -> None:
        """Gives the log another identity, in all rows."""
        for rows in self.tables.values():
            if isinstance(rows, StepRows):
                rows.log_id = log_id
                continue
            for row in rows:
                row["log_id"] = log_id


@dataclass(frozen=True)
class ScannedLog:
    """What one pass over a log found, before it is laid out as rows.

    Attributes:
        path: the name to keep.
        log_id: an identity that growth and rotation of the file do not change.
        format: its format.
        scanner: what was found: events, evidence, times.
        reader: counts of lines and bytes, flaws.
        segments: the attempts in the file.
    """

    path: str
    log_id: str
    format: Format
    scanner: Scanner
    reader: BlockReader
    segments: list[Segment]


@without_cycle_search()
def scan_log(source: Path | str | IO[bytes], hints: LogHints) -> ScannedLog:
    """Reads a log once: plain, gzip or zstd, of any size, in bounded memory per line.

    Raises:
        SourceUnreachable: the file cannot be opened.
        UsageError: the zone of the hints does not exist, or a format file is faulty.
    """
    keep_freed_blocks()
    path = hints.path or (printable(source) if isinstance(source, (str, Path)) else "stream")
    formats = load_formats(hints.formats)
    clock = LogClock(zone_named(hints.tz) if hints.tz else None, hints.year)
    scanner = Scanner(formats, load_signatures(), clock)
    with open_log(source) as stream:
        reader = BlockReader(stream)
        log_id = _feed(scanner, reader, stream_of_path(path))
    scanner.finish()
    chosen = choose_format(scanner, formats)
    lines, is_by_bar = step_lines_for(chosen, scanner.steps)
    segments = assemble(
        events_for(chosen, scanner.events, is_by_bar=is_by_bar),
        lines,
        start_ms=scanner.first_ms,
        end_ms=scanner.last_ms,
        last_line=reader.lines,
    )
    return ScannedLog(path, log_id, chosen, scanner, reader, segments)


@without_cycle_search()
def read_log(source: Path | str | IO[bytes], hints: LogHints | None = None) -> LogResult:
    """Reads a log into rows.

    Args:
        source: a path or a binary stream.
        hints: what is known besides.

    Raises:
        SourceUnreachable, UsageError: as scan_log.
    """
    hints = hints or LogHints()
    log = scan_log(source, hints)
    scanner = log.scanner
    known = [e for e in scanner.evidence if e.signature is not unknown_error()]
    rows = LogRows(hints, log.path, log.log_id, log.format.name, scanner, log.reader, log.segments)
    return LogResult(
        format=log.format.name,
        segments=log.segments,
        evidence=scanner.evidence,
        is_known_text=bool(scanner.events or scanner.steps or known or scanner.records),
        step_lines=_step_counts(scanner),
        records=scanner.records,
        last_bar=_last_bar(scanner),
        tables=rows.tables(),
        quarantine=rows.quarantine(),
    )


def _feed(scanner: Scanner, blocks: BlockReader, stream_name: str) -> str:
    """Reads all blocks; returns an identity that growth and rotation of the file do not change."""
    digest = hashlib.sha256(stream_name.encode())
    for block in blocks:
        if block.offset == 0:
            digest.update(block.data[:_ID_BYTES].split(b"\n", 1)[0])
        scanner.feed(block)
    return digest.hexdigest()[:_ID_LENGTH]


def _step_counts(scanner: Scanner) -> Counter[str]:
    counts = Counter[str]()
    for pattern, lines in scanner.steps.items():
        counts[pattern.format] += len(lines)
    return counts


def _last_bar(scanner: Scanner) -> tuple[int, int] | None:
    bars = in_file_order(lines for p, lines in scanner.steps.items() if p.format == _BARS)
    return (int(bars["position"][-1]), int(bars["total"][-1])) if len(bars) else None


def choose_format(scanner: Scanner, formats: Sequence[Format]) -> Format:
    """The format of a log: the most specific one with step lines, else with any line."""
    by_name = {f.name: f for f in formats}
    steps = _step_counts(scanner)
    structured = [n for name, n in steps.items() if by_name[name].is_structured]
    enough = _MIN_SHARE * max(structured, default=0)
    others = {e.pattern.format for e in scanner.events} | set(steps) | set(scanner.records)
    for names in ([name for name, n in steps.items() if n >= enough], list(others)):
        found = [by_name[name] for name in names if by_name[name].priority > 0]
        if found:
            # Of equals the one with more steps, in whatever order their lines were read.
            best = max(found, key=lambda f: (f.priority, steps.get(f.name, 0), f.name))
            return _borrower(best, others, formats)
    return by_name[GENERIC]


def _borrower(best: Format, present: set[str], formats: Sequence[Format]) -> Format:
    """A format that is there and takes its steps from `best` is the more specific one."""
    users = [f for f in formats if f.borrows == best.name and f.name in present]
    return max(users, key=lambda f: f.priority, default=best)


def step_lines_for(chosen: Format, steps: Mapping[Pattern, StepLines]) -> tuple[Lines, bool]:
    """The step lines that count, and whether these are updates of a progress bar.

    They are those of the format and of its best kind; where that is weak, those of its bar.
    """
    own = [steps[p] for p in chosen.patterns if p in steps and p.covers != BAR]
    best = min((lines.pattern.rank for lines in own), default=None)
    if best is None or best > 1:
        named = (chosen.name, chosen.borrows)
        updates = [lines for p, lines in steps.items() if p.covers == BAR and p.format in named]
        if len(bar := training_bar(in_file_order(updates))):
            return bar, True
    return in_file_order(lines for lines in own if lines.pattern.rank == best), False


def events_for(chosen: Format, events: Sequence[Event], *, is_by_bar: bool) -> list[Event]:
    """All events, of the begins of steps only those of the format, and none where a bar counts."""
    return [
        e
        for e in events
        if e.pattern.event != "step_begin" or (e.pattern.format == chosen.name and not is_by_bar)
    ]
