"""How the cost of a build grows: the same fleet at 1, 4 and 16 times the size, one process each.

The fleet is made to cost: each job of each node restarts nine times a week, rolls back to a
checkpoint every time, and saves every fifty steps. The exponent is the slope of log CPU seconds
over log size between the two larger sizes, where the fixed cost of a build weighs least.
"""

from __future__ import annotations

import math
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from goodput.lake import Lake

START = datetime(2026, 3, 2, tzinfo=UTC)
END = START + timedelta(days=7)
SIZES = (1, 4, 16)
BASE_JOBS, ATTEMPTS, STEPS, STEP_MS = 10, 10, 1_000, 50_000

_ATTEMPT_MS = 60_480_000
_THEN_TELL_PEAK = """
import runpy, sys
module, sys.argv = sys.argv[1], sys.argv[1:]
try:
    runpy.run_module(module, run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""
# Columns of each typed table, from job j, attempt a and step k; every span lies within a week.
_SQL = f"""
    nodes: select concat('n', j) as node_uid, 'train' as pool, 8 as gpus, $start as registered_at
        from range($jobs) as t (j)
    jobs: select concat('j', j) as job, 'running' as state from range($jobs) as t (j)
    attempts: select concat('j', j) as job, a + 1 as attempt,
            $start + to_milliseconds({_ATTEMPT_MS} * a) as start,
            case when a < {ATTEMPTS - 1}
                then $start + to_milliseconds({_ATTEMPT_MS} * a + 59000000) end as "end",
            case when a < {ATTEMPTS - 1} then 'failed' else 'running' end as outcome,
            case when a > 0 then a * {STEPS - 50} end as resume_step
        from range($jobs) as t (j), range({ATTEMPTS}) as u (a)
    pods: select concat('p', j, '-', a) as pod_uid, concat('j', j) as job, a + 1 as attempt,
            concat('n', j) as node_uid, 8 as gpus, 1 as exit_code,
            $start + to_milliseconds({_ATTEMPT_MS} * a) as bound_at,
            $start + to_milliseconds({_ATTEMPT_MS} * a + 30000) as running_at,
            case when a < {ATTEMPTS - 1}
                then $start + to_milliseconds({_ATTEMPT_MS} * a + 59000000) end as terminated_at
        from range($jobs) as t (j), range({ATTEMPTS}) as u (a)
    steps: select concat('j', j) as job, a + 1 as attempt, a * {STEPS - 50} + k + 1 as step,
            $start + to_milliseconds({_ATTEMPT_MS} * a + 60000 + {STEP_MS} * k) as start,
            $start + to_milliseconds({_ATTEMPT_MS} * a + 60000 + {STEP_MS} * (k + 1)) as "end"
        from range($jobs) as t (j), range({ATTEMPTS}) as u (a), range({STEPS}) as v (k)
    checkpoints: select concat('j', j) as job, a + 1 as attempt, a * {STEPS - 50} + k as step,
            $start + to_milliseconds({_ATTEMPT_MS} * a + 60000 + {STEP_MS} * k) as write_start,
            $start + to_milliseconds({_ATTEMPT_MS} * a + 70000 + {STEP_MS} * k) as committed_at
        from range($jobs) as t (j), range({ATTEMPTS}) as u (a), range(50, {STEPS}, 50) as v (k)
    phases: select concat('j', j) as job, a + 1 as attempt, 'ckpt_save' as kind,
            $start + to_milliseconds({_ATTEMPT_MS} * a + 60000 + {STEP_MS} * k) as start,
            $start + to_milliseconds({_ATTEMPT_MS} * a + 65000 + {STEP_MS} * k) as "end"
        from range($jobs) as t (j), range({ATTEMPTS}) as u (a), range(50, {STEPS}, 50) as v (k)
"""


@dataclass(frozen=True)
class Cost:
    """What one build cost: CPU seconds of the whole process, and its largest memory in MB."""

    steps: int
    cpu_seconds: float
    peak_mb: float
    scan_seconds: float


def measure(folder: Path) -> list[Cost]:
    """Builds the fleet at each size; folders of lakes are made under `folder`."""
    return [_build(folder / f"x{size}", size * BASE_JOBS) for size in SIZES]


def exponent(costs: list[Cost]) -> float:
    """The growth between the two largest sizes; 1 is linear."""
    small, large = costs[-2:]
    return math.log(large.cpu_seconds / small.cpu_seconds) / math.log(large.steps / small.steps)


def _build(folder: Path, jobs: int) -> Cost:
    lake = Lake.open(str(folder), create=True)
    with duckdb.connect() as con:
        for name, sql in _queries():
            needs_start = {"start": START} if "$start" in sql else {}
            frame = con.sql(sql, params={"jobs": jobs, **needs_start}).pl()
            lake.publish({name: frame}, ingested_from="benchmark", ingested_at=None)
    cpu, peak = _run("goodput", "--lake", str(folder), "build", *_window())
    scanned = _scan_seconds(lake.files("steps"))
    return Cost(jobs * ATTEMPTS * STEPS, cpu, peak, scanned)


def _scan_seconds(files: list[str]) -> float:
    """CPU seconds of one scan of two columns, in this process."""
    with duckdb.connect() as con:
        started = time.process_time()
        con.execute(
            "select sum(epoch_ms(start)), sum(step) from read_parquet(?)", [files]
        ).fetchall()
        return time.process_time() - started


def _queries() -> list[tuple[str, str]]:
    """Table and SELECT of each entry, which begins where a line begins with a name and a colon."""
    entries: list[tuple[str, str]] = []
    for line in _SQL.strip().splitlines():
        name, colon, rest = line.strip().partition(":")
        if colon and name.isidentifier():
            entries.append((name, rest))
        else:
            entries[-1] = (entries[-1][0], f"{entries[-1][1]}\n{line}")
    return entries


def _window() -> tuple[str, ...]:
    return ("--from", START.isoformat(), "--to", END.isoformat(), "--as-of", END.isoformat())


def _run(*words: str) -> tuple[float, float]:
    """CPU seconds and peak memory in MB of one Python process.

    The peak is its own VmHWM: what wait4() tells of a child is never less than its parent's.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", _THEN_TELL_PEAK, *words],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, int(done.stdout.split()[-1]) / 1024
