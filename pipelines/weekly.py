"""Accounts for the last closed ISO week and writes its report to <reports>/<week>/.

Running it again writes the same week again, with what has become known since.
Exit codes: 0 written, 3 written but a check failed (the report says which),
4 no GPU was paid for in that week (the build and the reports before stay).
"""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from typing import Any

from goodput.lake import Lake
from goodput.report import write_report
from goodput.report.archive import Archive
from goodput.report.history import earlier_weeks
from goodput.warehouse.build import build
from goodput.warehouse.trends import trend_rows
from goodput.window import Window
from pipelines.job import Site, log, refuse_failed_checks, run

WEEKS = 5  # that the trend shows: this one and four before


def last_week(now: datetime) -> Window:
    """The ISO week before the one that `now` lies in."""
    year, week, _ = (now - timedelta(days=7)).isocalendar()
    return Window.of_week(f"{year}-W{week:02d}")


def weekly(site: Site, now: datetime) -> dict[str, Any]:
    """Builds the week and writes its report; weeks that it cannot be compared with are named."""
    window = last_week(now)
    lake, params = Lake.open(site.settings.lake), site.settings.params
    result = build(lake, window, as_of=now, params=params, keep_empty=False)
    archive = Archive(str(site.policy.reports))
    published = list(archive.results().values())
    trends = trend_rows(lake, result.database, params, log)
    earlier = earlier_weeks(lake, result.database, WEEKS, params, published)
    left_out = [str(week) for week in earlier.left_out]
    for week in left_out:
        log(f"left out of the weeks before: {week}")
    folder = site.policy.reports / str(window.iso_week)
    files = write_report(result.database, folder, trends, earlier)
    archive.write_index()
    refuse_failed_checks(result)
    return {
        "week": window.iso_week,
        "report": str(files.html),
        "checks": len(result.checks),
        "left_out": left_out,
    }


def main() -> int:
    """Runs the job; nightly and weekly share a lock, since both build the same tables."""
    return run("weekly", "warehouse", weekly)


if __name__ == "__main__":
    sys.exit(main())
