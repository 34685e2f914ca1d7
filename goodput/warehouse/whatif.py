"""What the recorded failures would have cost under other settings: the ledger, replayed.

No formula and no chance: every attempt begins and every failure strikes when it did. What a change
sets free becomes work of the same job, saved and lost like the rest (sql/whatif/replay.sql).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from goodput._resources import resource_dir
from goodput.errors import NoData, UsageError
from goodput.warehouse.build import restore_variables
from goodput.warehouse.named import require

UNITS_PER_GPU_HOUR = 5040 * 3_600_000
PRODUCTIVE = "A.productive."

MOST_SPARES = 100_000
LONGEST_S = 1_000_000_000
"""Some thirty years: sums of it in milliseconds stay far inside 64 bits."""


@dataclass(frozen=True)
class Change:
    """What is otherwise.

    Attributes:
        checkpoint_interval_s: working seconds between checkpoints, 1 to LONGEST_S; None leaves what
            was.
        restart_s: seconds from the start of a restarted attempt to its first step, 0 to LONGEST_S.
        spares: hot spare nodes in every pool that lost one, 0 to MOST_SPARES, paid for the whole
            window.
        without_nodes: names or uids of nodes that never fail.
        job: name or key of the only job that the first two go for.
    """

    checkpoint_interval_s: float | None = None
    restart_s: float | None = None
    spares: int = 0
    without_nodes: Sequence[str] = ()
    job: str | None = None


@dataclass(frozen=True)
class StateChange:
    """One state of the ledger, before and after; in units x ms, 5040 units a GPU."""

    cluster: str
    state: str
    before_unit_ms: int
    after_unit_ms: int

    @property
    def before_gpu_hours(self) -> float:
        """What was booked."""
        return self.before_unit_ms / UNITS_PER_GPU_HOUR

    @property
    def after_gpu_hours(self) -> float:
        """What would have been booked."""
        return self.after_unit_ms / UNITS_PER_GPU_HOUR

    @property
    def delta_gpu_hours(self) -> float:
        """How much more."""
        return (self.after_unit_ms - self.before_unit_ms) / UNITS_PER_GPU_HOUR


def replay(con: duckdb.DuckDBPyConnection, change: Change) -> list[StateChange]:
    """The ledger of the window before and after a change, state by state.

    Either side sums to what is paid, which only spares change.

    Args:
        con: a built warehouse.

    Raises:
        UsageError: nothing is changed, a value cannot be, or a node or job is not in the build.
        NoData: the build is older than the tables this reads.
    """
    _refuse_odd(change)
    try:
        restore_variables(con)
        nodes = [uid for name in change.without_nodes for uid in _nodes(con, name)]
        _set(con, "healed_nodes", nodes, "varchar[]")
        _set(con, "chosen_job", _job(con, change.job), "varchar")
        _set(con, "interval_ms", _milliseconds(change.checkpoint_interval_s), "bigint")
        _set(con, "restart_ms", _milliseconds(change.restart_s), "bigint")
        spared, spares = _spares(con, change.spares)
        _set(con, "spared", spared, "struct(cluster varchar, job varchar, attempt integer)[]")
        _set(con, "spares", spares, "struct(cluster varchar, gpus hugeint)[]")
        rows = con.execute(_sql("replay")).fetchall()
    except duckdb.CatalogException:
        raise NoData("this build cannot be replayed; run `goodput build` again") from None
    return [
        StateChange(cluster, state, int(before), int(after))
        for cluster, state, before, after in rows
    ]


def _refuse_odd(change: Change) -> None:
    if change == Change(job=change.job):
        raise UsageError(
            "nothing is changed; give another checkpoint interval, restart time, spares or nodes"
        )
    for thing, value, least, most, unit in (
        ("a checkpoint interval is", change.checkpoint_interval_s, 1, LONGEST_S, "seconds"),
        ("a restart takes", change.restart_s, 0, LONGEST_S, "seconds"),
        ("a pool has", change.spares, 0, MOST_SPARES, "spares"),
    ):
        if value is not None and not least <= value <= most:  # so is nan
            raise UsageError(f"{thing} {least} to {most} {unit}, not {value}")


def _nodes(con: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    return [uid for _, uid in require(con, "node", name)]


def _job(con: duckdb.DuckDBPyConnection, name: str | None) -> str | None:
    if name is None:
        return None
    keys = [key for _, key in require(con, "job", name)]
    if len(keys) > 1:
        listing = ", ".join(keys[:5])
        raise UsageError(f"several jobs are named {name!r}; give the key of one: {listing}")
    return keys[0]


def _spares(
    con: duckdb.DuckDBPyConnection, count: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The ends after which a spare of the pool was free, and the spares that are paid for.

    A spare is taken by the first failure that finds it free, until the failed node is back.
    """
    if not count:
        return [], []
    busy_until: dict[tuple[str, str], list[int]] = {}
    gpus_of: dict[tuple[str, str], int] = {}
    spared = []
    for cluster, pool, job, attempt, started, back, gpus in con.execute(
        _sql("spare_uses")
    ).fetchall():
        place = (cluster, pool)
        taken = busy_until.setdefault(place, [])
        gpus_of[place] = max(gpus, gpus_of.get(place, 0))
        while taken and taken[0] <= started:
            heapq.heappop(taken)
        if len(taken) < count:
            heapq.heappush(taken, back)
            spared.append({"cluster": cluster, "job": job, "attempt": attempt})
    paid = [
        {"cluster": cluster, "gpus": gpus * count} for (cluster, _), gpus in sorted(gpus_of.items())
    ]
    return spared, paid


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def _set(con: duckdb.DuckDBPyConnection, name: str, value: object, kind: str) -> None:
    con.execute(f"set variable {name} = cast(? as {kind})", [value])


def _sql(name: str) -> str:
    return (resource_dir("sql") / "whatif" / f"{name}.sql").read_text(encoding="utf-8")
