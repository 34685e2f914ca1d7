"""goodput diff"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

import click

from goodput.cli.build import parsed_params
from goodput.cli.common import Context, Instant, chosen_window, window_options
from goodput.errors import UsageError

if TYPE_CHECKING:
    from goodput.warehouse.restatement import Restatement

_LISTED = 20


@click.command(
    short_help="Show what a restated window changed, and why.",
    epilog="Example: goodput diff --week 2026-W48 "
    "--as-of 2026-12-02T00:00:00Z --as-of 2026-12-09T00:00:00Z",
)
@window_options
@click.option(
    "--as-of",
    "as_of",
    type=Instant(),
    multiple=True,
    help="A knowledge time; give it twice, the earlier first.",
)
@click.option("--param", "params", multiple=True, metavar="KEY=VALUE", help="Override a parameter.")
@click.option(
    "-o", "--output", type=click.Choice(("table", "json")), default="table", show_default=True
)
@click.pass_obj
def command(
    context: Context,
    *,
    start: datetime | None,
    end: datetime | None,
    week: str | None,
    as_of: tuple[datetime, ...],
    params: tuple[str, ...],
    output: str,
) -> None:
    """Show what a restated window changed between two knowledge times, and which late facts did it.

    Both ledgers are built beside the last build, which stays as it is.
    """
    from goodput.cli.output import json_value
    from goodput.warehouse.restatement import restate
    from goodput.warehouse.windows import default_window

    if len(as_of) != 2:
        raise UsageError("diff compares two knowledge times; give --as-of twice, the earlier first")
    lake = context.open_lake()
    window = chosen_window(start, end, week) or default_window(lake, as_of[0])
    found = restate(
        lake, window, as_of[0], as_of[1], {**context.settings.params, **parsed_params(params)}
    )
    if output == "json":
        click.echo(json.dumps(json_value(asdict(found)), ensure_ascii=False, indent=1))
    else:
        _print(found)


def _print(found: Restatement) -> None:
    from goodput.cli.output import print_rows, shown

    click.echo(
        f"Window {shown(found.window.start)} to {shown(found.window.end)}, "
        f"as known at {shown(found.earlier)} and at {shown(found.later)}"
    )
    if not found.states and not found.moves:
        click.echo("Nothing changed.")
    for title, rows in (
        ("GPU-hours per state and cause", found.states),
        ("What moved", found.moves),
        ("What was learned in between", found.learned),
        ("Rows that came late", found.late_rows),
    ):
        if not rows:
            continue
        click.echo(f"\n{title}")
        print_rows(list(rows[0]), [list(row.values()) for row in rows[:_LISTED]], "table")
        if len(rows) > _LISTED:
            click.echo(f"… and {len(rows) - _LISTED} more; -o json lists all")
