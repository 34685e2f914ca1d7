"""The weeks before a report's window: what they look like now, and what was published of them.

Each week is built anew from the lake, by today's rules and with what is known today. A week whose
published report says something else is restated; `goodput diff` tells what changed it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from goodput.errors import NoData
from goodput.lake import Lake
from goodput.report.account import BASELINE
from goodput.report.result import json_value, read_result
from goodput.warehouse.build import build
from goodput.warehouse.connection import connect
from goodput.warehouse.known import UNPAID, KnownDays, LeftOut
from goodput.window import Window

Row = dict[str, Any]

# What a reader of a published week may have quoted, and to how many digits.
QUOTED = {"goodput_paid": 3, "job_success": 3, "node_availability_closed": 4, "lost_share": 3}

_WEEK = timedelta(days=7)


@dataclass(frozen=True)
class Earlier:
    """The windows before that of a report, the oldest first.

    Attributes:
        weeks: those that can be compared, in the numbers of `summarise`.
        left_out: those that were asked for too, with the reason.
    """

    weeks: list[Row] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


def earlier_weeks(
    lake: Lake,
    warehouse: Path,
    weeks: int,
    params: Mapping[str, str] | None = None,
    published: Sequence[Mapping[str, Any]] = (),
) -> Earlier:
    """The windows before that of a build.

    Windows that the lake knows only in part are left out, as `goodput trends` leaves them out.

    Args:
        warehouse: the DuckDB file that `build` made of the current window.
        weeks: how many windows, the current one among them.
        params: of that build.
        published: results of earlier reports.
    """
    said = {report["window"]["start"]: report for report in published}
    days, earlier = KnownDays.of(lake), Earlier()
    before, as_of = _windows_before(warehouse, weeks)
    for window in before:
        reason = days.gap(window)
        row = None if reason else _built(lake, window, as_of, params)
        if row:
            earlier.weeks.append(row | _published(row, said.get(row["start"])))
        else:
            earlier.left_out.append(LeftOut(window, reason or UNPAID))
    return earlier


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


def left_out_rows(earlier: Earlier) -> list[Row]:
    """The weeks that were asked for and left out, as a report keeps them."""
    return [
        {
            "iso_week": one.window.iso_week,
            "start": json_value(one.window.start),
            "end": json_value(one.window.end),
            "reason": one.reason,
        }
        for one in earlier.left_out
    ]


def _windows_before(warehouse: Path, weeks: int) -> tuple[list[Window], datetime]:
    """The windows before that of a build, the oldest first, and its knowledge time."""
    with connect(warehouse, read_only=True) as con:
        [(start, end, as_of)] = con.sql(
            "select window_start, window_end, as_of from meta.build"
        ).fetchall()
    step = -(-(end - start) // _WEEK) * _WEEK
    spans = [(_utc(start) - n * step, _utc(end) - n * step) for n in reversed(range(1, weeks))]
    return [Window(*span) for span in spans], _utc(as_of)


def _built(
    lake: Lake, window: Window, as_of: datetime, params: Mapping[str, str] | None
) -> Row | None:
    """A window as it is known now; None where nothing was paid for."""
    with TemporaryDirectory(prefix="goodput-history-") as folder:
        target = Path(folder) / "week.duckdb"
        build(lake, window, as_of, params, target=target)
        try:
            return summarise(read_result(target)) | {"is_current": False}
        except NoData:
            return None


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
