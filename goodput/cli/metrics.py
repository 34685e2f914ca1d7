"""goodput metrics"""

from __future__ import annotations

import tempfile
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
    short_help="Print the metrics of the last build or of a window.",
    epilog="Example: goodput metrics --metric goodput_paid -o json",
)
@window_options
@as_of_option
@click.option("--metric", help="Only this one, such as goodput_paid.")
@output_option
@click.pass_obj
def command(
    context: Context,
    *,
    start: datetime | None,
    end: datetime | None,
    week: str | None,
    as_of: datetime | None,
    metric: str | None,
    output: str,
) -> None:
    """Print the metrics of the last build, or of a window that is built for this call only.

    One row per metric and scope: value, its 95 % interval where one is defined, numerator,
    denominator, events, unit. Ratios are 0 to 1.
    """
    from goodput.warehouse.build import build

    window = chosen_window(start, end, week)
    if window is None:
        _print(context.built_warehouse(), metric, output)
        return
    with tempfile.TemporaryDirectory(prefix="goodput-") as folder:
        say(f"building {window.start:%Y-%m-%d %H:%M} to {window.end:%Y-%m-%d %H:%M} UTC")
        target = Path(folder) / "warehouse.duckdb"
        build(context.open_lake(), window, as_of, context.settings.params, target=target)
        _print(target, metric, output)


def _print(warehouse: Path, metric: str | None, output: str) -> None:
    from goodput.cli.output import print_result
    from goodput.warehouse.connection import connect
    from goodput.warehouse.results import select_metrics

    with connect(warehouse, read_only=True) as con:
        print_result(select_metrics(con, metric), output)
