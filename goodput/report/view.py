"""What the page needs beside the result itself: joined labels, tables, figures, lanes, commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goodput.report import words
from goodput.report.account import BASELINE
from goodput.report.charts import classes_figure, waterfall_figure
from goodput.report.reliability import make_reliability
from goodput.report.tables import choices, make_tables, squeeze
from goodput.report.timeline import job_timeline, node_timeline
from goodput.report.trend_view import make_trend

Row = dict[str, Any]

EVIDENCE_SHOWN = 30


def make_view(report: Mapping[str, Any]) -> dict[str, Any]:
    """Names for the template of the weekly page."""
    headline = report["headline"]
    labels = {row["class"]: row["class_label"] for row in report["lost_classes"]}
    jobs = [_job(row, labels) for row in report["jobs"]]
    nodes = [_node(row, labels) for row in report["nodes"]]
    pools = {(row["cluster"], row["job"]): row["pools"] for row in jobs}
    interruptions = [_interruption(row, labels, pools) for row in report["interruptions"]]
    tables = {"jobs": jobs, "nodes": nodes, "interruptions": interruptions}
    trend = make_trend(report)
    figures = trend["figures"] | {
        "waterfall": waterfall_figure(
            report["waterfall"],
            report["state_groups"],
            headline["shown_gpu_hours"]["paid"],
            headline["decimals"],
        ),
        "classes": classes_figure(report["lost_classes"], headline["decimals"]),
    }
    return {
        "report": report,
        "headline": headline,
        "decimals": headline["decimals"],
        "labels": labels,
        "whole": whole_of(report),
        "tables": make_tables(tables, with_cluster=len(report["clusters"]) > 1),
        "interruptions": interruptions[:EVIDENCE_SHOWN],
        "heat": _heat_map(report),
        "fleet": node_timeline(report, nodes),
        "lanes": job_timeline(report, jobs, interruptions),
        "lemons": [_named(row, labels) for row in report["lemon_nodes"]],
        "slow_nodes": [_named(row, labels) for row in report["slow_nodes"]],
        "reliability": make_reliability(report),
        "advice": [_advice(row, labels) for row in report["advice"]],
        "trend": trend,
        "filters": _filters(report, jobs),
        "slices": squeeze(_slices(report)),
        "commands": [line for line in _reproduce(report) if line],
        "figures": figures,
    }


def whole_of(report: Mapping[str, Any]) -> str:
    """The cluster whose rows stand for everything: `*`, or the only one."""
    clusters = report["clusters"]
    return str(clusters[0]) if len(clusters) == 1 else "*"


def _reproduce(report: Mapping[str, Any]) -> list[str | None]:
    """The commands that make this report again: the same build, then the report of it."""
    window = report["window"]
    span = ["--from", window["start"], "--to", window["end"], "--as-of", report["as_of"]]
    changed = [
        word
        for row in report["parameters"]
        if row["is_changed"]
        for word in ("--param", f"{row['name']}={row['value']}")
    ]
    return [words.command("goodput", "build", *span, *changed), words.command("goodput", "report")]


def _job(row: Row, labels: dict[str, str]) -> Row:
    return row | {
        "main_label": labels.get(row["main_class"], row["main_class"]),
        "explain": words.explain(row["job"]),
    }


def _named(row: Row, labels: dict[str, str]) -> Row:
    return row | {"class_list": ", ".join(labels.get(name, name) for name in row["classes"])}


def _node(row: Row, labels: dict[str, str]) -> Row:
    return _named(row, labels) | {
        "pools": [row["pool"]],
        "explain": words.explain(row["node_name"] or row["node_uid"]),
    }


def _interruption(
    row: Row, labels: dict[str, str], pools: Mapping[tuple[str, str], list[str]]
) -> Row:
    label = labels.get(row["class"], row["class"])
    is_named = row["is_attributed"] or row["domain"] == "unknown"
    # Of what was seen only what weighs something is shown: a gang's end makes many lines.
    telling = [line for line in row["evidence"] if line["is_picked"] or line["strength"]]
    return row | {
        "pools": pools.get((row["cluster"], row["job"]), []),
        "classes": [row["class"]],
        "telling_evidence": [
            line | {"points_to": labels.get(line["class"], line["class"])} for line in telling
        ],
        "cause": label if is_named else f"Unattributed (suspected: {label})",
        "explain": words.explain(row["job"], row["attempt"]),
    }


_KINDS = {  # kind of advice: what to do, and how its numbers are written
    "checkpoint_interval": ("Change the checkpoint interval of", words.span_of),
    "remove_node": ("Take out the node", words.count),
    "watch_node": ("Test the node", words.count),
    "spare_nodes": ("Keep spares in the pool", words.count),
    "hang_timeout": ("Set a time-out for hangs of", words.span_of),
    "retry_rule": ("Change the retry rule of", words.percent),
}


_ONE = {"nodes": "node", "failures in 28 days": "failure in 28 days"}
# Intervals and time-outs are written with their units.
_SHOWN = {"seconds": "", "share of retries that helped": "helped"}


def _advice(row: Row, labels: dict[str, str]) -> Row:
    kind, write = _KINDS.get(row["advice"], (row["advice"], words.count))
    is_class = row["advice"] == "retry_rule"
    unit = str(_SHOWN.get(row["unit"], row["unit"]))
    return row | {
        "kind": kind,
        "named": labels.get(row["subject"], row["subject"]) if is_class else row["subject"],
        "from": None if row["current"] is None else write(row["current"]),
        "to": None if row["proposed"] is None else write(row["proposed"]),
        "from_unit": _ONE.get(unit, unit) if row["current"] == 1 else unit,
        "to_unit": _ONE.get(unit, unit) if row["proposed"] == 1 else unit,
    }


def _filters(report: Mapping[str, Any], jobs: Sequence[Row]) -> list[Row]:
    """What can be chosen: (value, words) of each facet that has more than one."""
    plain = {
        "team": choices(jobs, "team"),
        "namespace": choices(jobs, "namespace"),
        "pool": choices(report["slices"], "pool"),
    }
    options = {name: [(value, value) for value in values] for name, values in plain.items()}
    options["class"] = [
        (words.clean(row["class"]), words.clean(row["class_label"]))
        for row in report["lost_classes"]
        if row["class"] != BASELINE
    ]
    return [
        {"name": name, "label": name.capitalize(), "options": values}
        for name, values in options.items()
        if len(values) > 1
    ]


def _slices(report: Mapping[str, Any]) -> dict[str, Any]:
    """The paid time by all that is filtered by, for sums over any choice."""
    keys = ("team", "namespace", "pool", "class", "state_group")
    return {
        "keys": keys,
        "rows": [
            [
                *("" if row[key] is None else words.clean(row[key]) for key in keys),
                round(row["gpu_hours"], 4),
            ]
            for row in report["slices"]
        ],
    }


def _heat_map(report: Mapping[str, Any]) -> dict[str, Any]:
    """Class x mechanism: a column for each mechanism, a row for each class that lost something."""
    cells = {
        (row["class"], row["state_group"]): row["shown_gpu_hours"]
        for row in report["class_mechanism"]
    }
    rows = [row for row in report["lost_classes"] if row["shown_gpu_hours"] > 0]
    columns = [
        group
        for group in report["state_groups"]
        if any(hours for (_, name), hours in cells.items() if name == group["state_group"])
    ]
    # Normal overhead is large by nature; scaled with it, no fault would be seen.
    faults = [hours for (name, _), hours in cells.items() if name != BASELINE]
    return {
        "columns": columns,
        "rows": rows,
        "cells": cells,
        "largest": max(faults, default=0) or 1,
    }
