"""The timelines of nodes and jobs: their geometry as SVG path data, lanes for the script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from goodput.report import words
from goodput.report.tables import facets

Row = dict[str, Any]

NODE_HEIGHT = 16
# A job's lane has room for its checkpoints below the states.
JOB_HEIGHT = 26
JOB_STATES = 14
GAP = 3
# So many lanes of jobs stand in the page; the script shows others when they are asked for.
JOBS_SHOWN = 15
MAX_TICKS = 8
NICE_HOURS = (0.05, 0.1, 0.25, 0.5, 1, 2, 3, 6, 12, 24, 48, 168, 336, 720, 1440, 2184, 4368)


def node_timeline(report: Mapping[str, Any], nodes: Sequence[Row]) -> dict[str, Any]:
    """The fleet timeline: a lane for each node that cost most.

    Args:
        nodes: the rows of the table of nodes, for what lanes are filtered by.
    """
    known = {(row["cluster"], row["node_uid"]): row for row in nodes}
    rows = [
        known.get((row["cluster"], row["node_uid"]), {}) | row for row in report["node_timeline"]
    ]
    names = [words.clean(row["node_name"] or row["node_uid"]) for row in rows]
    timeline = make_timeline(report, rows, row_height=NODE_HEIGHT, bar_height=NODE_HEIGHT - GAP)
    lanes = [{"name": name, "cells": row["cells"]} for name, row in zip(names, rows, strict=True)]
    return timeline | {"names": names, "packed": _packed(report, timeline, rows, lanes)}


def job_timeline(
    report: Mapping[str, Any], jobs: Sequence[Row], interruptions: Sequence[Row]
) -> dict[str, Any]:
    """The job timelines: attempts, checkpoints and interruptions of each job that lost most.

    Args:
        jobs: the rows of the table of jobs.
        interruptions: the rows of the table of interruptions.
    """
    known = {(row["cluster"], row["job"]): row for row in jobs}
    rows = [known.get((row["cluster"], row["job"]), {}) | row for row in report["job_timeline"]]
    attempts = _by_job(report["job_attempts"])
    ends = _by_job(interruptions)
    shown = make_timeline(report, rows[:JOBS_SHOWN], row_height=JOB_HEIGHT, bar_height=JOB_STATES)
    start = datetime.fromisoformat(report["window"]["start"])
    bucket = timedelta(milliseconds=shown["bucket_ms"])

    def place(instant: str) -> float:
        elapsed = datetime.fromisoformat(instant) - start
        return round(elapsed / bucket, 2)

    lanes = []
    for row in rows:
        key = (row["cluster"], row["job"])
        lanes.append(
            {
                "name": words.clean(row["job_name"]),
                "cells": row["cells"],
                "attempts": [_attempt(one, place) for one in attempts.get(key, [])],
                "ends": [[place(one["interrupted_at"]), _reason(one)] for one in ends.get(key, [])],
            }
        )
    names = [lane["name"] for lane in lanes[:JOBS_SHOWN]]
    return shown | {
        "names": names,
        "count": len(lanes),
        "packed": _packed(report, shown, rows, lanes),
    }


def _by_job(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["cluster"], row["job"]), []).append(row)
    return found


def _attempt(row: Row, place: Any) -> list[Any]:
    """Number, begin and end in buckets, a line of words, the buckets with checkpoints."""
    steps = f", to step {row['last_step']:,}" if row["last_step"] is not None else ""
    saved = f", {row['checkpoint_count']:,} checkpoints" if row["checkpoint_count"] else ""
    return [
        row["attempt"],
        place(row["started_at"]),
        None if row["ended_at"] is None else place(row["ended_at"]),
        f"attempt {row['attempt']} {words.clean(row['outcome'])}{steps}{saved}",
        row["checkpoint_buckets"],
    ]


def _reason(row: Row) -> str:
    """Why an attempt ended, and the line that decided."""
    text = f"attempt {row['attempt']} ended: {words.clean(row['cause'])}"
    text += f", confidence {row['confidence']}" if row["confidence"] is not None else ""
    for line in row["evidence"]:
        if line["is_picked"]:
            at = f":{line['origin_line']}" if line["origin_line"] is not None else ""
            origin = f" ({words.clean(line['origin'])}{at})" if line["origin"] else ""
            return f"{text}. {words.clean(line['source'])}: {words.clean(line['value'])}{origin}"
    return text


def _packed(
    report: Mapping[str, Any], timeline: Row, rows: Sequence[Row], lanes: Sequence[Row]
) -> dict[str, Any]:
    return {
        "start": report["window"]["start"],
        "bucket": timeline["bucket_ms"],
        "width": timeline["width"],
        "groups": {
            group["code"]: [group["state_group"], group["label"]]
            for group in report["state_groups"]
        },
        "lanes": list(lanes),
        "facets": facets(rows),
    }


def make_timeline(
    report: Mapping[str, Any], rows: Sequence[Row], *, row_height: int, bar_height: int
) -> dict[str, Any]:
    """Geometry of a timeline; x counts buckets, y pixels.

    Returns:
        width and height of the view box, the rows, a path per state group present, ticks as
        (percent of the width, instant), and the length of a bucket, also in words.
    """
    groups = {group["code"]: group for group in report["state_groups"]}
    paths: dict[str, list[str]] = {}
    for index, row in enumerate(rows):
        for code, start, length in runs(row["cells"]):
            paths.setdefault(code, []).append(
                f"M{start} {index * row_height}h{length}v{bar_height}h-{length}z"
            )
    width = max((len(row["cells"]) for row in rows), default=1)
    bucket_ms = rows[0]["bucket_ms"] if rows else 1
    return {
        "width": width,
        "height": max(1, len(rows) * row_height - GAP),
        "row_height": row_height,
        "bar_height": bar_height,
        "bucket_ms": bucket_ms,
        "step": duration(bucket_ms),
        "paths": [
            {"group": groups[code], "d": "".join(paths[code])} for code in groups if code in paths
        ],
        "ticks": list(ticks(report["window"], width * bucket_ms)),
    }


def duration(ms: int) -> str:
    """A length of time in the largest unit that it fills."""
    for unit, size in (("hours", 3_600_000), ("minutes", 60_000), ("seconds", 1000)):
        if ms >= 2 * size or unit == "seconds":
            break
    return f"{ms / size:.1f}".removesuffix(".0") + f" {unit}"


def runs(cells: str) -> Iterator[tuple[str, int, int]]:
    """The stretches of equal letters, as (letter, start, length); dots are left out."""
    start = 0
    for code, group in groupby(cells):
        length = len(list(group))
        if code != ".":
            yield code, start, length
        start += length


def ticks(window: Mapping[str, Any], span_ms: int) -> Iterator[tuple[float, str]]:
    """At most eight instants, evenly spaced from the window's start."""
    start = datetime.fromisoformat(window["start"])
    hours = window["hours"]
    step = next((nice for nice in NICE_HOURS if hours / nice <= MAX_TICKS), hours)
    for index in range(int(hours / step) + 1):
        offset = timedelta(hours=index * step)
        place = 100 * offset.total_seconds() * 1000 / span_ms
        if place < 100:  # the right edge has no room for a label
            yield place, (start + offset).isoformat()
