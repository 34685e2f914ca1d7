"""goodput doctor"""

from __future__ import annotations

from datetime import UTC, datetime

import click

from goodput.cli.common import Context, output_option, say
from goodput.errors import GoodputError, SourceUnreachable


@click.command(
    short_help="Say what is reachable, permitted, fresh, built and missing.",
    epilog="Example: goodput doctor -o json",
)
@output_option
@click.pass_obj
def command(context: Context, output: str) -> None:
    """Say what is reachable, permitted, fresh, built and missing.

    On stderr the lake, the last build, and each [[source]] of goodput.toml. On stdout one row per
    raw table and cluster: rows, newest knowledge time and newest event, and from how many sources
    (files, API servers) they came. Exits with 2 if goodput.toml cannot be used, with 5 if the lake
    or a source is not reachable.
    """
    from goodput.cli.output import print_result
    from goodput.sources.checkup import UNREACHABLE, check_up
    from goodput.sources.configured import configured_sources
    from goodput.warehouse.build import require_parameters
    from goodput.warehouse.freshness import freshness_sql, last_build
    from goodput.warehouse.query import open_session

    sources = configured_sources(context.settings)
    require_parameters(context.settings.params)
    unreachable: list[str] = []
    lake = None
    try:
        lake = context.open_lake()
        say(f"lake {lake.url}: reachable, {'writable' if lake.is_writable() else 'READ-ONLY'}")
        say(last_build(lake.built_warehouse()))
    except GoodputError as error:
        unreachable.append(f"the lake: {error}")
    for source in sources:
        for finding in check_up(source, lake, datetime.now(UTC)):
            say(f"{finding.state} {finding.source}: {finding.detail}")
            if finding.state == UNREACHABLE:
                unreachable.append(finding.source)
    if lake is not None and (tables := lake.snapshot().tables):
        with open_session(lake, with_models=False) as session:
            session.ask(freshness_sql(tables), lambda relation: print_result(relation, output))
    elif lake is not None:
        say("the lake has no rows yet; `goodput import DIR` or `goodput collect` brings some")
    if unreachable:
        raise SourceUnreachable(f"not reachable: {'; '.join(unreachable)}")
