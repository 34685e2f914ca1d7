"""goodput import"""

from __future__ import annotations

from pathlib import Path

import click

from goodput.cli.common import Context, say
from goodput.errors import CheckFailed, NoData


@click.command(
    "import",
    short_help="Take typed tables from files into the lake.",
    epilog="Example: goodput import tables/ && goodput query 'from quarantine'",
)
@click.argument("source", metavar="DIR", type=click.Path(exists=True, path_type=Path))
@click.option("--cluster", help="Cluster of rows that name none [default: default].")
@click.option("--strict", is_flag=True, help="Exit with 3 if anything was quarantined.")
@click.pass_obj
def command(context: Context, source: Path, cluster: str | None, strict: bool) -> None:
    """Take typed tables from files into the lake.

    DIR holds one <table>.ndjson, .csv or .parquet (or .gz of them) per table, such as nodes.csv or
    steps.parquet; `goodput schema` lists tables and columns. Instants are RFC 3339 with a zone, or
    epoch seconds. What cannot be taken goes to quarantine with its reason; the rest is taken.
    Importing the same files again adds nothing.
    """
    from goodput.sources.typed import import_files
    from goodput.texts import counted

    lake = context.open_lake(create=True)
    result = import_files(lake, source, cluster=cluster or context.settings.cluster)
    for message in result.messages:
        say(message)
    for table, rows in result.rows_taken.items():
        say(f"{table}: {counted(rows, 'row')}, {result.rows_added.get(table, 0)} of them new")
    if result.quarantined:
        say(f"{result.quarantined} quarantined: goodput query 'from quarantine'")
    if not any(result.rows_taken.values()):
        raise NoData(f"{source} has no row that could be taken; see the reasons above")
    if strict and result.quarantined:
        raise CheckFailed(f"--strict: {counted(result.quarantined, 'problem')}; the rest was taken")
