"""goodput diff"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

import click

from goodput.cli.build import parsed_params
from goodput.cli.common import Context, Instant, chosen_window, output_in, window_options
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
    "--all", "with_all", is_flag=True, help=f"Print all rows, not the first {_LISTED} of a kind."
)
@output_in("table", "json")
@click.pass_obj
def command(
    context: Context,
    *,
    start: datetime | None,
    end: datetime | None,
    week: str | None,
    as_of: tuple[datetime, ...],
    params: tuple[str, ...],
    with_all: bool,
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
        _print(found, None if with_all else _LISTED)


def _print(found: Restatement, most: int | None) -> None:
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
        listed = rows[:most]
        print_rows(list(rows[0]), [list(row.values()) for row in listed], "table")
        if len(rows) > len(listed):
            click.echo(f"… and {len(rows) - len(listed)} more; --all prints them")
