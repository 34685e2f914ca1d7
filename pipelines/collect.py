"""Takes into the lake what the site's sources have now.

Each [[source]] of goodput.toml names its kind; the rest of its keys are that kind's options. What
the lake has already is not added again, so running it twice, or too often, does no harm.
Exit codes: 0 taken (rows that could not be read are in quarantine, lists that may not be read are
named); else that of the first source that failed: 2 config, 4 no such path, 5 not all came.
"""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Any

from goodput.errors import GoodputError
from goodput.lake import Lake
from goodput.sources.configured import configured_sources
from pipelines.job import Site, log, run


def collect(site: Site, now: datetime) -> dict[str, Any]:
    """Takes from every source; one that fails keeps none of the others from being taken."""
    sources = configured_sources(site.settings)
    lake = Lake.open(site.settings.lake, create=True)
    added: dict[str, int] = {}
    quarantined = 0
    failures: list[GoodputError] = []
    for source in sources:
        try:
            gain = source.take(lake, now, log)
        except GoodputError as error:
            log(f"{source.name}: {error}")
            failures.append(error)
            continue
        quarantined += gain.quarantined
        for table, rows in gain.rows_added.items():
            added[table] = added.get(table, 0) + rows
    if failures:
        raise failures[0]
    return {"rows_added": added, "quarantined": quarantined}


def main() -> int:
    """Runs the job; it may run while a build does, since a build reads one snapshot of the lake."""
    return run("collect", "collect", collect)


if __name__ == "__main__":
    sys.exit(main())
