"""A month of a large fleet as typed tables: 2,000 nodes × 8 GPUs, 20,000 jobs, 50 M steps at 1.

A first-come scheduler places gangs of 1 to 256 nodes; attempts fail, lose what was not saved, and
restart. Half of the jobs log where a step begins, so that saves lie between steps; the others log
ends alone, so that saves lie inside of steps. Sizes below 1 shorten the month.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import duckdb
import numpy as np
import polars as pl

from goodput.lake import Lake

START = datetime(2026, 2, 2, tzinfo=UTC)
NODES, GPUS, JOBS, DAYS = 2_000, 8, 20_000, 28
CONDITIONS_PER_NODE = 750
_MINUTE = 60_000
_DAY = 1440 * _MINUTE
_MAX_ATTEMPTS = 12
_FILL = 0.55
"""Work asked for over the fleet's time; queues and failed attempts take more."""


@dataclass(frozen=True)
class Plan:
    """Attempts, one row each, and which nodes each one holds (attempt row, node)."""

    attempts: pl.DataFrame
    holds: pl.DataFrame
    length_ms: int


def end_of(size: float) -> datetime:
    """Where the fleet's time ends."""
    return START + timedelta(milliseconds=_length_ms(size))


def publish(lake: Lake, size: float) -> int:
    """Publishes the fleet, steps day by day as collectors would; how many steps there are."""
    plan = _schedule(size)
    steps = 0
    with duckdb.connect() as con:
        con.execute("set TimeZone = 'UTC'")
        con.register("attempt_plan", plan.attempts.to_arrow())
        con.register("holds", plan.holds.to_arrow())
        origin = int(START.timestamp() * 1000)
        con.execute(f"create macro instant(ms) as make_timestamptz(({origin} + ms::bigint) * 1000)")
        values = {"$length": plan.length_ms, "$conditions": int(CONDITIONS_PER_NODE * size)}
        for table, sql in _TABLES.items():
            for name, value in values.items():
                sql = sql.replace(name, str(value))  # noqa: PLW2901 - filled in step by step
            _publish(lake, table, con.sql(sql).pl())
        for low in range(0, plan.length_ms, _DAY):
            frame = con.sql(_STEPS, params={"low": low, "high": low + _DAY}).pl()
            steps += frame.height
            _publish(lake, "steps", frame)
    return steps


def _publish(lake: Lake, table: str, frame: pl.DataFrame) -> None:
    lake.publish({table: frame}, ingested_from="benchmark", ingested_at=None)


def _length_ms(size: float) -> int:
    return int(DAYS * _DAY * size)


def _schedule(size: float) -> Plan:
    rng = np.random.default_rng(7)
    length, jobs = _length_ms(size), int(JOBS * size)
    gangs = _gangs(rng, jobs)
    arrivals = np.sort(rng.integers(0, length, jobs))
    share = rng.lognormal(0, 0.7, jobs)
    work_ms = share / (share * gangs).sum() * NODES * length * _FILL
    free = np.zeros(NODES, dtype=np.int64)
    rows: list[tuple[int, ...]] = []
    held: list[np.ndarray] = []
    for job in range(jobs):
        for attempt in _attempts(rng, job, int(gangs[job]), int(arrivals[job]), work_ms[job]):
            nodes = np.argpartition(free, gangs[job] - 1)[: gangs[job]]
            begin = max(attempt.earliest, int(free[nodes].max()))
            if begin >= length:
                break
            row = attempt.placed(begin)
            rows.append(row)
            held.append(nodes)
            free[nodes] = row[_COLUMNS.index("end_ms")]
    attempts = pl.DataFrame(rows, schema=dict.fromkeys(_COLUMNS, pl.Int64), orient="row")
    attempts = attempts.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    counts = [len(nodes) for nodes in held]
    holds = pl.DataFrame(
        {"row": np.repeat(np.arange(len(held)), counts), "node": np.concatenate(held)}
    )
    return Plan(attempts, holds, length)


