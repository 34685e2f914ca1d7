"""The first screen: the numbers that decide something, each with a verdict and a sentence.

A verdict is one of: `met`, `missed`, `undecided` (the interval spans the objective), `too_few`
(fewer than five events: counts instead of a rate), `none` (no objective, or nothing to judge).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from goodput.report.account import BASELINE, Account

Row = dict[str, Any]

TOO_FEW = 5
TOP_CAUSES = 3

# Above this share of allocated time, goodput is an interval and not a number [STANDARD 5.14].
UNKNOWN_LIMIT = 0.10

# Node-seconds per node-hour: the availability metrics count seconds.
HOUR = 3600


def make_headline(
    account: Account,
    metrics: Sequence[Row],
    objectives: dict[str, float],
    not_observed: Sequence[Row],
) -> Row:
    """Everything the first screen needs.

    Args:
        account: the paid time, rounded.
        metrics: metrics of the scopes fleet and pool.
        objectives: the objective of each metric that has one.
        not_observed: rows of report.not_observed.
    """
    fleet = _fleet_metrics(metrics)
    topics = {row["topic"]: row for row in not_observed}
    headline: Row = {
        "decimals": account.decimals,
        **{f"{name}_gpu_hours": hours for name, hours in account.totals.items()},
        "shown_gpu_hours": account.shown,
        "goodput": _goodput(fleet, topics),
        "top_causes": _top_causes(account),
        "job_success": judge_success(fleet.get("job_success"), objectives.get("job_success")),
        "availability": judge_availability(metrics, objectives.get("node_availability_closed")),
        "money": _money(fleet, account),
        "budgets": _budgets(fleet, objectives),
        "coverage": _coverage(topics, objectives.get("unattributed_share")),
    }
    return headline | {"sentence": make_sentence(headline)}


def _fleet_metrics(metrics: Sequence[Row]) -> dict[str, Row]:
    """Metrics of the whole fleet by name; the sum over clusters (`*`) wins over a single one."""
    fleet = [row for row in metrics if row["scope"] == "fleet"]
    fleet.sort(key=lambda row: bool(row["cluster"] == "*"))
    return {row["metric"]: row for row in fleet}


def _goodput(fleet: dict[str, Row], topics: dict[str, Row]) -> Row:
    names = ("paid", "demand", "available", "allocated", "low", "high")
    goodput: Row = {
        name: fleet[f"goodput_{name}"]["value"] if f"goodput_{name}" in fleet else None
        for name in names
    }
    unknown = topics.get("unknown_time")
    share = _share(unknown)
    spread, demand = fleet.get("goodput_paid", {}), fleet.get("goodput_demand", {})
    most = None
    if unknown and demand.get("denominator"):
        most = (demand["numerator"] + unknown["amount"] * 3600) / demand["denominator"]
    return goodput | {
        "demand_high": most,
        "is_interval": share is not None and share > UNKNOWN_LIMIT,
        "spread_low": spread.get("low"),
        "spread_high": spread.get("high"),
    }


def _money(fleet: dict[str, Row], account: Account) -> Row | None:
    """What was paid and lost in dollars; None where no GPU has a price."""
    cost = fleet.get("cost_dollars", {}).get("value")
    if not cost:
        return None
    lost = (row["lost_dollars"] for row in account.classes if row["class"] != BASELINE)
    return {
        "cost_dollars": cost,
        "lost_dollars": round(sum(dollars or 0 for dollars in lost), 2),
        "priced_share": fleet.get("priced_share", {}).get("value"),
    }


def _budgets(fleet: dict[str, Row], objectives: dict[str, float]) -> list[Row]:
    """The error budget of each objective: what it allowed, and how much of it was burnt.

    `burnt` is 1 where exactly all of it was used. It is None where there was no budget.
    """
    kinds = (
        ("job_success", "success_budget_jobs", "success_budget_burnt"),
        (
            "node_availability_closed",
            "availability_budget_hours",
            "availability_budget_burnt",
        ),
    )
    return [
        {
            "metric": metric,
            "objective": objectives[metric],
            "value": fleet.get(metric, {}).get("value"),
            "budget": fleet[budget]["value"],
            "unit": fleet[budget]["unit"],
            "burnt": fleet.get(burnt, {}).get("value"),
        }
        for metric, budget, burnt in kinds
        if metric in objectives and budget in fleet
    ]


def _top_causes(account: Account) -> list[Row]:
    keys = (
        "class",
        "class_label",
        "domain",
        "owner",
        "action",
        "gpu_hours",
        "shown_gpu_hours",
        "interruption_count",
        "lost_dollars",
    )
    paid = account.totals["paid"]
    causes = [row for row in account.classes if row["class"] != BASELINE and row["gpu_hours"] > 0]
    return [
        {key: row[key] for key in keys}
        | {
            "share_of_paid": row["gpu_hours"] / paid if paid else 0,
            # Most of it was laid to the class with too little confidence to say so [STANDARD 4.5].
            "is_suspected": row["domain"] != "unknown"
            and row["unattributed_gpu_hours"] > row["gpu_hours"] / 2,
        }
        for row in causes[:TOP_CAUSES]
    ]


def _share(topic: Row | None) -> float | None:
    """Amount over whole of one row of report.not_observed."""
    if topic is None or not topic["whole"]:
        return None
    return float(topic["amount"] / topic["whole"])


def judge_success(metric: Row | None, objective: float | None) -> Row:
    """Job success against its objective; a verdict only where the interval allows one."""
    success: Row = {
        "value": None,
        "low": None,
        "high": None,
        "succeeded": 0,
        "ended": 0,
        "objective": objective,
        "verdict": "none",
    }
    if metric is None or not metric["denominator"]:
        return success
    success |= {
        "value": metric["value"],
        "low": metric["low"],
        "high": metric["high"],
        "succeeded": round(metric["numerator"]),
        "ended": round(metric["denominator"]),
    }
    return success | {"verdict": _judge_interval(success)}


def _judge_interval(success: Row) -> str:
    objective, low, high = success["objective"], success["low"], success["high"]
    if objective is None:
        return "none"
    if success["ended"] < TOO_FEW:
        return "too_few"
    if high is not None and high < objective:
        return "missed"
    if low is not None and low >= objective:
        return "met"
    return "undecided"


def judge_availability(metrics: Sequence[Row], objective: float | None) -> list[Row]:
    """Node availability of each pool against its objective, with the error budget it used.

    The worst pool is first, since the first screen has room for a few only. Availability is
    measured over all time in service and not sampled, so it needs no interval.
    """
    pools: dict[tuple[str, str], dict[str, Row]] = {}
    for row in metrics:
        is_pool = row["scope"] == "pool" and row["cluster"] != "*"
        if is_pool and row["metric"].startswith("node_availability_"):
            kind = row["metric"].removeprefix("node_availability_")
            pools.setdefault((row["cluster"], row["scope_value"]), {})[kind] = row
    judged = [
        _judge_pool(cluster, pool, kinds, objective)
        for (cluster, pool), kinds in sorted(pools.items())
        if "closed" in kinds
    ]
    return sorted(judged, key=lambda pool: (pool["closed"] is None, pool["closed"]))


def _judge_pool(cluster: str, pool: str, kinds: dict[str, Row], objective: float | None) -> Row:
    closed = kinds["closed"]
    value = closed["value"]
    in_service = (closed["denominator"] or 0) / HOUR
    verdict = "none"
    if value is not None and objective is not None:
        verdict = "met" if value >= objective else "missed"
    return {
        "cluster": cluster,
        "pool": pool,
        "node_count": closed["event_count"],
        "closed": value,
        "open": kinds.get("open", {}).get("value"),
        "sched": kinds.get("sched", {}).get("value"),
        "objective": objective,
        "in_service_node_hours": in_service,
        "not_ok_node_hours": in_service - (closed["numerator"] or 0) / HOUR,
        "budget_node_hours": None if objective is None else in_service * (1 - objective),
        "verdict": verdict,
    }


def _coverage(topics: dict[str, Row], limit: float | None) -> Row:
    unattributed = _share(topics.get("unattributed_loss"))
    verdict = "none"
    if unattributed is not None and limit is not None:
        verdict = "met" if unattributed < limit else "missed"
    return {
        "unknown_share_of_allocated": _share(topics.get("unknown_time")),
        "unattributed_share_of_lost": unattributed,
        "unattributed_limit": limit,
        "verdict": verdict,
    }


def make_sentence(headline: Row) -> str:
    """The week in words, from the numbers of the same headline."""
    decimals, shown = headline["decimals"], headline["shown_gpu_hours"]
    text = (
        f"Of {shown['paid']:,.{decimals}f} GPU-hours paid for, {shown['productive']:,.{decimals}f} "
        "became training progress that was kept."
    )
    return f"{text} {_lost_sentence(headline)}{_unknown_sentence(headline)}"


def _lost_sentence(headline: Row) -> str:
    if not headline["top_causes"]:
        return "Nothing was lost beyond normal overhead."
    decimals, lost = headline["decimals"], headline["shown_gpu_hours"]["lost"]
    first = headline["top_causes"][0]
    share = f"the largest part, {first['shown_gpu_hours']:,.{decimals}f}, to"
    if first["shown_gpu_hours"] == lost:
        share = "all of it to"
    label = _lower_first(first["class_label"]) + (" (suspected)" if first["is_suspected"] else "")
    return f"{lost:,.{decimals}f} were lost beyond normal overhead, {share} {label}."


def _unknown_sentence(headline: Row) -> str:
    goodput = headline["goodput"]
    if not goodput["is_interval"] or goodput["low"] is None or goodput["high"] is None:
        return ""
    unknown = headline["coverage"]["unknown_share_of_allocated"]
    return (
        f" {unknown:.0%} of held time was not observed, so goodput lies between "
        f"{goodput['low']:.1%} and {goodput['high']:.1%}."
    )


def _lower_first(label: str) -> str:
    """A label inside a sentence: `Node gone` becomes `node gone`, `GPU lost` stays."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]
