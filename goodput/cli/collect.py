"""goodput collect"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from goodput.cli.collect_checkpoints import checkpoints
from goodput.cli.collect_kubernetes import kubernetes
from goodput.cli.collect_logs import logs
from goodput.cli.collect_prometheus import prometheus
from goodput.cli.common import Context, say
from goodput.errors import CheckFailed, NoData, UsageError


@click.group(short_help="Bring observations of a cluster into the lake.")
def command() -> None:
    """Bring observations of a cluster into the lake."""


command.add_command(logs)
command.add_command(checkpoints)


@command.command(
    short_help="Take files that someone dumped: kubectl output, logs, listings.",
    epilog="Example: goodput collect dump nodes.json pods.json events.json logs/ --cluster prod-1",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--cluster", help="Cluster they come from [default: default].")
@click.option("--job", help="Job that logs belong to, by key or name, where they do not say.")
@click.option("--attempt", type=click.IntRange(min=0), help="Attempt that logs belong to.")
@click.option(
    "--tz", help="IANA zone of naive times in logs, such as Europe/Berlin [default: UTC]."
)
@click.option(
    "--hint",
    "hints",
    multiple=True,
    metavar="KEY=VALUE",
    help="What else a file does not say: node, year, boot_time, gpus, root.",
)
@click.option("--strict", is_flag=True, help="Exit with 3 if anything was quarantined.")
@click.pass_obj
def dump(
    context: Context,
    *,
    files: tuple[Path, ...],
    cluster: str | None,
    job: str | None,
    attempt: int | None,
    tz: str | None,
    hints: tuple[str, ...],
    strict: bool,
) -> None:
    """Take files that someone dumped, and folders of them, into the lake.

    Each file is recognised by its content: `kubectl get … -o json` or yaml, training logs, kernel
    logs, checkpoint listings, event files of goodput trackers; gzip and zstd too. What cannot be
    used goes to quarantine with its reason. Taking the same files again adds nothing.
    """
    from goodput.sources.dump import collect_files
    from goodput.sources.dumped import take_dump
    from goodput.texts import counted

    if off := [text for text in hints if "=" not in text]:
        raise UsageError(f"--hint takes key=value, not {off[0]!r}")
    cluster = cluster or context.settings.cluster
    more = {name: value for name, _, value in (text.partition("=") for text in hints)}
    reports = collect_files(
        files, cluster=cluster, job=job, attempt=attempt, tz=tz, more_hints=more
    )
    lake = context.open_lake(create=True)
    taken = take_dump(lake, reports, cluster=cluster, now=datetime.now(UTC), say=say)
    for table, rows in taken.rows_added.items():
        say(f"{table}: {counted(rows, 'new row')}")
    if taken.quarantined:
        say(f"{taken.quarantined} quarantined: goodput query 'from quarantine'")
    for folder in taken.typed_folders:
        say(f"{folder} has files of typed tables, which this leaves out: goodput import {folder}")
    if not taken.rows_taken:
        raise NoData("none of these files has anything that could be taken; see the reasons above")
    if strict and taken.quarantined:
        raise CheckFailed(f"--strict: {counted(taken.quarantined, 'problem')}; the rest was taken")


command.add_command(kubernetes)
command.add_command(prometheus)
