"""goodput report"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from goodput.cli.build import report_checks
from goodput.cli.common import Context, as_of_option, chosen_window, say, window_options

if TYPE_CHECKING:
    from goodput.warehouse.checks import CheckResult
    from goodput.window import Window


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
@click.option(
    "--weeks",
    type=click.IntRange(1, 60),
    default=1,
    show_default=True,
    help="How many weeks the trend shows, this one among them; the others are built too.",
)
@click.option(
    "--publish",
    metavar="PLACE",
    help="Folder or bucket of all reports: this one goes to PLACE/<week>/, and PLACE/index.html "
    "lists them. Earlier weeks published there are compared with what is known now.",
)
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
    weeks: int,
    publish: str | None,
) -> None:
    """Write the report of a window: report.json, report.html and what is made for mail and chat.

    With a window it builds that window first; without, it reports the last build. Exits with 3 if
    a check failed; the report says so too.
    """
    from goodput.report import write_report
    from goodput.report.archive import Archive
    from goodput.report.history import Earlier, earlier_weeks
    from goodput.warehouse.trends import trend_rows

    warehouse, checks = _built(context, chosen_window(start, end, week), as_of)
    archive = Archive(publish) if publish else None
    params = context.settings.params
    changes = trend_rows(context.open_lake(), warehouse, params, say) if trends else []
    earlier = Earlier()
    if weeks > 1:
        published = list(archive.results().values()) if archive else []
        earlier = earlier_weeks(context.open_lake(), warehouse, weeks, params, published)
    for one in earlier.left_out:
        say(f"left out of the weeks before: {one}")
    write_report(warehouse, out, changes, earlier)
    click.echo(str(out / "report.html"))
    if archive:
        click.echo(archive.publish(out))
    if checks:
        report_checks(checks)


def _built(
    context: Context, window: Window | None, as_of: datetime | None
) -> tuple[Path, list[CheckResult]]:
    """The last build, or that of the window that was asked for, with its checks."""
    from goodput.warehouse.build import build

    if window is None and as_of is None:
        return context.built_warehouse(), []
    lake = context.open_lake()
    if window is None:
        from goodput.warehouse.windows import chosen_words, default_window

        window = default_window(lake, as_of)
        say(chosen_words(window, as_of))
    result = build(lake, window, as_of, context.settings.params, keep_empty=False)
    return result.database, result.checks
