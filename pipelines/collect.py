"""Takes into the lake what the site's sources have now.

Each [[source]] of pipelines.toml names its kind; the rest of its keys are that kind's options. What
the lake has already is not added again, so running it twice, or too often, does no harm.
Exit codes: 0 taken (rows that could not be read are in quarantine), 4 a path does not exist.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any

from goodput.errors import UsageError
from goodput.lake import Lake
from goodput.sources.dump import collect_files
from goodput.sources.dumped import Taken, take_dump
from pipelines.job import Site, run


def take_files(lake: Lake, options: dict[str, Any], now: datetime) -> Taken:
    """Files and folders of files: kubectl output, job logs, checkpoint listings.

    Options: `paths`, and what the files do not say: `cluster`, `job`, `attempt`, `tz`.
    """
    if unknown := sorted(set(options) - {"paths", "cluster", "job", "attempt", "tz"}):
        raise UsageError(f"a source of kind 'dump' has no option {unknown[0]!r}")
    reports = collect_files(**options, now=now)
    return take_dump(lake, reports, cluster=options["cluster"], now=now)


SOURCES: dict[str, Callable[[Lake, dict[str, Any], datetime], Taken]] = {"dump": take_files}


def collect(site: Site, now: datetime) -> dict[str, Any]:
    """Takes from every source; one that fails stops the job, and the next run takes the rest."""
    lake = Lake.open(site.settings.lake, create=True)
    added: dict[str, int] = {}
    quarantined = 0
    for source in site.policy.source:
        options = {"cluster": site.settings.cluster, **source}
        kind = options.pop("kind", None)
        if kind not in SOURCES:
            raise UsageError(f"there is no source of kind {kind!r}; known are {sorted(SOURCES)}")
        taken = SOURCES[kind](lake, options, now)
        quarantined += taken.quarantined
        for table, rows in taken.rows_added.items():
            added[table] = added.get(table, 0) + rows
    return {"rows_added": added, "quarantined": quarantined}


def main() -> int:
    """Runs the job; it may run while a build does, since a build reads one snapshot of the lake."""
    return run("collect", "collect", collect)


if __name__ == "__main__":
    sys.exit(main())
