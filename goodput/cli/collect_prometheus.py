"""goodput collect prometheus"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from goodput.cli.common import Context, Instant, say
from goodput.errors import NoData, UsageError

_FILE = click.Path(path_type=Path, dir_okay=False)


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
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    help="Seconds after which an hour is complete.",
)
@click.option("--match", "matchers", multiple=True, help="""Label matcher: 'cluster="prod-1"'.""")
@click.option("--query", "names", multiple=True, help="Only queries of this name.")
@click.option("--queries", type=_FILE, help="File with more queries, in the form of the shipped.")
@click.option("--token-file", type=_FILE, help="Bearer token, read anew for each request.")
@click.option("--user", help="Name for basic authentication.")
@click.option("--password-file", type=_FILE, help="Its password.")
@click.option("--cert", type=_FILE, help="Client certificate (PEM), for mTLS.")
@click.option("--key", type=_FILE, help="Key of the client certificate (PEM).")
@click.option("--ca", type=_FILE, help="Certificates that sign the server (PEM).")
@click.option("--header", "headers", multiple=True, help="Sent along, as 'X-Scope-OrgID: team'.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=120.0,
    show_default=True,
    help="Longest silence of the server, in seconds.",
)
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
    token_file: Path | None,
    user: str | None,
    password_file: Path | None,
    cert: Path | None,
    key: Path | None,
    ca: Path | None,
    headers: tuple[str, ...],
    timeout: float,
    samples_at_once: int,
) -> None:
    """Read what Prometheus sampled of nodes, pods and GPUs into the lake, hour by hour.

    It goes on where the lake ends, and reads its last hour again for late samples. Stored are runs
    of equal samples; where samples lack, nothing is filled in. What is asked for is in
    goodput/catalog/prometheus_queries.toml. Reading the same hours again adds nothing.
    """
    from goodput.sources.prometheus import Plan, collect_prometheus
    from goodput.sources.prometheus_http import Access, Prometheus
    from goodput.sources.prometheus_queries import load_queries

    access = Access(
        url=url,
        token_file=token_file,
        user=_user(user, password_file),
        certificate=_certificate(cert, key),
        ca=str(ca) if ca else None,
        headers=dict(_header(text) for text in headers),
        timeout_s=timeout,
    )
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
    server = Prometheus(access)
    try:
        collected = collect_prometheus(lake, server, plan, now=now, say=say)
    finally:
        server.close()
    for table, rows in collected.rows_added.items():
        say(f"{table}: {rows} new rows")
    if len(collected.absent) == len(plan.queries):
        raise NoData(f"{url} has no sample of any query in these hours; see --match and --queries")


def _user(name: str | None, password_file: Path | None) -> tuple[str, str] | None:
    if (name is None) != (password_file is None):
        raise UsageError("--user and --password-file belong together")
    if name is None or password_file is None:
        return None
    try:
        return name, password_file.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise UsageError(f"the password file cannot be read: {error}") from None


def _certificate(cert: Path | None, key: Path | None) -> tuple[str, str] | None:
    if (cert is None) != (key is None):
        raise UsageError("--cert and --key belong together")
    return (str(cert), str(key)) if cert and key else None


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"--header takes 'Name: value', not {text!r}")
    return name.strip(), value.strip()
