"""goodput collect checkpoints"""

from __future__ import annotations

from datetime import UTC, datetime

import click

from goodput.cli.common import Context, say
from goodput.errors import NoData


@click.command(
    "checkpoints",
    short_help="List checkpoint storage: folders, NFS, S3, GCS, Azure.",
    epilog="Example: goodput collect checkpoints /mnt/ckpt s3://models/llama --cluster prod-1",
)
@click.argument("roots", nargs=-1, required=True, metavar="ROOT...")
@click.option("--cluster", help="Cluster whose jobs write there [default: default].")
@click.option("--job", help="Job that wrote them, where their path does not tell.")
@click.pass_obj
def checkpoints(
    context: Context, *, roots: tuple[str, ...], cluster: str | None, job: str | None
) -> None:
    """List checkpoint storage into the lake: which steps, when, how large, whole or not.

    Only names, sizes and times are read; no checkpoint is loaded. A checkpoint that was there at an
    earlier run and is not now is deleted as of this run, if all of its root could be listed.
    Running it again adds what changed.
    """
    from goodput.sources.checkpoint_listing import TABLE
    from goodput.sources.live_checkpoints import take_checkpoints
    from goodput.texts import counted

    lake = context.open_lake(create=True)
    taken = take_checkpoints(
        lake,
        roots,
        cluster=cluster or context.settings.cluster,
        job=job,
        now=datetime.now(UTC),
        say=say,
    )
    for table, rows in taken.rows_added.items():
        say(f"{table}: {counted(rows, 'new row')}")
    if taken.errors:
        raise taken.errors[0]
    if not taken.checkpoints and not taken.rows_added.get(TABLE):
        raise NoData(
            "no checkpoint that a layout knows; goodput/catalog/checkpoint_layouts.toml has them"
        )
