"""The tables that the page sorts and filters: their columns, and their rows packed for it."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goodput.report import words

Row = dict[str, Any]

FIRST_ROWS = 20

# What the page filters by, and the key of a row that holds it: a text, or a list of texts.
FACETS = {"team": "team", "namespace": "namespace", "pool": "pools", "class": "classes"}


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
    Column("waited_gpu_hours", "Of it, idle GPUs", "hours", 1),
    Column("explain", "Explain", "command"),
)


def make_tables(
    rows: Mapping[str, Sequence[Row]], *, with_cluster: bool
) -> dict[str, dict[str, Any]]:
    """Each table as the template needs it: columns, the first rows, all rows packed.

    Args:
        rows: of the tables jobs, nodes and interruptions, by those names.
        with_cluster: whether the cluster is a column; with one cluster the title has it.
    """
    extra = (CLUSTER_COLUMN,) if with_cluster else ()
    columns = {
        "jobs": (*extra, *JOB_COLUMNS),
        "nodes": (*extra, *NODE_COLUMNS),
        "interruptions": (*extra, *INTERRUPTION_COLUMNS),
    }
    return {
        name: {
            "columns": columns[name],
            "rows": rows[name][:FIRST_ROWS],
            "count": len(rows[name]),
            "packed": squeeze(pack(columns[name], rows[name])),
        }
        for name in columns
    }


def pack(columns: Sequence[Column], rows: Sequence[Row]) -> dict[str, Any]:
    """All rows of a table for the script, by column, with what they are filtered by."""
    return {
        "columns": [[column.kind, column.digits] for column in columns],
        "values": [[_pack_value(column, row[column.key]) for row in rows] for column in columns],
        "facets": facets(rows),
    }


def facets(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[list[str]]]:
    """What each row has of each facet; facets that the rows do not have at all are left out."""
    return {
        name: [facet(row, key) for row in rows]
        for name, key in FACETS.items()
        if any(key in row for row in rows)
    }


def facet(row: Mapping[str, Any], key: str) -> list[str]:
    """What a row has of a facet, as the page shows it."""
    value = row.get(key)
    values = value if isinstance(value, list) else [value]
    return [words.clean(item) for item in values if item is not None]


def choices(rows: Iterable[Mapping[str, Any]], key: str) -> list[str]:
    """What there is to choose of a facet, sorted."""
    return sorted({item for row in rows for item in facet(row, key)})


def squeeze(value: Any) -> str:
    """JSON, gzip and base64: safe inside any element, and half the size or less."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate cannot be encoded; the reader sees its number.
    data = text.encode("utf-8", errors="backslashreplace")
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def _pack_value(column: Column, value: Any) -> Any:
    if column.kind in ("text", "words"):
        return words.clean(value)
    if column.kind in ("hours", "percent") and value is not None:
        return round(value, column.digits + (2 if column.kind == "percent" else 0))
    return value