def _gangs(rng: np.random.Generator, jobs: int) -> np.ndarray:
    """Nodes per job: most are small, one in twenty takes 128 or more."""
    kind = rng.random(jobs)
    small, large, huge = (
        rng.integers(2, 9, jobs),
        rng.choice([16, 24, 32, 48, 64], jobs),
        rng.choice([128, 192, 256], jobs),
    )
    return np.select([kind <= 0.6, kind <= 0.8, kind <= 0.95], [1, small, large], huge)


_COLUMNS = (
    "job", "attempt", "queued_ms", "start_ms", "running_ms", "train_ms", "end_ms", "is_failed",
    "first_step", "step_count", "step_ms", "save_every", "save_ms", "slow_from", "slow_to",
    "slow_ms",
)  # fmt: skip


@dataclass
class _Attempt:
    """One attempt before it has a place."""

    job: int
    number: int
    earliest: int
    startup: int
    restore: int
    first_step: int
    step_count: int
    step_ms: int
    save_every: int
    save_ms: int
    slow: tuple[int, int, int]
    tail: int
    is_failed: bool
    end_ms: int = 0

    def placed(self, begin: int) -> tuple[int, ...]:
        """Its row of the plan when it begins then."""
        slow_from, slow_to, slow_ms = self.slow
        train = begin + self.startup + self.restore
        body = (
            self.step_count * self.step_ms
            + self.step_count // self.save_every * self.save_ms
            + slow_ms * (slow_to - slow_from)
        )
        self.end_ms = train + body + self.tail
        return (
            self.job, self.number, self.earliest, begin, begin + self.startup, train, self.end_ms,
            int(self.is_failed), self.first_step, self.step_count, self.step_ms, self.save_every,
            self.save_ms, slow_from, slow_to, slow_ms,
        )  # fmt: skip


