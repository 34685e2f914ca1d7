"""The numbers of a report for Prometheus, by the names that `goodput export prometheus` uses."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from goodput.exported import metric_families, own_families
from goodput.exposition import Family, exposition


def render_textfile(report: Mapping[str, Any]) -> str:
    """The metrics of fleet and pools, the window and the objectives, as exposition text."""
    window, build = report["window"], report["build"]
    info = {"version": build["goodput_version"], "lake_commit": build["lake_commit"] or ""}
    values: dict[str, list[tuple[dict[str, str], float]]] = {
        "goodput_known_timestamp_seconds": [({}, _epoch(report["as_of"]))],
        "goodput_window_start_timestamp_seconds": [({}, _epoch(window["start"]))],
        "goodput_window_end_timestamp_seconds": [({}, _epoch(window["end"]))],
        "goodput_build_info": [(info, 1)],
        "goodput_objective_ratio": [
            ({"metric": metric}, value) for metric, value in report["objectives"].items()
        ],
    }
    own = [
        Family(entry["name"], entry["help"], [*values[entry["name"]]])
        for entry in own_families()
        if entry["name"] in values
    ]
    metrics = [row for row in report["metrics"] if row["scope"] in ("fleet", "pool")]
    return exposition([*own, *metric_families(metrics)])


def _epoch(instant: str) -> float:
    return datetime.fromisoformat(instant).timestamp()
