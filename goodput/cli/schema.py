"""goodput schema"""

from __future__ import annotations

import click

from goodput.cli.common import Context, output_option


@click.command(
    short_help="List tables and columns with type, unit and meaning.",
    epilog="Example: goodput schema raw.steps",
)
@click.argument("table", required=False)
@output_option
@click.pass_obj
def command(context: Context, table: str | None, output: str) -> None:
    """List every table and column with type, unit and meaning, or those of one table.

    Raw tables, which `goodput import` fills, come first; then those of the last build, if any.
    """
    from goodput.cli.output import print_rows
    from goodput.dictionary import describe_columns
    from goodput.errors import NoData, UsageError

    try:
        built = context.built_warehouse()
    except NoData:
        built = None
    rows = [row for row in describe_columns(built) if table in (None, row.table)]
    if not rows:
        raise UsageError(f"there is no table {table!r}; `goodput schema` lists them")
    names = ("table", "column", "type", "unit", "meaning")
    print_rows(names, [(r.table, r.column, r.type, r.unit, r.meaning) for r in rows], output)
