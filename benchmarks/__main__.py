"""Times what users wait for, each beside the plainest thing that touches the same bytes.

`ratio` is value over reference: how many times longer than merely reading it all. Inputs are made
anew in a temporary folder, the same on every run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl

from benchmarks import kubernetes_lists, log_reading, prometheus_pull, report_page
from benchmarks.growth import exponent, measure, measure_answers, measure_long_job
from goodput.lake import Lake
from goodput.sources.dump import collect_dump
from goodput.warehouse.build import build
from goodput.window import Window

START = datetime(2026, 3, 2, tzinfo=UTC)
WEEK = Window(START, START + timedelta(days=7))
NODES, GPUS = 64, 8
JOBS, STEPS_PER_JOB, STEP_SECONDS = 16, 50_000, 10
LOG_LINES = 100_000
PULLED_HOURS = 12


@dataclass(frozen=True)
class Figure:
    """One line of `make bench`."""

    name: str
    value: float
    unit: str
    reference: float
    ratio: float


def compare(name: str, work: Callable[[], object], reference: Callable[[], object]) -> Figure:
    """The seconds of both, best of three: what else the machine does only ever adds time."""
    value, base = best(work), best(reference)
    return Figure(name, round(value, 4), "seconds", round(base, 4), round(value / base, 2))


def best(work: Callable[[], object], repeats: int = 3) -> float:
    """The shortest of some runs, in seconds."""
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def fleet_tables() -> dict[str, pl.DataFrame]:
    """A week of a fleet whose jobs each hold four nodes and log every step."""
    end = START + timedelta(seconds=STEPS_PER_JOB * STEP_SECONDS)
    per_job = NODES // JOBS
    nodes = pl.DataFrame({"node_uid": [f"n{i}" for i in range(NODES)], "gpus": GPUS}).with_columns(
        pl.lit("train").alias("pool"),
        *(pl.lit(START).alias(name) for name in ("registered_at", "ready_at", "paid_from")),
    )
    jobs = pl.DataFrame({"job": [f"j{i}" for i in range(JOBS)]}).with_columns(
        kind=pl.lit("training"), state=pl.lit("succeeded"), ended_at=pl.lit(end)
    )
    attempts = jobs.select(
        "job",
        attempt=pl.lit(1),
        start=pl.lit(START),
        end=pl.lit(end),
        outcome=pl.lit("succeeded"),
    )
    pods = nodes.select(
        pod_uid="node_uid",
        node_uid="node_uid",
        gpus="gpus",
        job=pl.concat_str(pl.lit("j"), pl.int_range(pl.len()) // per_job),
        attempt=pl.lit(1),
        bound_at=pl.lit(START),
        running_at=pl.lit(START),
        terminated_at=pl.lit(end),
    )
    position = pl.DataFrame({"step": range(1, STEPS_PER_JOB + 1)})
    started = pl.lit(START) + pl.duration(seconds=(pl.col("step") - 1) * STEP_SECONDS)
    steps = jobs.select("job", attempt=pl.lit(1)).join(position, how="cross")
    steps = steps.with_columns(
        start=started, end=pl.lit(START) + pl.duration(seconds=pl.col("step") * STEP_SECONDS)
    )
    return {"nodes": nodes, "jobs": jobs, "attempts": attempts, "pods": pods, "steps": steps}


def bench_build(folder: Path) -> Iterator[Figure]:
    """Publishing steps beside writing plain Parquet, building beside a scan of the same files."""
    tables = fleet_tables()
    counter = iter(range(100))

    def publish() -> None:
        lake = Lake.open(folder / f"lake{next(counter)}", create=True)
        lake.publish(tables, ingested_from="benchmark", ingested_at=None)

    def write_plain() -> None:
        for name, frame in tables.items():
            frame.write_parquet(folder / f"{name}.parquet")

    yield compare(f"publish_{JOBS * STEPS_PER_JOB}_steps", publish, write_plain)

    lake = Lake.open(folder / "lake0")
    files = lake.files("steps")

    def scan() -> None:
        with duckdb.connect() as con:
            con.execute(
                "select job, count(*), min(start), max(start) from read_parquet(?) group by job",
                [files],
            ).fetchall()

    yield compare(f"build_{JOBS * STEPS_PER_JOB}_steps", lambda: build(lake, WEEK, WEEK.end), scan)


def bench_log(folder: Path) -> Iterator[Figure]:
    """Reading a training log beside grep for one fixed text of its step lines."""
    path = folder / "train.log"
    with path.open("w") as log:
        for step in range(1, LOG_LINES + 1):
            clock = (START + timedelta(seconds=step)).strftime("%Y-%m-%d %H:%M:%S")
            log.write(
                f" [{clock}] iteration {step:8d}/ 1000000 | consumed samples: {step * 2048:12d} |"
                " elapsed time per iteration (ms): 1000.0 | learning rate: 1.000E-05 |"
                " global batch size:  2048 | lm loss: 2.654321E+00 | grad norm: 1.234 |\n"
            )

    def grep() -> None:
        # Into a pipe: to /dev/null, grep stops at the first hit.
        words = ["grep", "-c", "elapsed time per iteration", str(path)]
        subprocess.run(words, check=True, stdout=subprocess.PIPE)

    yield compare(f"read_log_{LOG_LINES}_lines", lambda: collect_dump([path]), grep)


def bench_logs(folder: Path) -> Iterator[Figure]:
    """Logs to Parquet beside ripgrep with the same patterns; one log's classification."""
    one = log_reading.one_log(folder)
    # References are the limits that the project set itself: no other tool does the same.
    yield Figure("classify_35_mb_log", round(one.seconds, 2), "seconds", 1.0, round(one.seconds, 2))
    ratio = round(one.peak_mb / 150, 2)
    yield Figure("classify_35_mb_log_peak", round(one.peak_mb), "MB", 150, ratio)
    for name, ours, ripgrep in log_reading.measure(folder):
        for what, unit, value, base in (
            ("", "seconds", ours.seconds, ripgrep.seconds),
            ("_cpu", "cpu seconds", ours.cpu_seconds, ripgrep.cpu_seconds),
        ):
            yield Figure(name + what, round(value, 2), unit, round(base, 2), round(value / base, 2))


