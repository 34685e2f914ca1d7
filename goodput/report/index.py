"""The index over published reports: a row a week, and what later reports say of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from goodput._resources import resource_dir
from goodput.report.history import summarise
from goodput.report.render import template
from goodput.report.trend_view import sparkline

Row = dict[str, Any]

SPARK_WEEKS = 13


def render_index(reports: Mapping[str, Mapping[str, Any]]) -> str:
    """The page over all reports, the newest first; links are relative to it.

    Args:
        reports: results by the name of their folder.
    """
    newest = max(reports.values(), key=lambda report: str(report["as_of"]), default={})
    now = {row["start"]: row for row in newest.get("history") or []}
    weeks = [_week(name, report, now) for name, report in reports.items()]
    weeks.sort(key=lambda row: (row["start"], row["end"]), reverse=True)
    values = [row["goodput_paid"] for row in reversed(weeks[:SPARK_WEEKS])]
    styles: Path = resource_dir("dashboards") / "weekly" / "weekly.css"
    return template("index.html.j2", autoescape=True).render(
        weeks=weeks,
        spark=sparkline(values),
        css=Markup(styles.read_text(encoding="utf-8")),  # noqa: S704 - ours
    )


def _week(name: str, report: Mapping[str, Any], now: Mapping[str, Row]) -> Row:
    row = summarise(report)
    today = now.get(row["start"])
    return row | {
        "name": name,
        "clusters": report["clusters"],
        "top": row["classes"][0]["class_label"] if row["classes"] else None,
        # What the newest report of all knows of this week, if it says something else.
        "now": today if today and today["is_restated"] else None,
    }
