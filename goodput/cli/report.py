"""goodput report"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from goodput.cli.build import report_checks
from goodput.cli.common import Context, as_of_option, chosen_window, say, window_options


@click.command(
    short_help="Write the weekly report: JSON, HTML and a digest.",
    epilog="Example: goodput report --week 2026-W48 --out reports/2026-W48",
)
@window_options
@as_of_option
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("report"),
    show_default=True,
    help="Folder for report.json, report.html and digest.md.",
)
@click.option("--trends", is_flag=True, help="Compare with the week before, which is built too.")
@click.pass_obj
def command(
    context: Context,
    *,
    start: datetime | None,
    end: datetime | None,
    week: str | None,
    as_of: datetime | None,
    out: Path,
    trends: bool,
) -> None:
    """Write the report of a window: report.json, report.html and digest.md.

    With a window it builds that window first; without, it reports the last build. Exits with 3 if
    a check failed; the report says so too.
    """
    from goodput.report import write_report
    from goodput.warehouse.build import build

    window = chosen_window(start, end, week)
    if window is None and as_of is None:
        warehouse, checks = context.built_warehouse(), []
    else:
        lake = context.open_lake()
        if window is None:
            from goodput.warehouse.windows import chosen_words, default_window

            window = default_window(lake, as_of)
            say(chosen_words(window, as_of))
        result = build(lake, window, as_of, context.settings.params)
        warehouse, checks = result.database, result.checks
    if trends:
        from goodput.warehouse.trends import trend_rows

        rows = trend_rows(context.open_lake(), warehouse, context.settings.params)
        write_report(warehouse, out, rows)
    else:
        write_report(warehouse, out)
    click.echo(str(out / "report.html"))
    if checks:
        report_checks(checks)
