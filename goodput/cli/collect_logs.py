"""goodput collect logs"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from goodput.cli.common import Context, Instant, say
from goodput.cli.live_options import Caller, ClusterPart, caller_options, cluster_options
from goodput.errors import NoData, UsageError

if TYPE_CHECKING:
    from goodput.sources.live_logs import TakenLogs

_PAGE = 5_000


@click.command(
    "logs",
    short_help="Read training logs: files, S3, GCS, Azure, pods of a cluster, Loki.",
    epilog="Example: goodput collect logs /var/log/pods 's3://logs/train/**/*.log.gz'",
)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--cluster", help="Cluster they come from [default: default].")
@click.option("--job", help="Job that the logs belong to, by key or name, where they do not say.")
@click.option(
    "--attempt", type=click.IntRange(0, 2**31 - 1), help="Attempt that the logs belong to."
)
@click.option("--tz", help="IANA zone of naive times, such as Europe/Berlin [default: UTC].")
@click.option(
    "--path-pattern",
    metavar="REGEX",
    help="What paths say, as groups: '(?P<job>[^/]+)/try(?P<attempt>\\d+)/(?P<rank>\\d+)'.",
)
@click.option("--again", is_flag=True, help="Read logs again that are as they were.")
@click.option("--pods", is_flag=True, help="Not files: training pods, through the API server.")
@cluster_options
@click.option("--loki", metavar="URL", help="Not files: Loki; the address before /loki/api/v1.")
@click.option("--loki-query", metavar="LOGQL", help="""Which lines: '{namespace="train"}'.""")
@click.option(
    "--loki-page",
    type=click.IntRange(min=2),
    default=_PAGE,
    show_default=True,
    help="Lines that Loki is asked for at once.",
)
@click.option(
    "--from", "start", type=Instant(), help="Begin here in Loki [default: where the lake ends]."
)
@caller_options
@click.pass_obj
def logs(
    context: Context,
    *,
    paths: tuple[str, ...],
    cluster: str | None,
    job: str | None,
    attempt: int | None,
    tz: str | None,
    path_pattern: str | None,
    again: bool,
    pods: bool,
    part: ClusterPart,
    loki: str | None,
    loki_query: str | None,
    loki_page: int,
    start: datetime | None,
    caller: Caller,
) -> None:
    """Read training logs into the lake: files, folders, patterns and addresses of object stores.

    Run it as often as you like: logs that are as they were are not opened, those that grew or were
    rotated, renamed or packed add their new rows only. The text of a log is not kept.

    With --pods, the logs of pods that hold GPUs, or that a training workload made, are read through
    the API server: of each container the current run and the one before. With --loki, the streams
    that --loki-query finds. Both go on where the last run ended.
    """
    from goodput.sources import live_logs
    from goodput.sources.kube_namespaces import doubtful_namespaces
    from goodput.sources.live_loki import LokiLogs
    from goodput.sources.live_pod_logs import PodLogs
    from goodput.sources.loki_http import API, Loki

    if bool(paths) + pods + bool(loki) != 1:
        raise UsageError("name what to read: paths, or --pods, or --loki with --loki-query")
    if bool(loki) != bool(loki_query):
        raise UsageError("--loki and --loki-query belong together")
    options = live_logs.LogOptions(
        cluster=cluster or context.settings.cluster,
        job=job,
        attempt=attempt,
        tz=tz,
        pattern=live_logs.path_pattern(path_pattern) if path_pattern else None,
    )
    now = datetime.now(UTC)
    lake = context.open_lake(create=True)
    with ExitStack() as opened:
        source: live_logs.LogSource
        if loki and loki_query:
            server = Loki(caller.access(loki, api=API, option="--loki"), loki_page)
            opened.callback(server.close)
            source = LokiLogs(server, loki_query, now, start=start)
        elif pods:
            api = part.open()
            opened.callback(api.close)
            for doubt in doubtful_namespaces(api, part.scope.namespaces):
                say(f"warning: {doubt}")
            source = PodLogs(api, part.scope, options.cluster, again=again, say=say)
        else:
            source = live_logs.LogFiles(paths)
        taken = live_logs.take_logs(lake, source, options, now=now, again=again, say=say)
    _tell(taken, paths)


def _tell(taken: TakenLogs, paths: tuple[str, ...]) -> None:
    """Says what came, and fails if some could not be read, or none of the paths had a log."""
    from goodput.texts import counted

    for table, rows in sorted(taken.rows_added.items()):
        say(f"{table}: {counted(rows, 'new row')}")
    say(f"{counted(taken.files, 'file')}, {taken.unchanged} of them as they were")
    if taken.quarantined:
        say(f"{taken.quarantined} quarantined: goodput query 'from quarantine'")
    if taken.errors:
        raise taken.errors[0]
    if paths and not taken.files:
        raise NoData(f"there is no file below {', '.join(paths)}; check the path")
    if paths and not taken.known:
        raise NoData("none of these files is a log that could be read; see the reasons above")
