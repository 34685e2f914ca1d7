"""goodput check"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from goodput.cli.build import report_checks
from goodput.cli.common import Context, output_option

if TYPE_CHECKING:
    from goodput.warehouse.checks import CheckResult


@click.command(
    short_help="Run the checks over the last build.",
    epilog="Example: goodput check -o json",
)
@output_option
@click.pass_obj
def command(context: Context, output: str) -> None:
    """Run the checks over the last build and list each with the rows that break it.

    `result` is holds, warns or fails; what does not hold comes first. Exits with 3 if a check
    fails; `goodput query "from checks.<name>"` shows the rows.
    """
    from goodput.cli.output import print_rows
    from goodput.warehouse.build import restore_variables
    from goodput.warehouse.checks import repeat_checks
    from goodput.warehouse.connection import connect
    from goodput.warehouse.models import find_models

    with connect(context.built_warehouse(), read_only=True) as con:
        restore_variables(con)
        results = repeat_checks(con, find_models())
    names = ("result", "name", "row_count", "description", "severity")
    rows = [(_result(one), one.name, one.rows, one.description, one.severity) for one in results]
    rows.sort(key=lambda row: ("fails", "warns", "holds").index(row[0]))
    # In a table, `error` beside a check that holds would be read as its result.
    shown = len(names) - (output == "table")
    print_rows(names[:shown], [row[:shown] for row in rows], output)
    report_checks(results)


def _result(check: CheckResult) -> str:
    if not check.rows:
        return "holds"
    return "fails" if check.failed else "warns"
