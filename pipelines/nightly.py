"""Accounts for the last whole days: builds every model, runs the checks, exports the metrics.

It builds several days each night, since rows arrive late: a pod's end, a log, a repair ticket.
Notebooks and `goodput query` read what the last run built. Running it twice makes the same tables.
Exit codes: 0 built and all checks held, 3 a check failed (the tables are there to look at),
4 no GPU was paid for in these days (the build before stays).
"""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from typing import Any

from goodput._files import replace_text
from goodput.lake import Lake
from goodput.warehouse.build import build
from goodput.warehouse.export import export_text
from goodput.window import Window
from pipelines.job import Site, refuse_failed_checks, run, textfiles


def last_days(now: datetime, days: int) -> Window:
    """The window of that many whole UTC days before today."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return Window(midnight - timedelta(days=days), midnight)


def nightly(site: Site, now: datetime) -> dict[str, Any]:
    """Builds the window, and leaves its metrics for Prometheus, whatever the checks say."""
    window = last_days(now, site.policy.nightly_days)
    lake, params = Lake.open(site.settings.lake), site.settings.params
    result = build(lake, window, as_of=now, params=params, keep_empty=False)
    metrics = textfiles(site.policy) / "goodput.prom"
    metrics.parent.mkdir(parents=True, exist_ok=True)
    replace_text(metrics, export_text(result.database))
    refuse_failed_checks(result)
    return {"from": str(window.start), "to": str(window.end), "checks": len(result.checks)}


def main() -> int:
    """Runs the job; nightly and weekly share a lock, since both build the same tables."""
    return run("nightly", "warehouse", nightly)


if __name__ == "__main__":
    sys.exit(main())
