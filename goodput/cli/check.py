"""goodput check"""

from __future__ import annotations

import click

from goodput.cli.build import report_checks
from goodput.cli.common import Context, output_option


@click.command(
    short_help="Run the checks over the last build.",
    epilog="Example: goodput check -o json",
)
@output_option
@click.pass_obj
def command(context: Context, output: str) -> None:
    """Run the checks over the last build and list each with the rows that break it.

    Exits with 3 if a check of severity error found rows; `from checks.<name>` shows them.
    """
    from goodput.cli.output import print_rows
    from goodput.warehouse.build import restore_variables
    from goodput.warehouse.checks import repeat_checks
    from goodput.warehouse.connection import connect
    from goodput.warehouse.models import find_models

    with connect(context.built_warehouse(), read_only=True) as con:
        restore_variables(con)
        results = repeat_checks(con, find_models())
    rows = [(r.name, r.severity, r.rows, r.description) for r in results]
    print_rows(("name", "severity", "row_count", "description"), rows, output)
    report_checks(results)
