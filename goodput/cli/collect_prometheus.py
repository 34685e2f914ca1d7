"""goodput collect prometheus"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from goodput.cli.common import Context, Instant, Number, say
from goodput.cli.live_options import FILE, Caller, caller_options
from goodput.errors import NoData
from goodput.texts import counted

_YEAR_S = 366 * 86_400


@click.command(
    "prometheus",
    short_help="Read samples of nodes and GPUs from Prometheus, Thanos, Mimir, VictoriaMetrics.",
    epilog="Example: goodput collect prometheus --url http://prometheus:9090 --cluster prod-1",
)
@click.option(
    "--url",
    envvar="GOODPUT_PROMETHEUS_URL",
    required=True,
    help="Address before /api/v1 [env GOODPUT_PROMETHEUS_URL].",
)
@click.option("--cluster", help="Name that the lake knows it by [default: default].")
@click.option(
    "--from",
    "start",
    type=Instant(),
    help="Begin with this hour [default: an hour before the lake ends; a day if it has nothing].",
)
@click.option("--to", "end", type=Instant(), help="End before this hour [default: now].")
@click.option(
    "--settle",
    type=Number(most=_YEAR_S),
    default=300.0,
    show_default=True,
    help="Seconds after which an hour is complete.",
)
@click.option("--match", "matchers", multiple=True, help="""Label matcher: 'cluster="prod-1"'.""")
@click.option("--query", "names", multiple=True, help="Only queries of this name.")
@click.option("--queries", type=FILE, help="File with more queries, in the form of the shipped.")
@caller_options
@click.option(
    "--samples",
    "samples_at_once",
    type=click.IntRange(min=1),
    default=2_000_000,
    show_default=True,
    help="About how many samples one request may ask for.",
)
@click.pass_obj
def prometheus(
    context: Context,
    *,
    url: str,
    cluster: str | None,
    start: datetime | None,
    end: datetime | None,
    settle: float,
    matchers: tuple[str, ...],
    names: tuple[str, ...],
    queries: Path | None,
    caller: Caller,
    samples_at_once: int,
) -> None:
    """Read what Prometheus sampled of nodes, pods and GPUs into the lake, hour by hour.

    It goes on where the lake ends, and reads its last hour again for late samples. Stored are runs
    of equal samples; where samples lack, nothing is filled in. What is asked for is in
    goodput/catalog/prometheus_queries.toml. Reading the same hours again adds nothing.
    """
    from goodput.sources.prometheus import Plan, collect_prometheus
    from goodput.sources.prometheus_http import Prometheus
    from goodput.sources.prometheus_queries import load_queries

    now = datetime.now(UTC)
    settled = now - timedelta(seconds=settle)
    plan = Plan(
        cluster=cluster or context.settings.cluster,
        queries=load_queries(queries, names),
        start=start,
        end=min(end or settled, settled),
        matchers=matchers,
        samples_at_once=samples_at_once,
    )
    lake = context.open_lake(create=True)
    server = Prometheus(caller.access(url))
    try:
        collected = collect_prometheus(lake, server, plan, now=now, say=say)
    finally:
        server.close()
    for table, rows in collected.rows_added.items():
        say(f"{table}: {counted(rows, 'new row')}")
    if len(collected.absent) == len(plan.queries):
        raise NoData(
            f"{url} has no sample of any query in these hours; see --match and --queries; "
            + (
                "they are recorded as empty, and only --from reads them again"
                if collected.rows_added
                else "nothing was recorded, and the next run reads them again"
            )
        )
