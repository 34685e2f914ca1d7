"""goodput doctor"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from goodput._files import local_path
from goodput.cli.common import Context, output_option, say
from goodput.errors import GoodputError, NoData, SourceUnreachable

if TYPE_CHECKING:
    from goodput.lake import Lake


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
    or a source is not reachable. A lake that the first collect will make is no failure.
    """
    from goodput.cli.output import print_result
    from goodput.sources.checkup import UNREACHABLE, check_up
    from goodput.sources.configured import configured_sources
    from goodput.warehouse.build import require_parameters
    from goodput.warehouse.freshness import freshness_sql
    from goodput.warehouse.query import open_session

    sources = configured_sources(context.settings)
    require_parameters(context.settings.params)
    unreachable: list[str] = []
    lake = None
    try:
        lake = _look_at_lake(context, is_fed=bool(sources))
    except GoodputError as error:
        say(f"unreachable lake: {error}")
        unreachable.append("lake")
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
        raise SourceUnreachable(f"not reachable: {', '.join(dict.fromkeys(unreachable))}")


def _look_at_lake(context: Context, *, is_fed: bool) -> Lake | None:
    """Says whether it can be used, and what was built; None if the first collect will make it.

    Args:
        is_fed: whether sources are configured that it could be made for.

    Raises:
        GoodputError: there is no lake to use.
    """
    from goodput.warehouse.freshness import last_build

    try:
        lake = context.open_lake()
    except NoData:
        if not is_fed:
            raise
        place = context.lake_url
        if not _can_be_made(place):
            raise SourceUnreachable(
                f"no lake is at {place}, and none can be made there; check the path and its"
                " permissions"
            ) from None
        say("the lake does not exist yet; the first collect makes it")
        return None
    say(f"lake {lake.url}: reachable, {'writable' if lake.is_writable() else 'READ-ONLY'}")
    say(last_build(lake.built_warehouse()))
    return lake


def _can_be_made(lake: str) -> bool:
    """Whether a lake could be made there; an object store that said there is none was reached."""
    path = local_path(lake)
    if path is None:
        return True
    whole = Path(path).absolute()
    nearest = next(folder for folder in (whole, *whole.parents) if folder.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
