"""The first screen in a few plain facts, for what is not a page: chat, mail and Markdown.

The texts are plain: each renderer escapes them for its own form. Names of the cluster stand in
labels and in the scope only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from goodput.report import words

Row = Mapping[str, Any]

MOST_POOLS = 6

_SUCCESS = {
    "met": "meets {}",
    "missed": "below {}",
    "undecided": "cannot be told from {}",
}
_FIRST_SCREEN = {
    "goodput_paid": "goodput",
    "lost_gpu_hours": "GPU-hours lost",
    "job_success": "job success",
    "node_availability_closed": "availability",
}
_CHANGE = {
    "better": "better",
    "worse": "worse",
    "changed": "changed",
    "none": "no detectable change",
    "too_few": "too few to compare",
}


@dataclass(frozen=True)
class Fact:
    """One number: what it is, its value, what to know beside it, and met, missed, … or none."""

    label: str
    value: str
    note: str
    verdict: str = "none"


@dataclass(frozen=True)
class Cause:
    """One of the failure classes that cost most, and who should do what about it."""

    label: str
    amount: str
    note: str
    todo: str


@dataclass(frozen=True)
class Brief:
    """What a reader should know who reads nothing else."""

    subject: str
    sentence: str
    scope: str
    facts: list[Fact]
    causes: list[Cause]
    warnings: list[str]


def make_brief(report: Row) -> Brief:
    """The brief of a result."""
    headline, decimals = report["headline"], report["headline"]["decimals"]
    changes = _changes(report)
    facts = [
        _goodput(headline, changes.get("goodput_paid", "")),
        _demanded(headline["goodput"], changes.get("goodput_demand", "")),
        _lost(headline),
        _success(headline["job_success"], changes.get("job_success", "")),
        *_pools(report),
        _coverage(headline["coverage"]),
    ]
    causes = [_cause(row, decimals) for row in headline["top_causes"]]
    title, goodput = title_of(report), facts[0].value
    subject = f"Goodput {title}: {goodput} of paid GPU time"
    return Brief(subject, headline["sentence"], _scope(report), facts, causes, _warnings(report))


def title_of(report: Row) -> str:
    """The period in words: its ISO week if it is one, else from when to when."""
    window = report["window"]
    if window["iso_week"]:
        year, week = window["iso_week"].split("-W")
        return f"Week {int(week)}, {year}"
    return words.span(window["start"], window["end"])


def _scope(report: Row) -> str:
    window = report["window"]
    clusters = ", ".join(words.clean(cluster) for cluster in report["clusters"])
    return (
        f"{clusters}; {words.exact_instant(window['start'])}"
        f" to {words.exact_instant(window['end'])}, as known {words.full_instant(report['as_of'])}"
    )


def _goodput(headline: Row, change: str) -> Fact:
    goodput, decimals, shown = (
        headline[name] for name in ("goodput", "decimals", "shown_gpu_hours")
    )
    value = words.percent(goodput["paid"])
    if goodput["is_interval"]:
        value = words.between(goodput["low"], goodput["high"])
    amount = (
        f"{words.hours(shown['productive'], decimals)} of "
        f"{words.hours(shown['paid'], decimals)} GPU-hours"
    )
    spread = ""
    if goodput.get("spread_low") is not None and goodput.get("spread_high") is not None:
        spread = f"95% interval {words.between(goodput['spread_low'], goodput['spread_high'])}"
    return Fact("Goodput of paid time", value, _joined(amount, spread, change))


def _demanded(goodput: Row, change: str) -> Fact:
    value = words.percent(goodput["demand"])
    if goodput["is_interval"] and goodput.get("demand_high") is not None:
        value = words.between(goodput["demand"], goodput["demand_high"])
    return Fact("Goodput of demanded time", value, _joined("without time nobody asked for", change))


def _lost(headline: Row) -> Fact:
    decimals, shown, paid = (
        headline[name] for name in ("decimals", "shown_gpu_hours", "paid_gpu_hours")
    )
    lost, money = headline["lost_gpu_hours"], headline.get("money")
    value = words.hours(shown["lost"], decimals)
    dollars = f"{words.money(money['lost_dollars'])}; " if money else ""
    note = (
        f"{dollars}{words.percent(lost / paid if paid else 0)} of paid; "
        f"{words.hours(shown['overhead'], decimals)} more are normal overhead"
    )
    return Fact("GPU-hours lost", value, note)


def _success(success: Row, change: str) -> Fact:
    counts = f"{words.count(success['succeeded'])} of {words.count(success['ended'])}"
    if success["verdict"] == "too_few" or success["value"] is None:
        return Fact("Job success", counts, "too few for a rate")
    interval = f"95% interval {words.between(success['low'], success['high'])}"
    verdict = _SUCCESS.get(success["verdict"], "").format(words.percent(success["objective"]))
    note = _joined(f"{counts} job{'s' * (success['ended'] != 1)}", interval, verdict, change)
    return Fact("Job success", words.percent(success["value"]), note, success["verdict"])


def _pools(report: Row) -> list[Fact]:
    """The pools that are least available, which the headline has first."""
    pools = report["headline"]["availability"]
    several = len(report["clusters"]) > 1
    facts = [_pool(pool, several) for pool in pools[:MOST_POOLS]]
    if rest := len(pools) - len(facts):
        facts.append(Fact("Availability of other pools", f"{rest} more", "all above these"))
    return facts


def _pool(pool: Row, several: bool) -> Fact:
    place = f" ({words.clean(pool['cluster'])})" if several else ""
    verdict = {"met": "meets {}", "missed": "below {}"}.get(pool["verdict"], "")
    note = _joined(
        f"{words.amount(pool['not_ok_node_hours'])} node-hours not fit,"
        f" {words.amount(pool['budget_node_hours'])} allowed",
        verdict.format(words.percent(pool["objective"], 2)),
    )
    label = f"Availability {words.clean(pool['pool'])}{place}"
    return Fact(label, words.percent(pool["closed"], 2), note, pool["verdict"])


def _coverage(coverage: Row) -> Fact:
    share, limit = coverage["unattributed_share_of_lost"], coverage["unattributed_limit"]
    allowed = "" if limit is None else f"at most {words.percent(limit, 0)} wanted"
    note = _joined("of lost time and overhead", allowed)
    return Fact("No confident cause", words.percent(share), note, coverage["verdict"])


def _cause(row: Row, decimals: int) -> Cause:
    note, count = f"{words.percent(row['share_of_paid'])} of paid", row["interruption_count"]
    if count:  # some classes interrupt nothing: an empty queue, a cordon
        note += f", {count:,} interruption{'' if count == 1 else 's'}"
    suspected = " (suspected)" if row["is_suspected"] else ""
    todo = f"{row['owner'] or 'Nobody named'}: {row['action'] or 'no action is known'}"
    return Cause(
        words.clean(row["class_label"]) + suspected,
        f"{words.hours(row['shown_gpu_hours'], decimals)} GPU-hours",
        note,
        words.clean(todo, limit=300),
    )


def _changes(report: Row) -> dict[str, str]:
    """What each metric was a week before and whether that is beyond chance, where compared."""
    return {
        row["metric"]: f"week before {words.percent(row['previous'])}, {_CHANGE[row['verdict']]}"
        for row in report.get("trends", ())
        if row["cluster"] == _whole(report) and row["kind"] == "share"
    }


def _warnings(report: Row) -> list[str]:
    """What keeps a reader from quoting a number, or changes one that was quoted."""
    broken = [row for row in report["checks"] if row["row_count"] and row["severity"] == "error"]
    checks = f"{len(broken)} of {len(report['checks'])} checks failed: do not quote these numbers"
    restated = [row["iso_week"] or row["start"] for row in _restated(report)]
    weeks = f"restated since it was published: {', '.join(restated)}"
    doubts = [
        f"doubtful: {_FIRST_SCREEN[row['metric']]}, {row['reason']}"
        f" ({words.share(row['coverage'])} of {words.percent(row['bar'], 0)} needed)"
        for row in report["data_quality"]
        if row["is_below"] and row["cluster"] == _whole(report) and row["metric"] in _FIRST_SCREEN
    ]
    return [*([checks] if broken else []), *doubts, *([weeks] if restated else [])]


def _restated(report: Row) -> list[Row]:
    return [row for row in report.get("history", ()) if row["is_restated"]]


def _whole(report: Row) -> str:
    """What the cluster is called in rows about all of them."""
    return "*" if len(report["clusters"]) > 1 else str(report["clusters"][0])


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
