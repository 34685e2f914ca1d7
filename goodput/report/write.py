"""Writes the files of a report, each whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goodput._files import replace_text
from goodput.report.email import render_email, render_message
from goodput.report.history import Earlier, left_out_rows, with_current
from goodput.report.render import render_digest, render_html
from goodput.report.result import read_result
from goodput.report.slack import render_slack
from goodput.report.textfile import render_textfile


@dataclass(frozen=True)
class ReportFiles:
    """Where the report was written: the result, its page, what is sent to people and Prometheus."""

    json: Path
    html: Path
    digest: Path
    slack: Path
    email: Path
    message: Path
    textfile: Path


RENDERERS: dict[str, tuple[str, Callable[[Mapping[str, Any]], str]]] = {
    "html": ("report.html", render_html),
    "digest": ("digest.md", render_digest),
    "slack": ("slack.json", render_slack),
    "email": ("email.html", render_email),
    "message": ("email.eml", render_message),
    "textfile": ("report.prom", render_textfile),
}
"""File name and renderer of all that is made from report.json alone, by field of ReportFiles."""


def write_report(
    warehouse_path: Path,
    out_dir: Path,
    trends: Sequence[Mapping[str, Any]] = (),
    earlier: Earlier | None = None,
) -> ReportFiles:
    """Writes report.json of a built warehouse, and everything that is made from it.

    Args:
        warehouse_path: the DuckDB file that `build` made.
        out_dir: folder for the files; made if it does not exist.
        trends: what changed since the week before, as `goodput.warehouse.trends.trend_rows` has it.
        earlier: the weeks before, as `goodput.report.history.earlier_weeks` has them.

    Raises:
        NoData: there is no build, or its window holds no paid GPU time.
    """
    report = read_result(warehouse_path)
    earlier = earlier or Earlier()
    report |= {
        "trends": [dict(row) for row in trends],
        "history": with_current(earlier.weeks, report),
        "history_left_out": left_out_rows(earlier),
    }
    # The pages are made from what was written, so that anyone can make them again from the file.
    text = json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False)
    report = json.loads(text)
    out_dir.mkdir(parents=True, exist_ok=True)
    written = {"json": out_dir / "report.json"}
    replace_text(written["json"], text + "\n")
    for field, (name, render) in RENDERERS.items():
        written[field] = out_dir / name
        replace_text(written[field], render(report))
    return ReportFiles(**written)
