"""An explanation as a notebook shows it; its rows say what the cluster says and are escaped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from markupsafe import Markup

from goodput.texts import html, html_table

if TYPE_CHECKING:
    from goodput.warehouse.explain import Explanation, Row

_INTERRUPTION = (
    "occurred_at",
    "job",
    "attempt",
    "outcome",
    "class",
    "confidence",
    "node_name",
    "rule",
    "competing",
    "caused_by",
    "lost_gpu_hours",
)
_COST = ("whose", "state", "gpu_hours")
_EVIDENCE = (
    "is_picked",
    "observed_at",
    "source",
    "value",
    "role",
    "class",
    "node_name",
    "origin",
    "origin_line",
)
_TIMELINE = (
    "started_at",
    "ended_at",
    "state",
    "cause",
    "job",
    "attempt",
    "gpus",
    "nodes",
    "gpu_hours",
)
_LAST_LOOK = ("job", "attempt", "root", "looked_at", "seen_at", "known_until")
_OUTAGE = ("started_at", "ended_at", "gpu", "class", "planned", "action", "lost_gpu_hours")
_CONDITION = ("started_at", "ended_at", "type", "status", "reason", "gpu", "class")
_INCIDENT = ("started_at", "class", "topology", "nodes", "jobs", "lost_gpu_hours")
_SLOW = (
    "started_at",
    "ended_at",
    "job",
    "attempt",
    "class",
    "confidence",
    "node_name",
    "median_ms",
    "baseline_ms",
)
_SUSPICION = ("gangs_with", "slow_with", "gangs_without", "slow_without", "p_value")


def explanation_html(found: Explanation) -> str:
    """Totals and losses open, evidence and the timeline behind a click."""
    attempt = "" if found.attempt is None else f", attempt {found.attempt}"
    facts = ", ".join(f"{name} {value}" for name, value in found.facts.items() if value)
    span = " to ".join(str(instant) for instant in found.window.values())
    parts = [
        html("h4", f"{found.kind} {found.key}{attempt} in cluster {found.cluster}"),
        html("p", f"{facts}; {span}"),
        html("b", "Where its GPU-hours went"),
        html_table(found.totals, ("state", "cause", "gpu_hours")),
        *_losses(found),
        _folded(f"Timeline, {len(found.timeline)} rows (UTC)", found.timeline, _TIMELINE),
    ]
    return str(html("div", *parts))


def _losses(found: Explanation) -> Iterator[Markup]:
    for title, rows, columns in (
        ("Interruptions", found.interruptions, _INTERRUPTION),
        ("Outages", found.outages, _OUTAGE),
        ("Incidents", found.incidents, _INCIDENT),
        ("Slow steps", found.slow_segments, _SLOW),
        ("Suspected of slow steps", found.suspicions, _SUSPICION),
        ("Looked at last", found.last_looks, _LAST_LOOK),
    ):
        if rows:
            yield html("b", title)
            yield html_table(rows, columns)
    for row in found.interruptions:
        yield _folded(f"Cost: {row['job']}/{row['attempt']}", row["costs"], _COST)
        name = f"Evidence: {row['job']}/{row['attempt']}, {len(row['evidence'])} observations"
        yield _folded(name, row["evidence"], _EVIDENCE)
    for row in found.outages:
        name = f"Conditions: outage of {row['started_at']}, {len(row['conditions'])} of them"
        yield _folded(name, row["conditions"], _CONDITION)


def _folded(title: str, rows: list[Row], columns: tuple[str, ...]) -> Markup:
    return html("details", html("summary", title), html_table(rows, columns))
