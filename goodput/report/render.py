"""From the report's result to one HTML file and a Markdown digest, and from nothing else.

The page is whole without script: what matters is text and tables. Script adds charts, sorting,
filtering and the rows beyond the first. Its two scripts are named by hash in the page's content
security policy, which forbids every other script and every request.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from goodput._resources import resource_dir
from goodput.report import words
from goodput.report.charts import classes_figure, waterfall_figure
from goodput.report.timeline import make_timeline

Row = dict[str, Any]

FIRST_ROWS = 20
EVIDENCE_SHOWN = 30
BUNDLE = "vendor/plotly-basic.min.js.gz"


@dataclass(frozen=True)
class Column:
    """One column of a table that the page sorts: key of the row, title, and how it is written.

    Kinds: text (one line, cut where it is too long), words (may wrap), hours, percent, count, time
    and command (a button that copies it).
    """

    key: str
    title: str
    kind: str = "text"
    digits: int = 0


CLUSTER_COLUMN = Column("cluster", "Cluster")

JOB_COLUMNS = (
    Column("job_name", "Job"),
    Column("namespace", "Namespace"),
    Column("team", "Team"),
    Column("state", "State"),
    Column("gpu_hours", "Held GPU-hours", "hours", 1),
    Column("goodput", "Productive", "percent", 1),
    Column("lost_gpu_hours", "Lost GPU-hours", "hours", 1),
    Column("main_label", "Main cause", "words"),
    Column("attempt_count", "Attempts", "count"),
    Column("interruption_count", "Interruptions", "count"),
    Column("explain", "Explain", "command"),
)

NODE_COLUMNS = (
    Column("node_name", "Node"),
    Column("pool", "Pool"),
    Column("gpu_count", "GPUs", "count"),
    Column("cost_gpu_hours", "Cost GPU-hours", "hours", 1),
    Column("unavailable_gpu_hours", "Not usable GPU-hours", "hours", 1),
    Column("interrupted_gpu_hours", "Interrupted GPU-hours", "hours", 1),
    Column("availability_closed", "Availability", "percent", 2),
    Column("outage_count", "Outages", "count"),
    Column("interruption_count", "Interruptions", "count"),
    Column("class_list", "Causes", "words"),
    Column("explain", "Explain", "command"),
)

INTERRUPTION_COLUMNS = (
    Column("interrupted_at", "When (UTC)", "time"),
    Column("job_name", "Job"),
    Column("attempt", "Attempt", "count"),
    Column("outcome", "Outcome"),
    Column("cause", "Cause", "words"),
    Column("confidence", "Confidence", "count"),
    Column("node_name", "Node"),
    Column("lost_gpu_hours", "Lost GPU-hours", "hours", 1),
    Column("explain", "Explain", "command"),
)


def render_html(report: Mapping[str, Any]) -> str:
    """The weekly page of a result, as one self-contained HTML document."""
    folder = resource_dir("dashboards") / "weekly"
    script = (folder / "weekly.js").read_text(encoding="utf-8")
    packed = (folder / BUNDLE).read_bytes()
    template = _environment(folder, autoescape=True).get_template("weekly.html.j2")
    return template.render(
        **_view(report),
        css=Markup((folder / "weekly.css").read_text(encoding="utf-8")),  # noqa: S704 - ours
        script=Markup(script),  # noqa: S704 - ours
        library=base64.b64encode(packed).decode(),
        script_hashes=[_hash(script), _hash(gzip.decompress(packed).decode())],
    )


def render_digest(report: Mapping[str, Any]) -> str:
    """The first screen as Markdown, for a chat message or a mail."""
    folder = resource_dir("dashboards") / "weekly"
    template = _environment(folder, autoescape=False).get_template("digest.md.j2")
    return template.render(report=report, title=title_of(report))


def title_of(report: Mapping[str, Any]) -> str:
    """The period in words: its ISO week if it is one, else from when to when."""
    window = report["window"]
    if window["iso_week"]:
        year, week = window["iso_week"].split("-W")
        return f"Week {int(week)}, {year}"
    return words.span(window["start"], window["end"])


def _environment(folder: Path, *, autoescape: bool) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=autoescape,  # noqa: S701 - Markdown is escaped by its own filter
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "hours": words.hours,
        "count": words.count,
        "percent": words.percent,
        "share": words.share,
        "instant": words.instant,
        "clock": words.clock,
        "day": words.day,
        "full_instant": words.full_instant,
        "clean": words.clean,
        "md": words.markdown,
    }
    environment.globals |= {
        "query": words.query,
        "literal": words.literal,
    }
    return environment


def _view(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the template needs beside the result itself: joined labels, figures, table data."""
    headline = report["headline"]
    labels = {row["class"]: row["class_label"] for row in report["lost_classes"]}
    jobs = [_view_job(row, labels) for row in report["jobs"]]
    nodes = [_view_node(row, labels) for row in report["nodes"]]
    interruptions = [_view_interruption(row, labels) for row in report["interruptions"]]
    groups = report["state_groups"]
    # With one cluster its name is in the title and needs no column.
    extra = (CLUSTER_COLUMN,) if len(report["clusters"]) > 1 else ()
    tables = {
        "jobs": ((*extra, *JOB_COLUMNS), jobs),
        "nodes": ((*extra, *NODE_COLUMNS), nodes),
        "interruptions": ((*extra, *INTERRUPTION_COLUMNS), interruptions),
    }
    figures = {
        "waterfall": waterfall_figure(
            report["waterfall"], groups, headline["paid_gpu_hours"], headline["decimals"]
        ),
        "classes": classes_figure(report["lost_classes"], headline["decimals"]),
    }
    return {
        "report": report,
        "headline": headline,
        "title": title_of(report),
        "decimals": headline["decimals"],
        "labels": labels,
        "tables": {
            name: {"columns": columns, "rows": rows[:FIRST_ROWS], "count": len(rows)}
            for name, (columns, rows) in tables.items()
        },
        "packed": {name: pack(columns, rows) for name, (columns, rows) in tables.items()},
        "interruptions": interruptions[:EVIDENCE_SHOWN],
        "heat": _heat_map(report),
        "timeline": make_timeline(report),
        "commands": [line for line in _reproduce(report) if line],
        "figures": figures,
        "figures_json": inline_json(figures),
    }


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


