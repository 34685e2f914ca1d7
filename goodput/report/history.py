"""The weeks before a report's window: what they look like now, and what was published of them.

Each week is built anew from the lake, by today's rules and with what is known today. A week whose
published report says something else is restated; `goodput diff` tells what changed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from goodput.errors import NoData
from goodput.lake import Lake
from goodput.report.account import BASELINE
from goodput.report.result import read_result
from goodput.warehouse.build import build
from goodput.warehouse.connection import connect
from goodput.warehouse.trends import days_of_rows, is_covered
from goodput.window import Window

Row = dict[str, Any]

# What a reader of a published week may have quoted, and to how many digits.
QUOTED = {"goodput_paid": 3, "job_success": 3, "node_availability_closed": 4, "lost_share": 3}

_WEEK = timedelta(days=7)


def earlier_weeks(
    lake: Lake,
    warehouse: Path,
    weeks: int,
    params: Mapping[str, str] | None = None,
    published: Sequence[Mapping[str, Any]] = (),
) -> list[Row]:
    """The windows before that of a build, the oldest first.

    Windows that the lake knows only in part are left out, as `goodput trends` leaves them out.

    Args:
        warehouse: the DuckDB file that `build` made of the current window.
        weeks: how many windows, the current one among them.
        params: of that build.
        published: results of earlier reports.
    """
    known = {report["window"]["start"]: report for report in published}
    return [
        row | _published(row, known.get(row["start"]))
        for row in _built(lake, warehouse, weeks, params)
    ]


def with_current(earlier: Sequence[Mapping[str, Any]], report: Mapping[str, Any]) -> list[Row]:
    """The weeks of a report's history: those before, if any, and its own."""
    if not earlier:
        return []
    own = {"is_current": True, "published": None, "is_restated": False}
    return [*map(dict, earlier), summarise(report) | own]


def summarise(report: Mapping[str, Any]) -> Row:
    """One week in the numbers of its first screen; works on any result of schema version 1."""
    headline, window = report["headline"], report["window"]
    goodput, success = headline["goodput"], headline["job_success"]
    lost, paid = headline["lost_gpu_hours"], headline["paid_gpu_hours"]
    return {
        "iso_week": window["iso_week"],
        "start": window["start"],
        "end": window["end"],
        "as_of": report["as_of"],
        "paid_gpu_hours": paid,
        "productive_gpu_hours": headline["productive_gpu_hours"],
        "lost_gpu_hours": lost,
        "lost_share": lost / paid if paid else None,
        "lost_dollars": (headline.get("money") or {}).get("lost_dollars"),
        **{f"goodput_{name}": goodput[name] for name in ("paid", "demand", "low", "high")},
        "job_success": success["value"],
        "job_success_low": success["low"],
        "job_success_high": success["high"],
        "jobs_ended": success["ended"],
        "node_availability_closed": _availability(report["metrics"]),
        "interruption_count": sum(row["interruption_count"] for row in report["lost_classes"]),
        "classes": [
            {key: row[key] for key in ("class", "class_label", "gpu_hours")}
            for row in report["lost_classes"]
            if row["class"] != BASELINE and row["gpu_hours"] > 0
        ],
    }


def _availability(metrics: Sequence[Mapping[str, Any]]) -> float | None:
    """Availability of all nodes; the sum over clusters wins over a single one."""
    rows = [
        row
        for row in metrics
        if row["metric"] == "node_availability_closed" and row["scope"] == "fleet"
    ]
    rows.sort(key=lambda row: bool(row["cluster"] == "*"))
    return rows[-1]["value"] if rows else None


def _built(
    lake: Lake, warehouse: Path, weeks: int, params: Mapping[str, str] | None
) -> Iterator[Row]:
    with connect(warehouse, read_only=True) as con:
        [(start, end, as_of)] = con.sql(
            "select window_start, window_end, as_of from meta.build"
        ).fetchall()
    step = -(-(end - start) // _WEEK) * _WEEK
    days = days_of_rows(lake)
    with TemporaryDirectory(prefix="goodput-history-") as folder:
        for n in reversed(range(1, weeks)):
            window = Window(*(_utc(moment) - n * step for moment in (start, end)))
            if not is_covered(days, window):
                continue
            target = Path(folder) / f"{n}.duckdb"
            build(lake, window, _utc(as_of), params, target=target)
            try:
                yield summarise(read_result(target)) | {"is_current": False}
            except NoData:
                continue
            finally:
                target.unlink()


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def _published(row: Row, before: Mapping[str, Any] | None) -> Row:
    """What a published report said of the week, and whether that is what is known now."""
    if before is None:
        return {"published": None, "is_restated": False}
    said = summarise(before)
    return {
        "published": {name: said[name] for name in ("as_of", *QUOTED)},
        "is_restated": any(
            _rounded(said[name], digits) != _rounded(row[name], digits)
            for name, digits in QUOTED.items()
        ),
    }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
