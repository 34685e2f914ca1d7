"""goodput trends"""

from __future__ import annotations

import tempfile
from dataclasses import asdict, fields
from datetime import datetime
from pathlib import Path

import click

from goodput.cli.common import (
    Context,
    as_of_option,
    chosen_window,
    output_option,
    say,
    window_options,
)


@click.command(
    short_help="Show what changed since the week before by more than chance.",
    epilog="Example: goodput trends --week 2026-W48 --weeks 4",
)
@window_options
@as_of_option
@click.option(
    "--weeks",
    type=click.IntRange(1, 52),
    default=1,
    show_default=True,
    help="Windows before it to compare with, taken together.",
)
@output_option
@click.pass_obj
def command(
    context: Context,
    *,
    start: datetime | None,
    end: datetime | None,
    week: str | None,
    as_of: datetime | None,
    weeks: int,
    output: str,
) -> None:
    """Show what changed since the week before by more than chance, on the first screen's metrics.

    Compares the last build, or a window that is built for this call only, with the windows before
    it, built at the same age. A metric is called better or worse only if the change survives Holm's
    correction over all of them and is large enough to matter.
    """
    from goodput.warehouse.build import build

    window = chosen_window(start, end, week)
    if window is None:
        _print(context, context.built_warehouse(), weeks, output)
        return
    with tempfile.TemporaryDirectory(prefix="goodput-") as folder:
        target = Path(folder) / "warehouse.duckdb"
        build(context.open_lake(), window, as_of, context.settings.params, target=target)
        _print(context, target, weeks, output)


def _print(context: Context, warehouse: Path, weeks: int, output: str) -> None:
    from goodput.cli.output import print_rows, shown
    from goodput.warehouse.trends import Trend, read_trends

    found = read_trends(context.open_lake(), warehouse, context.settings.params, weeks)
    for one in reversed(found.left_out):
        say(f"not compared with {one}")
    compared = f"{shown(found.compared_with[-1].start)} to {shown(found.compared_with[0].end)}"
    say(f"{shown(found.window.start)} to {shown(found.window.end)} against {compared}")
    if not found.is_same_age:
        say(
            "what was known at the same age is not in the lake, so the earlier time is taken as it"
            " is known now; late news may still lower the current window"
        )
    names = [field.name for field in fields(Trend)]
    print_rows(names, [list(asdict(row).values()) for row in found.rows], output)
