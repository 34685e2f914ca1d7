"""The weeks before: their charts, the table of their numbers, and what they come to in short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goodput.report import words
from goodput.report.charts import lines_figure, stack_figure

Row = dict[str, Any]

WEEKS_BEFORE = 4
TOP_CLASSES = 5
SPARK_WIDTH, SPARK_HEIGHT = 96, 22


def make_trend(report: Mapping[str, Any]) -> dict[str, Any]:
    """Rows of the weeks with their labels and commands, charts, and the weeks before in short."""
    history = report.get("history") or []
    weeks = [row | {"label": week_label(row), "diff": _diff(row)} for row in history]
    before = [row for row in history if not row["is_current"]][-WEEKS_BEFORE:]
    paid = sum(row["paid_gpu_hours"] for row in before)
    productive = sum(row["productive_gpu_hours"] for row in before)
    return {
        "weeks": weeks,
        "restated": [row for row in weeks if row["is_restated"]],
        "before": len(before),
        "goodput_before": productive / paid if paid else None,
        "lost_before": sum(row["lost_gpu_hours"] for row in before) / len(before)
        if before
        else None,
        "spark": sparkline([row["goodput_paid"] for row in history[-WEEKS_BEFORE - 1 :]]),
        "figures": _figures(report, weeks) if len(weeks) > 1 else {},
    }


def week_label(row: Mapping[str, Any]) -> str:
    """The week as a tick of an axis: `W48`, or the day on which it begins."""
    return str(row["iso_week"]).split("-")[1] if row["iso_week"] else words.day(row["start"])


def _diff(row: Row) -> str | None:
    """The command that says what restated a week."""
    if not row["is_restated"]:
        return None
    span = ["--from", row["start"], "--to", row["end"]]
    ages = ["--as-of", row["published"]["as_of"], "--as-of", row["as_of"]]
    return words.command("goodput", "diff", *span, *ages)


def _figures(report: Mapping[str, Any], weeks: Sequence[Row]) -> dict[str, Any]:
    objectives = report["objectives"]
    labels = [row["label"] for row in weeks]
    restated = [row["is_restated"] for row in weeks]

    def line(name: str, band: tuple[str, str] | None = None, objective: float | None = None) -> Any:
        return lines_figure(
            labels,
            [row[name] for row in weeks],
            [[row[end] for row in weeks] for end in band] if band else None,
            restated,
            objective,
        )

    return {
        "trend-goodput": line("goodput_paid", ("goodput_low", "goodput_high")),
        "trend-lost": stack_figure(labels, *_stacks(weeks)),
        "trend-success": line(
            "job_success", ("job_success_low", "job_success_high"), objectives.get("job_success")
        ),
        "trend-availability": line(
            "node_availability_closed", None, objectives.get("node_availability_closed")
        ),
    }


def _stacks(weeks: Sequence[Row]) -> tuple[list[str], list[list[float]]]:
    """The classes that lost most over all weeks, and the rest together, by week."""
    sums: dict[str, float] = {}
    for row in weeks:
        for one in row["classes"]:
            sums[one["class_label"]] = sums.get(one["class_label"], 0) + one["gpu_hours"]
    top = sorted(sums, key=lambda name: (-sums[name], name))[:TOP_CLASSES]
    by_week = [{one["class_label"]: one["gpu_hours"] for one in row["classes"]} for row in weeks]
    amounts = [[week.get(name, 0) for week in by_week] for name in top]
    rest = [sum(hours for name, hours in week.items() if name not in top) for week in by_week]
    return (top, amounts) if not any(rest) else ([*top, "All others"], [*amounts, rest])


def sparkline(values: Sequence[float | None]) -> str | None:
    """The points of an SVG polyline, the newest last; None for fewer than two."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return None
    low, high = min(known), max(known)
    span = (high - low) or 1
    step = SPARK_WIDTH / (len(known) - 1)
    return " ".join(
        f"{index * step:.1f},{2 + (SPARK_HEIGHT - 4) * (high - value) / span:.1f}"
        for index, value in enumerate(known)
    )
