"""goodput classify"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, TextIO

import click

from goodput.cli.common import Context, output_in
from goodput.errors import GoodputError, NoData, SourceUnreachable, UsageError

if TYPE_CHECKING:
    from goodput.logs.classify import AttemptVerdict, LogVerdict, StepCount
    from goodput.logs.findings import Finding

_COLUMNS = ("file", "format", "outcome", "class", "confidence", "steps", "line", "root")


@click.command(
    short_help="Say of a log how its run ended, and why.",
    epilog="Example: goodput classify -o json train.log slurm-*.out.gz",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--tz", help="IANA zone of naive times, such as Europe/Berlin [default: UTC].")
@output_in("table", "json")
@click.pass_obj
def command(context: Context, files: tuple[str, ...], tz: str | None, output: str) -> None:
    """Say of each log how its run ended, why, and which line shows it; no lake is needed.

    Plain, gzip and zstd are told by their content; - reads standard input. A log that just stops
    is running if its last line is less than ten minutes old, else unknown. The confidence (0 to 99)
    is in the class, or, where nothing failed, in the outcome.
    """
    from goodput.logs import LogHints
    from goodput.logs.classify import classify_log
    from goodput.logs.paths import printable

    _ = context.settings  # puts the user's catalogue into use
    now_ms = round(datetime.now(UTC).timestamp() * 1000)
    answers: list[tuple[str, LogVerdict]] = []
    errors: list[GoodputError] = []
    for file in files:
        name = printable(file)
        hints = LogHints(tz=tz, path=name)
        try:
            verdict = classify_log(_source(file), hints, now_ms=now_ms)
        except GoodputError as error:
            errors.append(error)
            continue
        except OSError as error:
            errors.append(SourceUnreachable(f"cannot read {name}: {error.strerror or error}"))
            continue
        answers.append((name, verdict))
        _note_unread(name, verdict)
    if output == "json":
        click.echo(json.dumps([answer(file, verdict) for file, verdict in answers], indent=1))
    elif answers:
        from goodput.cli.output import print_rows  # loads DuckDB, which JSON does without

        print_rows(_COLUMNS, [_row(file, verdict) for file, verdict in answers], "table")
    for also in errors[1:]:
        click.echo(f"error: {also}", err=True)
    if errors:
        raise errors[0]
    if not any(verdict.bytes for _, verdict in answers):
        raise NoData("there is nothing in these files; name logs that have been written to")


def _note_unread(name: str, verdict: LogVerdict) -> None:
    for flaw in verdict.unread:
        click.echo(f"note: {name}: {flaw.reason}, at line {flaw.line}", err=True)
    if verdict.damage is not None:
        click.echo(f"note: {name}: {verdict.damage.reason}, up to line {verdict.lines}", err=True)


def _source(file: str) -> str | IO[bytes]:
    """What to read.

    Raises:
        UsageError: it is standard input, and there is none.
    """
    if file != "-":
        return file
    # None if the descriptor is closed; the stubs do not know.
    stdin: TextIO | None = sys.stdin
    if stdin is None:
        raise UsageError("standard input is closed; name a file, or pipe a log into -")
    return stdin.buffer


def answer(file: str, verdict: LogVerdict) -> dict[str, Any]:
    """What one log says, as JSON."""
    return {
        "file": file,
        "format": verdict.format,
        **_end(verdict.last),
        "steps": _steps(verdict.steps),
        "checkpoints": _checkpoints(verdict.attempts),
        "xids": verdict.xids,
        "restarts": verdict.restarts,
        "lines": verdict.lines,
        "bytes": verdict.bytes,
        "attempts": [_attempt(attempt) for attempt in verdict.attempts],
    }


def _end(attempt: AttemptVerdict) -> dict[str, Any]:
    return {
        "outcome": attempt.outcome,
        "class": attempt.failure_class,
        "group": attempt.group,
        "confidence": attempt.confidence,
        "root": _root(attempt.root),
        "cascade_lines": attempt.symptoms,
    }


def _attempt(attempt: AttemptVerdict) -> dict[str, Any]:
    return {
        "first_line": attempt.segment.first_line,
        "last_line": attempt.segment.last_line,
        **_end(attempt),
        "steps": _steps(attempt.steps),
        "checkpoints": _checkpoints([attempt]),
    }


def _root(root: Finding | None) -> dict[str, Any] | None:
    if root is None:
        return None
    evidence = root.evidence
    return {"line": evidence.line, "text": evidence.text, "signature": evidence.signature.id}


def _steps(steps: StepCount | None) -> dict[str, Any] | None:
    if steps is None:
        return None
    return {
        "count": steps.count,
        "first": steps.first,
        "last": steps.last,
        "median_seconds": steps.median_seconds,
    }


def _checkpoints(attempts: list[AttemptVerdict]) -> list[dict[str, Any]]:
    return [
        {"step": c.step, "line": c.line, "complete": c.complete}
        for attempt in attempts
        for c in attempt.segment.checkpoints
        if c.step is not None
    ]


def _row(file: str, verdict: LogVerdict) -> tuple[Any, ...]:
    last, steps, root = verdict.last, verdict.steps, verdict.last.root
    return (
        file,
        verdict.format,
        last.outcome,
        last.failure_class,
        last.confidence,
        None if steps is None else f"{steps.first}..{steps.last}",
        None if root is None else root.line,
        None if root is None else root.evidence.text,
    )
