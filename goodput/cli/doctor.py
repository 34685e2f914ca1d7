"""goodput doctor"""

from __future__ import annotations

import click

from goodput.cli.common import Context, output_option, say
from goodput.errors import GoodputError, SourceUnreachable


@click.command(
    short_help="Say what is reachable, fresh, built and missing.",
    epilog="Example: goodput doctor -o json",
)
@output_option
@click.pass_obj
def command(context: Context, output: str) -> None:
    """Say what is reachable, fresh, built and missing; exits with 5 if the lake is not reachable.

    One row per raw table, cluster and source: rows, newest knowledge time and newest event.
    """
    from goodput.cli.output import print_result
    from goodput.warehouse.freshness import freshness_sql, last_build
    from goodput.warehouse.query import open_session

    try:
        lake = context.open_lake()
        say(f"lake {lake.url}: reachable, {'writable' if lake.is_writable() else 'READ-ONLY'}")
    except GoodputError as error:
        raise SourceUnreachable(f"lake {context.lake_url}: not reachable. {error}") from None
    say(last_build(lake.warehouse_path))
    tables = lake.snapshot().tables
    if not tables:
        say("the lake has no rows yet; `goodput import DIR` or `goodput collect` brings some")
        return
    with open_session(lake, with_models=False) as session:
        session.ask(freshness_sql(tables), lambda relation: print_result(relation, output))