def bench_start(_: Path) -> Iterator[Figure]:
    """`goodput --help` beside an interpreter that does nothing."""
    python = sys.executable

    def run_help() -> None:
        subprocess.run([python, "-m", "goodput", "--help"], stdout=subprocess.DEVNULL, check=True)

    def run_nothing() -> None:
        subprocess.run([python, "-c", "pass"], check=True)

    yield compare("help", run_help, run_nothing)


def bench_growth(folder: Path) -> Iterator[Figure]:
    """CPU time and memory of a build at 1, 4 and 16 times a fleet, beside one scan of its steps."""
    costs = measure(folder)
    for cost in costs:
        seconds, scan = cost.cpu_seconds, cost.scan_seconds
        name = f"build_fleet_{cost.steps}_steps"
        yield Figure(
            name, round(seconds, 3), "cpu seconds", round(scan, 3), round(seconds / scan, 1)
        )
        peak, smallest = cost.peak_mb, costs[0].peak_mb
        yield Figure(f"{name}_peak", round(peak), "MB", round(smallest), round(peak / smallest, 2))
    growth = exponent(costs)
    yield Figure("build_growth", round(growth, 3), "exponent", 1.0, round(growth, 3))
    # The reference is the limit for the whole month of the fleet.
    for verb, seconds in measure_answers(folder).items():
        name = f"{verb}_fleet_{costs[-1].steps}_steps"
        yield Figure(name, round(seconds, 2), "seconds", 10.0, round(seconds / 10, 3))


def bench_long_job(folder: Path) -> Iterator[Figure]:
    """One job of a million steps, beside ml-goodput-measurement 0.2.3 on the same entries.

    The references were measured once, on two cores of a Xeon: 19.7 s and 1.2 GiB.
    """
    cost = measure_long_job(folder)
    seconds, peak = cost.cpu_seconds, cost.peak_mb
    name = f"build_one_job_{cost.steps}_steps"
    yield Figure(name, round(seconds, 2), "cpu seconds", 19.7, round(seconds / 19.7, 3))
    yield Figure(f"{name}_peak", round(peak), "MB", 1229, round(peak / 1229, 3))


def bench_prometheus(folder: Path) -> Iterator[Figure]:
    """Speed and memory of `collect prometheus` beside those of prometheus-api-client."""
    measured = prometheus_pull.measure(folder, PULLED_HOURS)
    if measured is None:
        return
    short, pull, client = measured
    name = f"pull_{pull.samples}_prometheus_samples"
    for what, unit, value, base in (
        ("", "samples/second", pull.rate, client.rate),
        ("_cpu", "samples/cpu second", pull.cpu_rate, client.cpu_rate),
    ):
        yield Figure(name + what, round(value), unit, round(base), round(value / base, 2))
    for what, other in (("peak", client), ("peak_growth_from_2_hours", short)):
        ratio = round(pull.peak_mb / other.peak_mb, 2)
        yield Figure(f"{name}_{what}", round(pull.peak_mb), "MB", round(other.peak_mb), ratio)


def bench_kubernetes(folder: Path) -> Iterator[Figure]:
    """Seconds and memory of `collect kubernetes`, beside those of the kubernetes package."""
    collector, nothing, client = kubernetes_lists.measure(folder)
    name = f"collect_{kubernetes_lists.EVENTS + kubernetes_lists.PODS}_kubernetes_objects"
    for what, unit, value, base in (
        ("", "seconds", collector.seconds, client.seconds),
        ("_cpu", "cpu seconds", collector.cpu_seconds, client.cpu_seconds),
        ("_peak", "MB", collector.peak_mb, client.peak_mb),
        ("_peak_above_none", "MB", collector.peak_mb, nothing.peak_mb),
    ):
        yield Figure(name + what, round(value, 2), unit, round(base, 2), round(value / base, 2))


def bench_report_page(folder: Path) -> Iterator[Figure]:
    """The weekly page: seconds to its first paint and its size, beside the limits for both."""
    for name, page in (report_page.measure(folder) or {}).items():
        seconds, size = page.paint_seconds, page.megabytes
        yield Figure(f"paint_{name}", round(seconds, 3), "seconds", 1.0, round(seconds, 3))
        yield Figure(f"page_{name}", round(size, 2), "MB", 2.0, round(size / 2, 2))


def main() -> None:
    """Runs all benchmarks."""
    for bench in (
        bench_start,
        bench_log,
        bench_logs,
        bench_build,
        bench_growth,
        bench_long_job,
        bench_prometheus,
        bench_kubernetes,
        bench_report_page,
    ):
        with tempfile.TemporaryDirectory() as folder:
            for figure in bench(Path(folder)):
                print(json.dumps(asdict(figure)), flush=True)


if __name__ == "__main__":
    main()
