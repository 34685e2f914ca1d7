"""The fleet timeline as SVG path data: one path a state group, one row a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

ROW_HEIGHT = 16
GAP = 3
MAX_TICKS = 8
NICE_HOURS = (0.05, 0.1, 0.25, 0.5, 1, 2, 3, 6, 12, 24, 48, 168, 336, 720, 1440, 2184, 4368)


def make_timeline(report: Mapping[str, Any]) -> dict[str, Any]:
    """Geometry of the timeline; x counts buckets, y pixels.

    Returns:
        width and height of the view box, the rows (nodes), a path per state group present, ticks
        as (percent of the width, instant), and the length of a bucket, also in words.
    """
    rows = report["node_timeline"]
    groups = {group["code"]: group for group in report["state_groups"]}
    paths: dict[str, list[str]] = {}
    for index, row in enumerate(rows):
        for code, start, length in runs(row["cells"]):
            paths.setdefault(code, []).append(
                f"M{start} {index * ROW_HEIGHT}h{length}v{ROW_HEIGHT - GAP}h-{length}z"
            )
    width = max((len(row["cells"]) for row in rows), default=1)
    bucket_ms = rows[0]["bucket_ms"] if rows else 1
    return {
        "width": width,
        "height": max(1, len(rows) * ROW_HEIGHT - GAP),
        "row_height": ROW_HEIGHT,
        "rows": rows,
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
