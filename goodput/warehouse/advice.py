"""What to change in the fleet, and what each change would gain, from the counts of a build.

SQL counts (report.checkpoint_habits, lemon_nodes, pool_failures, hang_detection, retries); here
stand the rules for when a count suffices for advice (STANDARD 5.6, 5.7). Gains are per week.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb

from goodput.checkpointing import (
    availability_interval,
    daly_interval,
    expected_ettr,
    first_order_ettr,
    practical_interval,
    spares_needed,
    young_interval,
)
from goodput.errors import NoData
from goodput.estimates import clopper_pearson, count_interval, rate_interval
from goodput.suspicion import suspicions

ENOUGH_FAILURES = 5
LEAST_GAIN = 0.005
SPARE_TARGET = 0.99
ENOUGH_RETRIES = 3
ENOUGH_HANGS = 2
LEAST_GPU_HOURS = 1.0
SUSPECT_P = 0.05
_WEEK_HOURS = 168

Row = dict[str, Any]


@dataclass(frozen=True)
class Advice:
    """One change and its gain.

    Attributes:
        advice: checkpoint_interval, remove_node, watch_node, spare_nodes, hang_timeout, retry_rule.
        subject: the job, node, pool or failure class that it is about, as people name it.
        current: what is in force, in `unit`; None where that is not known.
        proposed: what would be better, in `unit`.
        gain_gpu_hours: what it would gain in a week, with the ends of its 95 % interval.
        gain_money: the gain at the price of a GPU-hour; None without one.
        event_count: the events that it rests on.
        is_recommended: whether they suffice.
        reason: why, or why not.
        details: the other numbers that went in.
    """

    advice: str
    cluster: str
    subject: str
    current: float | None = None
    proposed: float | None = None
    unit: str = ""
    gain_gpu_hours: float | None = None
    gain_low: float | None = None
    gain_high: float | None = None
    gain_money: float | None = None
    event_count: int = 0
    is_recommended: bool = False
    reason: str = ""
    details: Row = field(default_factory=dict)


def advise(
    con: duckdb.DuckDBPyConnection, *, price: float | None = None, target: float = SPARE_TARGET
) -> list[Advice]:
    """All advice that a build gives, what is recommended and gains most first.

    Args:
        con: a built warehouse.
        price: money per GPU-hour; None takes the mean price of the cluster's GPUs, if the build
            knows prices.
        target: the share of time in which no failed node shall lack a spare.

    Raises:
        NoData: the build is older than the tables this reads.
    """
    try:
        weeks = _window_hours(con) / _WEEK_HOURS
        found = [
            *_checkpoints(con, weeks),
            *_lemons(con, weeks),
            *_suspects(con),
            *_spares(con, target),
            *_hangs(con, weeks),
            *_retries(con, weeks),
        ]
        prices = _prices(con)
    except duckdb.CatalogException:
        raise NoData("this build has no tables for advice; run `goodput build` again") from None
    return sorted(
        (_priced(one, prices.get(one.cluster) if price is None else price) for one in found),
        key=lambda one: (
            not one.is_recommended,
            -(one.gain_gpu_hours or 0),
            one.advice,
            one.cluster,
            one.subject,
        ),
    )


def _priced(advice: Advice, price: float | None) -> Advice:
    if price is None or advice.gain_gpu_hours is None:
        return advice
    return replace(advice, gain_money=advice.gain_gpu_hours * price)


def _prices(con: duckdb.DuckDBPyConnection) -> dict[str, float]:
    """What a GPU-hour costs in each cluster that has prices, on average over its GPUs."""
    rows = con.execute(
        """
        select price.cluster, sum(price.micro * pool.gpus) / sum(pool.gpus) / 1e6
        from (
            select cluster, pool, arg_max(microdollars_per_gpu_hour, started_at) as micro
            from staged.prices
            where started_at < (select window_end from meta.build)
            group by cluster, pool
        ) as price
        inner join (
            select cluster, pool, sum(gpus) as gpus from staged.nodes group by cluster, pool
        ) as pool using (cluster, pool)
        group by price.cluster
        having sum(pool.gpus) > 0
        """
    ).fetchall()
    return dict(rows)


def _checkpoints(con: duckdb.DuckDBPyConnection, weeks: float) -> Iterator[Advice]:
    for row in _rows(con, "report.checkpoint_habits", "cluster, job"):
        yield _checkpoint(row, weeks)


def _checkpoint(row: Row, weeks: float) -> Advice:
    """The interval that pays best; recommended if its gain is sure."""
    count, hours = row["failure_count"], row["exposure_hours"]
    advice = Advice(
        "checkpoint_interval",
        row["cluster"],
        row["job_name"],
        current=row["interval_s"],
        unit="seconds",
        event_count=count,
        details={"job": row["job"], "rate_basis": row["rate_basis"], "nodes": row["node_count"]},
    )
    if count < ENOUGH_FAILURES or not hours:
        few = f"too few interruptions: {count}, {ENOUGH_FAILURES} are needed"
        return replace(advice, reason=few)
    if row["interval_s"] is None or not row["interval_s"] > 0:
        return replace(advice, reason="its checkpoint interval is not observed")
    if row["save_s"] is None or not row["save_s"] > 0:
        return replace(advice, reason="no checkpoint was seen to cost anything")
    return _with_interval(advice, row, weeks)


def _with_interval(advice: Advice, row: Row, weeks: float) -> Advice:
    now, save = row["interval_s"], row["save_s"]
    restart = (row["restart_s"] or 0) + max(0, row["queue_s"] or 0)
    exposure = row["exposure_hours"] * 3600
    rate = row["failure_count"] / exposure
    better = practical_interval(save, 1 / rate, row["step_s"])
    ends = rate_interval(row["failure_count"], exposure)
    low, point, high = (
        expected_ettr(at, restart, better, save) - expected_ettr(at, restart, now, save)
        for at in (ends.low, rate, ends.high)
    )
    first_order = first_order_ettr(rate, restart, now, save)
    hours = row["gpu_hours"] / weeks
    is_sure = min(low, high) > LEAST_GAIN
    is_bound = row["rate_basis"] == "nodes" and better > now
    if is_bound:
        verdict = "failures of nodes alone are a lower bound, and no reason to save less often"
    elif is_sure:
        verdict = (
            f"the gain of {min(low, high):.1%} to {max(low, high):.1%} "
            "holds at both ends of the rate"
        )
    else:
        verdict = f"the gain is not surely above {LEAST_GAIN:.1%}"
    basis = "its own" if row["rate_basis"] == "job" else f"of {row['rate_basis']}"
    return replace(
        advice,
        proposed=better,
        gain_gpu_hours=point * hours,
        gain_low=min(low, point, high) * hours,
        gain_high=max(low, point, high) * hours,
        is_recommended=is_sure and not is_bound,
        reason=f"{row['failure_count']} interruptions ({basis}); {verdict}",
        details={
            **advice.details,
            "save_s": save,
            "restart_s": restart,
            "mttf_s": 1 / rate,
            "mttf_low_s": 1 / ends.high,
            "mttf_high_s": 1 / ends.low,
            "young_s": young_interval(save, 1 / rate),
            "daly_s": daly_interval(save, 1 / rate),
            "availability_s": availability_interval(save, 1 / rate, restart),
            "ettr_now": expected_ettr(rate, restart, now, save),
            "ettr_proposed": expected_ettr(rate, restart, better, save),
            "ettr_now_first_order": first_order.value,
            "is_first_order_valid": first_order.is_valid,
        },
    )


def _lemons(con: duckdb.DuckDBPyConnection, weeks: float) -> Iterator[Advice]:
    signals = (
        "excluding_job_count",
        "xid_count",
        "repair_count",
        "outage_count",
        "multi_node_failure_count",
        "single_node_failure_count",
        "single_node_failure_rate",
    )
    for row in _rows(con, "report.lemon_nodes", "q_value, cluster, node_uid"):
        count, gain = row["failure_count"], row["cost_gpu_hours"] / weeks
        chance = count_interval(count)
        yield Advice(
            "remove_node",
            row["cluster"],
            row["node_name"],
            current=count,
            proposed=0,
            unit="failures in 28 days",
            gain_gpu_hours=gain,
            gain_low=gain * chance.low / count,
            gain_high=gain * chance.high / count,
            event_count=count,
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
                **{name: row[name] for name in signals},
            },
        )


def _suspects(con: duckdb.DuckDBPyConnection) -> Iterator[Advice]:
    names = {
        (cluster, node): name
        for cluster, node, name in con.execute(
            "select cluster, node_uid, name from staged.nodes"
        ).fetchall()
    }
    clusters: dict[str, tuple[list[list[str]], list[bool]]] = {}
    for row in _rows(con, "report.unattributed_gangs", "cluster, job, attempt"):
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
                    f"in {one.failure_count} gangs that failed for no known reason; odds of chance "
                    f"{one.p_value:.2g}; test it before you take it out"
                ),
                details={"node_uid": one.node, "p_value": one.p_value},
            )


def _spares(con: duckdb.DuckDBPyConnection, target: float) -> Iterator[Advice]:
    window = _window_hours(con)
    for row in _rows(con, "report.pool_failures", "cluster, pool"):
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
                f"{low} to {high} spares suffice"
            ),
            details={
                "nodes": row["node_count"],
                "load": load,
                "target": target,
                "proposed_low": low,
                "proposed_high": high,
            },
        )


def _hangs(con: duckdb.DuckDBPyConnection, weeks: float) -> Iterator[Advice]:
    for row in _rows(con, "report.hang_detection", "cluster, job"):
        # Twice the longest silence that was none: a time-out that fires in it would cost a restart.
        longest = max(row["shortest_hang_s"], row["recovered_s"] or 0)
        proposed = 10 * math.ceil(2 * longest / 10)
        saved = sum(
            max(0, seconds - proposed) * (gpus or 0) / 3600
            for seconds, gpus in zip(row["detections_s"], row["hung_gpus"], strict=True)
        )
        known = "none yet" if row["recovered_s"] is None else f"{row['recovered_s']:.0f} s"
        yield Advice(
            "hang_timeout",
            row["cluster"],
            row["job_name"],
            current=row["median_detection_s"],
            proposed=proposed,
            unit="seconds",
            gain_gpu_hours=saved / weeks,
            event_count=row["hang_count"],
            is_recommended=saved / weeks >= LEAST_GPU_HOURS and row["hang_count"] >= ENOUGH_HANGS,
            reason=(
                f"{row['hang_gpu_hours']:.1f} GPU-hours hung until somebody ended the attempt; "
                f"longest silence that training came back from: {known}"
            ),
            details={"job": row["job"], "detections_s": row["detections_s"]},
        )


def _retries(con: duckdb.DuckDBPyConnection, weeks: float) -> Iterator[Advice]:
    for row in _rows(con, "report.retries", "cluster, class"):
        count, helped = row["retry_count"], row["helped_count"]
        if not count or helped == count:
            continue
        by_itself = row["retry_default"] == "auto"
        chance = clopper_pearson(helped, count)
        rule = {"no": "do not retry it", "after_fix": "retry it after a fix only"}
        yield Advice(
            "retry_rule",
            row["cluster"],
            row["class"],
            current=helped / count,
            unit="share of retries that helped",
            gain_gpu_hours=row["wasted_gpu_hours"] / weeks,
            event_count=count,
            is_recommended=helped == 0 and (not by_itself or count >= ENOUGH_RETRIES),
            reason=(
                f"{helped} of {count} retries got further (at most {chance.high:.0%} may); "
                + rule.get(row["retry_default"], "let a person look before the next retry")
            ),
            details={"domain": row["domain"], "share_low": chance.low, "share_high": chance.high},
        )


def _window_hours(con: duckdb.DuckDBPyConnection) -> float:
    hours: float = con.execute(
        "select (epoch_ms(window_end) - epoch_ms(window_start)) / 3600000 from meta.build"
    ).fetchall()[0][0]
    return hours


def _rows(con: duckdb.DuckDBPyConnection, table: str, order: str) -> list[Row]:
    result = con.execute(f"select * from {table} order by {order}")
    names = [column[0] for column in result.description or []]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
