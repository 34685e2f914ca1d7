"""goodput schema"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from goodput.cli.common import Context, output_option

if TYPE_CHECKING:
    from goodput.dictionary import Column


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
    NOT NULL marks the columns in which every row that is imported needs a value.
    """
    from goodput.cli.output import print_rows
    from goodput.dictionary import describe_columns
    from goodput.errors import NoData, UsageError

    try:
        built = context.built_warehouse()
    except NoData:
        built = None
    described = describe_columns(built)
    rows = [row for row in described if table in (None, row.table)]
    if not rows:
        alike = sorted({row.table for row in described if row.table.endswith(f".{table}")})
        hint = f"did you mean {' or '.join(alike)}?" if alike else "`goodput schema` lists them"
        raise UsageError(f"there is no table {table!r}; {hint}")
    names = ("table", "column", "type", "unit", "meaning")
    shown = [(row.table, row.column, _type(row), row.unit, row.meaning) for row in rows]
    print_rows(names, shown, output)


def _type(column: Column) -> str:
    return f"{column.type} NOT NULL" if column.is_required else column.type
