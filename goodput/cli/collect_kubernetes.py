"""goodput collect kubernetes"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import click

from goodput._memory import without_cycle_search
from goodput.cli.common import Context, say
from goodput.cli.live_options import ClusterPart, cluster_options
from goodput.errors import CheckFailed, SourceUnreachable, UsageError

if TYPE_CHECKING:
    from goodput.lake import Lake
    from goodput.sources.kube_snapshot import Scope
    from goodput.sources.kubernetes_api import KubernetesApi


@click.command(
    short_help="Ask a cluster's API server what it shows now.",
    epilog="Example: goodput collect kubernetes --cluster prod-1 --exclude-namespace kube-system",
)
@click.option("--cluster", help="Name that the lake knows it by [default: default].")
@cluster_options
@click.option("--watch", is_flag=True, help="Stay, and take every change until told to stop.")
@click.option("--strict", is_flag=True, help="Exit with 3 if anything was refused.")
@click.pass_obj
def kubernetes(
    context: Context,
    *,
    cluster: str | None,
    part: ClusterPart,
    watch: bool,
    strict: bool,
) -> None:
    """Ask a cluster's API server for nodes, pods, events and workloads, as they are now.

    Lists only, page by page; nothing is written to the cluster. Kinds that are not installed are no
    error; what this account may not read is named and left out. Run it often: a cluster forgets
    its events within the hour.
    """
    if watch and strict:
        raise UsageError("--strict is about one look; leave it out with --watch")
    cluster = cluster or context.settings.cluster
    # Another process signs in, which takes half a second: the rest is loaded and read meanwhile.
    from goodput.sources.kube_access import thread_aside

    with thread_aside() as aside, without_cycle_search():
        opening = aside.submit(part.open)
        from goodput.contract import raw_tables
        from goodput.sources.kube_namespaces import doubtful_namespaces
        from goodput.sources.kube_snapshot import take_kubernetes
        from goodput.texts import counted

        lake = context.open_lake(create=True)
        raw_tables()
        api = opening.result()
    try:
        for doubt in doubtful_namespaces(api, part.scope.namespaces):
            say(f"warning: {doubt}")
        if watch:
            _stay(lake, api, part.scope, cluster)
            return
        look = take_kubernetes(lake, api, part.scope, cluster=cluster, say=say)
    finally:
        api.close()
    for table, rows in look.taken.rows_added.items():
        say(f"{table}: {counted(rows, 'new row')}")
    if look.taken.quarantined:
        say(f"{look.taken.quarantined} quarantined: goodput query 'from quarantine'")
    if look.unanswered:
        missing = counted(len(look.unanswered), "list")
        raise SourceUnreachable(
            f"{missing} did not come ({', '.join(look.unanswered)}); the rest was taken, "
            "run it again"
        )
    if strict and (look.refused or look.taken.quarantined):
        raise CheckFailed(
            f"--strict: {counted(len(look.refused), 'list')} refused,"
            f" {counted(look.taken.quarantined, 'problem')}; the"
            " rest was taken"
        )


def _stay(lake: Lake, api: KubernetesApi, scope: Scope, cluster: str) -> None:
    """Watches until SIGTERM or Ctrl-C, and then publishes what has come."""
    from goodput.sources.kube_watch import watch_kubernetes

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    watch_kubernetes(lake, api, scope, cluster=cluster, stop=stop, say=say)
    say("stopped; what came is published")
