"""How the cost of a build grows: one fleet at 1, 4 and 16 times the size, one process each.

The exponent is the slope of log CPU seconds over log size between the two larger sizes, where the
fixed cost of a build weighs least. GOODPUT_BENCH_FULL=1 adds the whole month of the fleet, which
takes minutes to make.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl

from benchmarks import fleet
from benchmarks.processes import run_module
from goodput.lake import Lake

SIZES = (1 / 64, 1 / 16, 1 / 4)
FULL = 1.0
LONG_JOB_STEPS = 1_000_000

# What a build reads of a step, by aggregates that cost next to nothing beside the reading.
_COLUMNS = (
    'min(cluster), min(job), sum(attempt), sum(step), sum(first), sum("last"),'
    ' max(start), max("end"), sum(world), min(config), min(ingested_at)'
)


@dataclass(frozen=True)
class Cost:
    """What one build cost: CPU seconds of the whole process, and its largest memory in MB."""

    steps: int
    cpu_seconds: float
    peak_mb: float
    scan_seconds: float


def measure(folder: Path) -> list[Cost]:
    """Builds the fleet at each size; folders of lakes are made under `folder`."""
    sizes = (*SIZES, FULL) if os.environ.get("GOODPUT_BENCH_FULL") else SIZES
    return [_build_fleet(folder / f"size-{size}", size) for size in sizes]


def measure_answers(folder: Path) -> dict[str, float]:
    """Seconds of the verbs that answer from the largest fleet that `measure` built there."""
    lake = max(folder.glob("size-*"), key=lambda path: float(path.name.removeprefix("size-")))
    changes = ("--checkpoint-interval", "900", "--restart", "60", "--spares", "1")
    return {
        verb: run_module("goodput", "--lake", str(lake), verb, *options).seconds
        for verb, options in {"metrics": (), "advise": (), "what-if": changes}.items()
    }


def measure_long_job(folder: Path) -> Cost:
    """Builds one job of a million steps."""
    lake = Lake.open(str(folder / "long-job"), create=True)
    start, step = fleet.START, timedelta(seconds=2)
    end = start + LONG_JOB_STEPS * step
    job = {"cluster": "c", "job": "long"}
    steps = pl.DataFrame({"step": range(1, LONG_JOB_STEPS + 1)}).with_columns(
        **{name: pl.lit(value) for name, value in job.items()},
        attempt=pl.lit(1),
        start=pl.lit(start) + (pl.col("step") - 1) * step,
        end=pl.lit(start) + pl.col("step") * step,
    )
    pod = {"pod_uid": "p", "node_uid": "n", "gpus": 8, "attempt": 1, "bound_at": start}
    tables = {
        "nodes": pl.DataFrame(
            {"cluster": "c", "node_uid": "n", "gpus": 8, "pool": "p", "registered_at": start}
        ),
        "jobs": pl.DataFrame(job | {"state": "succeeded", "ended_at": end}),
        "attempts": pl.DataFrame(
            job | {"attempt": 1, "start": start, "end": end, "outcome": "succeeded"}
        ),
        "pods": pl.DataFrame(job | pod | {"running_at": start, "terminated_at": end}),
        "steps": steps,
    }
    lake.publish(tables, ingested_from="benchmark", ingested_at=None)
    return _build(lake, folder / "long-job", LONG_JOB_STEPS, end)


def exponent(costs: list[Cost]) -> float:
    """The growth between the two largest sizes; 1 is linear."""
    small, large = costs[-2:]
    return math.log(large.cpu_seconds / small.cpu_seconds) / math.log(large.steps / small.steps)


def _build_fleet(folder: Path, size: float) -> Cost:
    lake = Lake.open(str(folder), create=True)
    steps = fleet.publish(lake, size)
    return _build(lake, folder, steps, fleet.end_of(size))


def _build(lake: Lake, folder: Path, steps: int, end: datetime) -> Cost:
    window = (
        "--from",
        fleet.START.isoformat(),
        "--to",
        end.isoformat(),
        "--as-of",
        end.isoformat(),
    )
    used = run_module("goodput", "--lake", str(folder), "build", *window)
    return Cost(steps, used.cpu_seconds, used.peak_mb, _scan_seconds(lake.files("steps")))


def _scan_seconds(files: list[str]) -> float:
    """CPU seconds of one scan of the columns that a build reads, the better of two."""
    seconds = []
    with duckdb.connect() as con:
        for _ in range(2):
            started = time.process_time()
            con.execute(f"select {_COLUMNS} from read_parquet(?)", [files]).fetchall()
            seconds.append(time.process_time() - started)
    return min(seconds)
