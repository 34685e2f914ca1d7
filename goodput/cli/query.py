"""goodput query"""

from __future__ import annotations

import click

from goodput.cli.common import Context, output_option


@click.command(
    short_help="Ask the lake and the models in SQL.",
    epilog="Example: goodput query -o csv 'select * from ledger.interruptions'",
)
@click.argument("sql", metavar="SQL")
@output_option
@click.pass_obj
def command(context: Context, sql: str, output: str) -> None:
    """Ask the lake and the models in SQL (one SELECT, read-only).

    raw.<table> is what the lake holds now; staged, intervals, ledger, metrics and report are the
    last build. `from quarantine` shows what could not be taken and why. Instants are UTC.
    """
    from goodput.cli.output import print_result
    from goodput.warehouse.query import open_session

    with open_session(context.open_lake(), sql) as session:
        session.ask(sql, lambda relation: print_result(relation, output))
