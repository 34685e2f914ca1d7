"""Takes into the lake what the site's sources have now.

Each [[source]] of pipelines.toml names its kind; the rest of its keys are that kind's options. What
the lake has already is not added again, so running it twice, or too often, does no harm.
Exit codes: 0 taken (rows that could not be read are in quarantine, lists that may not be read are
named), 4 a path does not exist, 5 a cluster did not give all that it should.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from goodput.errors import SourceUnreachable, UsageError
from goodput.lake import Lake
from goodput.sources.dump import collect_files
from goodput.sources.dumped import Taken, take_dump
from goodput.sources.kube_snapshot import Scope, take_kubernetes
from goodput.sources.kubernetes_api import open_api
from pipelines.job import Site, run


def take_files(lake: Lake, options: dict[str, Any], now: datetime) -> Taken:
    """Files and folders of files: kubectl output, job logs, checkpoint listings.

    Options: `paths`, and what the files do not say: `cluster`, `job`, `attempt`, `tz`.
    """
    _refuse_unknown("dump", options, {"paths", "cluster", "job", "attempt", "tz"})
    reports = collect_files(**options, now=now)
    return take_dump(lake, reports, cluster=options["cluster"], now=now)


def look_at_cluster(lake: Lake, options: dict[str, Any], now: datetime) -> Taken:
    """What an API server shows now; the one of the cluster that this pod runs in, if none is named.

    Options: `cluster`, `kubeconfig`, `context`, `namespaces`, `exclude_namespaces`, `selector`.
    """
    credentials, parts = {"kubeconfig", "context"}, {"namespaces", "exclude_namespaces", "selector"}
    _refuse_unknown("kubernetes", options, {"cluster"} | credentials | parts)
    scope = Scope(
        tuple(options.get("namespaces", ())),
        tuple(options.get("exclude_namespaces", ())),
        options.get("selector", ""),
    )
    kubeconfig = options.get("kubeconfig")
    api = open_api(Path(kubeconfig) if kubeconfig else None, options.get("context"))
    try:
        look = take_kubernetes(
            lake, api, scope, cluster=options["cluster"], say=_log, clock=lambda: now
        )
    finally:
        api.close()
    if look.unanswered:
        raise SourceUnreachable(f"lists that did not come: {', '.join(look.unanswered)}")
    return look.taken


def _refuse_unknown(kind: str, options: dict[str, Any], known: set[str]) -> None:
    if unknown := sorted(set(options) - known):
        raise UsageError(f"a source of kind {kind!r} has no option {unknown[0]!r}")


def _log(line: str) -> None:
    print(line, file=sys.stderr)


SOURCES: dict[str, Callable[[Lake, dict[str, Any], datetime], Taken]] = {
    "dump": take_files,
    "kubernetes": look_at_cluster,
}


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
