"""Advice about nodes: lemons to remove, suspects to watch, spares to keep (STANDARD 5.7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import duckdb

from goodput.checkpointing import spares_needed
from goodput.estimates import count_interval
from goodput.suspicion import suspicions
from goodput.texts import counted
from goodput.warehouse.advice_rows import ENOUGH_FAILURES, Advice, Row, read_rows, window_hours
from goodput.warehouse.whatif import PRODUCTIVE, Change, replay

SUSPECT_P = 0.05

_LEMON_SIGNALS = (
    "excluding_job_count",
    "xid_count",
    "repair_count",
    "outage_count",
    "multi_node_failure_count",
    "single_node_failure_count",
    "single_node_failure_rate",
)


def lemon_advice(con: duckdb.DuckDBPyConnection, weeks: float, replays: int) -> Iterator[Advice]:
    """Nodes that failed, and what their removal gains; replayed for so many that are lemons."""
    for row in read_rows(con, "report.lemon_nodes", "q_value, cluster, node_uid"):
        advice = _lemon(row, weeks)
        if advice.is_recommended and replays > 0:
            replays -= 1
            advice = _gaining(advice, _replayed_hours(con, row["node_uid"]) / weeks)
            advice = replace(advice, reason=f"{advice.reason}; gain by replay")
        else:
            advice = replace(advice, reason=f"{advice.reason}; gain at most")
        yield advice


def _lemon(row: Row, weeks: float) -> Advice:
    advice = Advice(
        "remove_node",
        row["cluster"],
        row["node_name"],
        current=row["failure_count"],
        proposed=0,
        unit="failures in 28 days",
        event_count=row["failure_count"],
        is_recommended=row["is_lemon"] and not row["is_gone"],
        reason=(
            f"{', '.join(row['classes'])}; by chance at odds of {row['p_value']:.2g}, with all "
            f"nodes looked at {row['q_value']:.2g}"
            + ("; it is gone already" if row["is_gone"] else "")
        ),
        details={
            "node_uid": row["node_uid"],
            "exposure_hours": row["exposure_hours"],
            "p_value": row["p_value"],
            "q_value": row["q_value"],
            **{name: row[name] for name in _LEMON_SIGNALS},
        },
    )
    return _gaining(advice, row["cost_gpu_hours"] / weeks)


def _gaining(advice: Advice, hours: float) -> Advice:
    """With a gain whose interval is that of the failures it rests on."""
    chance = count_interval(advice.event_count)
    low, high = (hours * end / advice.event_count for end in (chance.low, chance.high))
    return replace(advice, gain_gpu_hours=hours, gain_low=low, gain_high=high)


def _replayed_hours(con: duckdb.DuckDBPyConnection, node_uid: str) -> float:
    """GPU-hours of progress that the window would have held without the failures of a node."""
    states = replay(con, Change(without_nodes=[node_uid]))
    return sum(row.delta_gpu_hours for row in states if row.state.startswith(PRODUCTIVE))


def suspect_advice(con: duckdb.DuckDBPyConnection) -> Iterator[Advice]:
    """Nodes that were in too many gangs that failed for no known reason."""
    names = {
        (cluster, node): name
        for cluster, node, name in con.execute(
            "select cluster, node_uid, name from staged.nodes"
        ).fetchall()
    }
    clusters: dict[str, tuple[list[list[str]], list[bool]]] = {}
    for row in read_rows(con, "report.unattributed_gangs", "cluster, job, attempt"):
        gangs, failed = clusters.setdefault(row["cluster"], ([], []))
        gangs.append(row["nodes"])
        failed.append(row["is_failed"])
    for cluster, (gangs, failed) in sorted(clusters.items()):
        for one in suspicions(gangs, failed):
            if one.p_value > SUSPECT_P:
                continue
            yield Advice(
                "watch_node",
                cluster,
                names.get((cluster, one.node), one.node),
                current=one.score,
                unit="suspicion",
                event_count=one.failure_count,
                reason=(
                    f"in {counted(one.failure_count, 'gang')} that failed for no known reason; "
                    f"odds of chance {one.p_value:.2g}; test it before you take it out"
                ),
                details={"node_uid": one.node, "p_value": one.p_value},
            )


def spare_advice(con: duckdb.DuckDBPyConnection, target: float) -> Iterator[Advice]:
    """How many spares cover the failed nodes of each pool for the wanted share of the time."""
    window = window_hours(con)
    for row in read_rows(con, "report.pool_failures", "cluster, pool"):
        count = row["failure_count"]
        if not count:
            continue
        load = row["out_hours"] / window
        chance = count_interval(count)
        low, high = (
            spares_needed(load * events / count, target) for events in (chance.low, chance.high)
        )
        yield Advice(
            "spare_nodes",
            row["cluster"],
            row["pool"],
            proposed=spares_needed(load, target),
            unit="nodes",
            event_count=count,
            is_recommended=count >= ENOUGH_FAILURES,
            reason=(
                f"{load:.2f} nodes are out for a failure at a time; for {target:.1%} of the time "
                f"{f'{low} to ' if low < high else ''}{counted(high, 'spare')} would do"
            ),
            details={
                "nodes": row["node_count"],
                "load": load,
                "target": target,
                "proposed_low": low,
                "proposed_high": high,
            },
        )
