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
@click.option("--scope", help="Only rows of this scope, such as fleet, pool, class, job or node.")
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
    scope: str | None,
    output: str,
) -> None:
    """Print the metrics of the last build, or of a window that is built for this call only.

    One row per metric and scope: value, its 95 % interval where one is defined, numerator,
    denominator, events, unit. Ratios are 0 to 1. The table of all metrics leaves out single jobs
    and nodes; json, csv and parquet have them.
    """
    from goodput.warehouse.build import build

    window = chosen_window(start, end, week)
    if window is None:
        _print(context.built_warehouse(), metric, scope, output)
        return
    with tempfile.TemporaryDirectory(prefix="goodput-") as folder:
        say(f"building {window.start:%Y-%m-%d %H:%M} to {window.end:%Y-%m-%d %H:%M} UTC")
        target = Path(folder) / "warehouse.duckdb"
        lake, params = context.open_lake(), context.settings.params
        build(lake, window, as_of, params, target=target, keep_empty=False)
        _print(target, metric, scope, output)


def _print(warehouse: Path, metric: str | None, scope: str | None, output: str) -> None:
    from goodput.cli.output import print_result
    from goodput.texts import counted
    from goodput.warehouse.connection import connect
    from goodput.warehouse.results import select_metrics

    with connect(warehouse, read_only=True) as con:
        rows = select_metrics(con, metric, scope)
        if metric is None and scope is None and output == "table":
            left_out = rows.filter("scope in ('job', 'node')").shape[0]
            rows = rows.filter("scope not in ('job', 'node')")
            if left_out:
                say(
                    f"{counted(left_out, 'row')} of single jobs and nodes left out; "
                    "--scope job or node shows them"
                )
        print_result(rows, output)
