"""`goodput demo`: a simulated week from files to report, and twelve hours played to collectors."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from goodput.errors import UsageError
from goodput.synth.artefacts import write_artefacts
from goodput.synth.compare import Comparison, compare
from goodput.synth.plan import AFTERMATH, simulate
from goodput.synth.truth import ledger
from goodput.window import Window

if TYPE_CHECKING:
    from goodput.lake import Lake
    from goodput.synth.loop.play import Played

WEEK = "2026-W48"
MARKER = ".goodput-demo"
RAW = ("kubernetes", "logs", "kernel", "checkpoints")
LOOK_EVERY_S = 900
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Demo:
    """What the demo made: the report's page, the comparisons, the checks that failed."""

    report: Path
    comparison: Comparison
    played: Played
    failed_checks: list[str]


def run_demo(out: Path, seed: int, say: Callable[[str], None], week: str = WEEK) -> Demo:
    """Simulate a week and take it through the whole product.

    Args:
        out: folder for artefacts/, lake/, report/ and loop/; one of an earlier demo is replaced.
        seed: another seed is another week with the same kinds of fault.
        say: takes progress messages.
        week: the ISO week that is simulated, such as 2026-W48.

    Raises:
        UsageError: `out` holds files that no demo wrote.
    """
    from goodput.report.write import write_report
    from goodput.synth.loop.play import play_day
    from goodput.warehouse.build import build

    window = Window.of_week(week)
    _clear(out)
    clock = monotonic()

    def step(text: str) -> None:
        say(f"[{monotonic() - clock:5.1f} s] {text}")

    step(f"simulating {week} with seed {seed}")
    fleet = simulate(int(window.start.timestamp()), seed)
    truth = ledger(fleet)
    write_artefacts(fleet, out / "artefacts")
    step(f"wrote what the cluster left behind to {out / 'artefacts'}")
    collected_at = window.end + timedelta(seconds=AFTERMATH)
    lake = _collect(out, collected_at, step)
    result = build(lake, window, collected_at)
    failed = [check.name for check in result.checks if check.failed]
    step(
        f"built the ledger; {len(result.checks) - len(failed)} of {len(result.checks)} checks hold"
    )
    files = write_report(result.database, out / "report")
    step(f"wrote the report: {files.html}")
    comparison = compare(truth, result.database)
    played = play_day(window.start + DAY, seed, out / "loop", LOOK_EVERY_S)
    runs = _runs(played)
    step(f"played twelve hours to the collectors: {runs}; samples came from {played.metrics}")
    return Demo(files.html, comparison, played, failed + played.failed_checks)


def _runs(played: Played) -> str:
    """How often which collector ran, and what befell the runs."""
    return ", ".join(f"{count} {name}" for name, count in sorted(played.runs.items()))


def _collect(out: Path, collected_at: datetime, step: Callable[[str], None]) -> Lake:
    """The artefacts, as `goodput collect dump` and `goodput import` take them, into a new lake."""
    from goodput.lake import Lake
    from goodput.rows import DEFAULT_CLUSTER
    from goodput.sources.dump import collect_files
    from goodput.sources.dumped import take_dump
    from goodput.sources.typed import import_files

    lake = Lake.open(out / "lake", create=True)
    folders = [out / "artefacts" / name for name in RAW]
    reports = collect_files(folders, cluster=DEFAULT_CLUSTER, now=collected_at)
    taken = take_dump(lake, reports, cluster=DEFAULT_CLUSTER, now=collected_at)
    imported = import_files(lake, out / "artefacts" / "typed")
    rows = sum(taken.rows_added.values()) + sum(imported.rows_added.values())
    refused = taken.quarantined + imported.quarantined
    step(f"collected {rows:,} rows into the lake, {refused} problems")
    return lake


def _clear(out: Path) -> None:
    """An empty folder to work in; only the demo's own files are ever removed."""
    if out.exists() and any(out.iterdir()) and not (out / MARKER).exists():
        raise UsageError(f"{out} is not empty and no demo wrote it; give another --out")
    for name in ("artefacts", "lake", "loop", "report"):
        shutil.rmtree(out / name, ignore_errors=True)
    (out / "loop").mkdir(parents=True)
    (out / MARKER).write_text("made by `goodput demo`\n")
