"""Writes the files of a report, each whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from goodput.report.render import render_digest, render_html
from goodput.report.result import read_result


@dataclass(frozen=True)
class ReportFiles:
    """Where the report was written."""

    json: Path
    html: Path
    digest: Path


def write_report(
    warehouse_path: Path, out_dir: Path, trends: Sequence[Mapping[str, Any]] = ()
) -> ReportFiles:
    """Writes report.json, report.html and digest.md of a built warehouse.

    Args:
        warehouse_path: the DuckDB file that `build` made.
        out_dir: folder for the files; made if it does not exist.
        trends: what changed since the week before, as `goodput.warehouse.trends.trend_rows` has it.

    Raises:
        NoData: there is no build, or its window holds no paid GPU time.
    """
    report = read_result(warehouse_path) | {"trends": [dict(row) for row in trends]}
    # The pages are made from what was written, so that anyone can make them again from the file.
    text = json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False)
    report = json.loads(text)
    files = ReportFiles(out_dir / "report.json", out_dir / "report.html", out_dir / "digest.md")
    out_dir.mkdir(parents=True, exist_ok=True)
    _publish(files.json, text + "\n")
    _publish(files.html, render_html(report))
    _publish(files.digest, render_digest(report))
    return files


def _publish(path: Path, text: str) -> None:
    scratch = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        # Lone surrogates cannot be written as UTF-8; a reader sees what stood there.
        scratch.write_text(text, encoding="utf-8", errors="backslashreplace")
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
