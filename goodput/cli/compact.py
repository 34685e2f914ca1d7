"""goodput compact"""

from __future__ import annotations

from datetime import timedelta

import click

from goodput.cli.common import Context, say


@click.command(
    short_help="Merge small files of closed days into large ones.",
    epilog="Example: goodput compact --keep-hours 48",
)
@click.option(
    "--keep-hours",
    type=click.IntRange(0, 1_000_000),
    default=24,
    show_default=True,
    help="How long files that were replaced or left behind stay for readers.",
)
@click.pass_obj
def command(context: Context, keep_hours: int) -> None:
    """Merge the files of each table and closed day into one, and sweep what nobody reads.

    Safe beside readers and writers: they see the old files or the new one, never both or neither.
    A build refers to the files of its moment, so build again within --keep-hours.
    """
    done = context.open_lake().compact(keep=timedelta(hours=keep_hours))
    say(
        f"{done.files_before} files are now {done.files_after}; "
        f"{done.duplicate_rows} duplicate rows left out, {done.files_removed} old files deleted"
    )