def _attempts(
    rng: np.random.Generator, job: int, gang: int, arrival: int, work_ms: float
) -> Iterator[_Attempt]:
    """The attempts of a job until its work is done; each one starts after the one before."""
    step_ms = int(rng.uniform(1_600, 5_600))
    save_every, save_ms = 1800_000 // step_ms, int(rng.uniform(15_000, 60_000))
    saved, earliest, left = 0, arrival, work_ms
    for number in range(1, _MAX_ATTEMPTS + 1):
        lifetime = rng.exponential(40 * 60 * _MINUTE / gang**0.5)
        is_failed = lifetime < left
        count = int(min(left, lifetime) // step_ms)
        slow = (
            (count // 2, count * 7 // 10, step_ms * 2 // 5) if _is_slow(rng, count) else (0, 0, 0)
        )
        attempt = _Attempt(
            job, number, earliest, int(rng.uniform(2, 10) * _MINUTE),
            int(rng.uniform(1, 5) * _MINUTE) if saved else 0, saved + 1, count, step_ms,
            save_every, save_ms, slow, int(rng.uniform(5, 15) * _MINUTE) if is_failed else 5_000,
            is_failed,
        )  # fmt: skip
        yield attempt
        if not is_failed:
            return
        left -= count // save_every * save_every * step_ms
        saved += count // save_every * save_every
        earliest = attempt.end_ms + int(rng.uniform(1, 5) * _MINUTE)


def _is_slow(rng: np.random.Generator, count: int) -> bool:
    return bool(rng.random() < 0.005) and count > 200


# Columns of each typed table. `attempt_plan` has a row per attempt, `holds` one per attempt and
# node, `instant` makes an instant of milliseconds.
_TABLES = {
    "nodes": f"""
        select concat('node-', i) as node_uid, 'train' as pool, {GPUS} as gpus,
            instant(0) as registered_at, instant(0) as ready_at
        from range({NODES}) as t (i)""",
    "node_conditions": f"""
        with cuts as (
            select i as node, k, ($length * (k + (hash(i, k) % 1000) / 1100.0)
                / $conditions)::bigint as ms, hash(k, i) % 1000 as luck
            from range({NODES}) as t (i), range($conditions) as u (k)
        ),
        spans as (select *, lead(ms) over (partition by node order by k) as next_ms from cuts)
        select concat('node-', node) as node_uid,
            case when luck < 15 then 'Ready' when luck < 90 then 'MemoryPressure'
                when luck < 300 then 'DiskPressure' else 'Ready' end as type,
            case when luck < 15 then 'False' when luck < 90 then 'True' when luck < 300
                then 'False' else 'True' end as status,
            'Kubelet' as reason, instant(ms) as "from", instant(next_ms) as "to"
        from spans""",
    "node_admin": f"""
        select concat('node-', i) as node_uid, 'cordon' as kind,
            instant(($length * (k + 0.2) / 6)::bigint) as "from",
            instant(($length * (k + 0.21) / 6)::bigint) as "to"
        from range({NODES}) as t (i), range(6) as u (k)""",
    "jobs": """
        select concat('job-', job) as job,
            case when bool_or(is_failed = 0 and end_ms < $length) then 'succeeded'
                else 'running' end as state,
            case when bool_or(is_failed = 0 and end_ms < $length) then instant(max(end_ms)) end
                as ended_at
        from attempt_plan group by job""",
    "attempts": """
        select concat('job-', job) as job, attempt, instant(start_ms) as start,
            case when end_ms < $length then instant(end_ms) end as "end",
            case when end_ms >= $length then 'running' when is_failed = 1 then 'failed'
                else 'succeeded' end as outcome,
            first_step - 1 as resume_step
        from attempt_plan""",
    "queue": """
        select concat('job-', job) as job, attempt, 'train' as pool, count(*) as pods,
            8 as gpus_per_pod, instant(any_value(queued_ms)) as "from",
            instant(any_value(start_ms)) as "to"
        from attempt_plan inner join holds using (row) group by job, attempt""",
    "pods": """
        select concat('pod-', row, '-', node) as pod_uid, concat('job-', job) as job, attempt,
            concat('node-', node) as node_uid, 8 as gpus, instant(start_ms) as bound_at,
            instant(running_ms - (hash(node) % 1000)::bigint) as running_at,
            case when end_ms < $length then instant(end_ms) end as terminated_at,
            case when is_failed = 1 and end_ms < $length then 1 end as exit_code
        from attempt_plan inner join holds using (row)""",
    "checkpoints": """
        select concat('job-', job) as job, attempt, first_step - 1 + k * save_every as step,
            instant(done_ms - save_ms) as write_start, instant(done_ms) as committed_at
        from (
            select *, train_ms + k * (save_every * step_ms + save_ms)
                + slow_ms * least(greatest(k * save_every - slow_from, 0), slow_to - slow_from)
                    as done_ms
            from attempt_plan, range(1, 1 + step_count // save_every) as t (k)
        )""",
    "phases": """
        select concat('job-', job) as job, attempt, 'ckpt_save' as kind,
            instant(done_ms - save_ms) as start, instant(done_ms) as "end"
        from (
            select *, train_ms + k * (save_every * step_ms + save_ms)
                + slow_ms * least(greatest(k * save_every - slow_from, 0), slow_to - slow_from)
                    as done_ms
            from attempt_plan, range(1, 1 + step_count // save_every) as t (k)
        )""",
    "evidence": """
        select instant(max(end_ms) - 600000) as t, 'xid' as source, '79' as value,
            concat('node-', min(node)) as node_uid
        from attempt_plan inner join holds using (row)
        where is_failed = 1 and end_ms < $length group by row""",
}
# Step k of an attempt ends at a closed form.
_STEPS = """
    select concat('job-', job) as job, attempt, first_step + k as step,
        case when job % 2 = 0 then instant(start_ms) end as start, instant(end_ms) as "end"
    from (
        select *, end_ms - step_ms - extra_ms as start_ms
        from (
            select job, attempt, first_step, step_ms, k,
                case when k >= slow_from and k < slow_to then slow_ms else 0 end as extra_ms,
                train_ms + (k + 1) * step_ms + k // save_every * save_ms
                + slow_ms * least(greatest(k + 1 - slow_from, 0), slow_to - slow_from) as end_ms
            from attempt_plan, range(step_count) as t (k)
            where train_ms < $high and attempt_plan.end_ms > $low
        )
    )
    where end_ms >= $low and end_ms < $high
    order by job, attempt, step
"""
