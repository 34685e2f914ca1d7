"""goodput collect logs"""

from __future__ import annotations

from datetime import UTC, datetime

import click

from goodput.cli.common import Context, say
from goodput.errors import NoData


@click.command(
    "logs",
    short_help="Read training logs that grow: files, folders, S3, GCS, Azure.",
    epilog="Example: goodput collect logs /var/log/pods 's3://logs/train/**/*.log.gz'",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--cluster", help="Cluster they come from [default: default].")
@click.option("--job", help="Job that the logs belong to, where they do not say.")
@click.option("--attempt", type=click.IntRange(min=0), help="Attempt that the logs belong to.")
@click.option("--tz", help="IANA zone of naive times, such as Europe/Berlin [default: UTC].")
@click.option(
    "--path-pattern",
    metavar="REGEX",
    help="What paths say, as groups: '(?P<job>[^/]+)/try(?P<attempt>\\d+)/(?P<rank>\\d+)'.",
)
@click.option("--again", is_flag=True, help="Read files again that are as they were.")
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
) -> None:
    """Read training logs into the lake: files, folders, patterns and addresses of object stores.

    Run it as often as you like: files that are as they were are not opened, files that grew or were
    rotated, renamed or packed add their new rows only. The text of a log is not kept.
    """
    from goodput.sources import live_logs

    options = live_logs.LogOptions(
        cluster=cluster or context.settings.cluster,
        job=job,
        attempt=attempt,
        tz=tz,
        pattern=live_logs.path_pattern(path_pattern) if path_pattern else None,
    )
    lake = context.open_lake(create=True)
    now = datetime.now(UTC)
    taken = live_logs.take_logs(lake, paths, options, now=now, again=again, say=say)
    for table, rows in taken.rows_added.items():
        say(f"{table}: {rows} new rows")
    say(f"{taken.files} files, {taken.unchanged} of them as they were")
    if taken.quarantined:
        say(f"{taken.quarantined} quarantined: goodput query 'from quarantine'")
    if taken.errors:
        raise taken.errors[0]
    if not taken.known:
        raise NoData("none of these files is a log that could be read; see the reasons above")
