"""What to change in the fleet, and what each change would gain, from the counts of a build.

SQL counts (report.checkpoint_habits, lemon_nodes, pool_failures, hang_detection, retries); here
stand the rules for when a count suffices for advice (STANDARD 5.6, 5.7). Gains are per week.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import duckdb

from goodput.checkpointing import (
    availability_interval,
    daly_interval,
    expected_ettr,
    first_order_ettr,
    practical_interval,
    young_interval,
)
from goodput.errors import NoData, UsageError
from goodput.estimates import clopper_pearson, rate_interval
from goodput.texts import counted
from goodput.warehouse.advice_rows import ENOUGH_FAILURES, Advice, Row, read_rows, window_hours
from goodput.warehouse.node_advice import lemon_advice, spare_advice, suspect_advice

LEAST_GAIN = 0.005
SPARE_TARGET = 0.99
HIGHEST_PRICE = 1_000_000_000
ENOUGH_RETRIES = 3
ENOUGH_HANGS = 2
LEAST_GPU_HOURS = 1.0
LEMONS_REPLAYED = 5
_WEEK_HOURS = 168


def advise(
    con: duckdb.DuckDBPyConnection,
    *,
    price: float | None = None,
    target: float = SPARE_TARGET,
    replays: int = LEMONS_REPLAYED,
) -> list[Advice]:
    """All advice that a build gives, what is recommended and gains most first.

    Args:
        con: a built warehouse.
        price: money per GPU-hour; None takes the mean price of the cluster's GPUs, if the build
            knows prices.
        target: the share of time in which no failed node shall lack a spare.
        replays: of how many lemons the gain is that of the window replayed without their failures;
            of the others it is all that they cost, which is more than their absence would save.

    Raises:
        UsageError: a price that is no amount, or a target that is no share between 0 and 1.
        NoData: the build is older than the tables this reads.
    """
    if price is not None and not 0 <= price <= HIGHEST_PRICE:
        raise UsageError(f"a price is 0 to {HIGHEST_PRICE} for a GPU-hour, not {price}")
    if not 0 < target < 1:
        raise UsageError(f"the target of spares is a share between 0 and 1, not {target}")
    try:
        weeks = window_hours(con) / _WEEK_HOURS
        found = [
            *_checkpoints(con, weeks),
            *lemon_advice(con, weeks, replays),
            *suspect_advice(con),
            *spare_advice(con, target),
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
    for row in read_rows(con, "report.checkpoint_habits", "cluster, job"):
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
        few = f"too few interruptions: {count} of the {ENOUGH_FAILURES} that are needed"
        return replace(advice, reason=few)
    if row["interval_s"] is None or not row["interval_s"] > 0:
        return replace(advice, reason="its checkpoint interval is not observed")
    if row["save_s"] is None or not row["save_s"] > 0:
        return replace(advice, reason="no checkpoint was seen to cost anything")
    return _with_interval(advice, row, weeks)


def _with_interval(advice: Advice, row: Row, weeks: float) -> Advice:
    now, save, count = row["interval_s"], row["save_s"], row["failure_count"]
    restart = (row["restart_s"] or 0) + max(0, row["queue_s"] or 0)
    exposure = row["exposure_hours"] * 3600
    rate = count / exposure
    better = practical_interval(save, 1 / rate, row["step_s"])
    ends = rate_interval(count, exposure)
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
        reason=f"{counted(count, 'interruption')} ({basis}); {verdict}",
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


def _hangs(con: duckdb.DuckDBPyConnection, weeks: float) -> Iterator[Advice]:
    for row in read_rows(con, "report.hang_detection", "cluster, job"):
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
    for row in read_rows(con, "report.retries", "cluster, class"):
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
                f"{helped} of {counted(count, 'retry', 'retries')} got further "
                f"(at most {chance.high:.0%} may); "
                + rule.get(row["retry_default"], "let a person look before the next retry")
            ),
            details={"domain": row["domain"], "share_low": chance.low, "share_high": chance.high},
        )
