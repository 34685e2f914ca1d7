"""How long jobs run before they fail, and how nodes come back: the metrics behind two tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = dict[str, Any]

LADDER = ("none", "diag", "reset", "reboot", "replace")
STAGES = ("detect", "isolate", "drain", "repair", "return")


def make_reliability(report: Mapping[str, Any]) -> dict[str, Any]:
    """Picks the metrics of the whole by what the tables have for rows.

    Returns:
        sizes: time to failure by size of job, with intervals; projected: what hardware alone
        would allow; actions: repairs, their times and success by action; stages and timeliness
        of repairs; longest: the largest end of an interval of `sizes`, in hours.
    """
    clusters = report["clusters"]
    whole = clusters[0] if len(clusters) == 1 else "*"
    found: dict[str, dict[str, Row]] = {}
    for row in report["metrics"]:
        if row["cluster"] == whole and row["event_count"] is not None:
            found.setdefault(f"{row['metric']} {row['scope']}", {})[row["scope_value"]] = row
    sizes = sorted(found.get("mttf_hours job_size", {}).values(), key=_first_number)
    ends = [row[end] for row in sizes for end in ("value", "high") if row[end] is not None]
    return {
        "sizes": sizes,
        "longest": max(ends, default=None),
        "projected": sorted(
            found.get("mttf_projected_hours job_gpus", {}).values(), key=_first_number
        ),
        "fleet": {
            name: found.get(f"{name} fleet", {}).get("")
            for name in ("mtbf_hours", "mttf_hours", "mttd_hours", "mttr_hours", "open_outages")
        },
        "actions": _actions(found),
        "stages": [
            {
                "stage": stage,
                "median": found.get("repair_stage_median_hours stage", {}).get(stage),
                "p90": found.get("repair_stage_p90_hours stage", {}).get(stage),
            }
            for stage in STAGES
            if stage in found.get("repair_stage_median_hours stage", {})
        ],
        "timeliness": [
            (name, row["value"]) for name, row in found.get("repairs timeliness", {}).items()
        ],
    }


def _actions(found: Mapping[str, Mapping[str, Row]]) -> list[Row]:
    shares = found.get("repair_ladder_share action", {})
    times = found.get("mttr_hours action", {})
    known = [name for name in LADDER if name in shares or name in times]
    known += sorted((set(shares) | set(times)) - set(known))
    metrics = {
        "share": "repair_ladder_share",
        "success": "repair_success",
        "mean": "mttr_hours",
        "median": "mttr_median_hours",
        "p90": "mttr_p90_hours",
        "detect": "mttd_median_hours",
    }
    return [
        {"action": action}
        | {name: found.get(f"{metric} action", {}).get(action) for name, metric in metrics.items()}
        for action in known
    ]


def _first_number(row: Row) -> tuple[int, str]:
    """Sizes in the order of their numbers: 1-8 before 9-64."""
    digits = row["scope_value"].lstrip("><=").split("-")[0]
    return (int(digits), "") if digits.isdigit() else (1 << 60, row["scope_value"])