def _view_job(row: Row, labels: dict[str, str]) -> Row:
    return row | {
        "main_label": labels.get(row["main_class"], row["main_class"]),
        "explain": words.explain(row["job"]),
    }


def _view_node(row: Row, labels: dict[str, str]) -> Row:
    return row | {
        "class_list": ", ".join(labels.get(name, name) for name in row["classes"]),
        "explain": words.explain(row["node_name"] or row["node_uid"]),
    }


def _view_interruption(row: Row, labels: dict[str, str]) -> Row:
    label = labels.get(row["class"], row["class"])
    is_named = row["is_attributed"] or row["domain"] == "unknown"
    # Of what was seen only what weighs something is shown: a gang's end makes many lines.
    telling = [line for line in row["evidence"] if line["is_picked"] or line["strength"]]
    return row | {
        "telling_evidence": [
            line | {"points_to": labels.get(line["class"], line["class"])} for line in telling
        ],
        "cause": label if is_named else f"Unattributed (suspected: {label})",
        "explain": words.explain(row["job"], row["attempt"]),
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
    faults = [hours for (name, _), hours in cells.items() if name != "base.overhead"]
    return {
        "columns": columns,
        "rows": rows,
        "cells": cells,
        "largest": max(faults, default=0) or 1,
    }


def pack(columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """All rows of a table for the script: JSON by column, squeezed."""
    data = {
        "columns": [[column.kind, column.digits] for column in columns],
        "values": [[_pack_value(column, row[column.key]) for row in rows] for column in columns],
    }
    return squeeze(json.dumps(data, ensure_ascii=False, separators=(",", ":")))


def squeeze(text: str) -> str:
    """Gzip and base64: safe inside any element, and half the size or less."""
    # A lone surrogate cannot be encoded; the reader sees its number.
    data = text.encode("utf-8", errors="backslashreplace")
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def _pack_value(column: Column, value: Any) -> Any:
    if column.kind in ("text", "words"):
        return words.clean(value)
    if column.kind in ("hours", "percent") and value is not None:
        return round(value, column.digits + (2 if column.kind == "percent" else 0))
    return value


def inline_json(value: Any) -> Markup:
    """JSON that may stand inside a script element, whatever its strings hold."""
    text = json.dumps(value, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - nothing that could end the element is left


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
