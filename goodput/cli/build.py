"""goodput build"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from goodput.cli.common import Context, as_of_option, chosen_window, say, window_options
from goodput.errors import CheckFailed, UsageError

if TYPE_CHECKING:
    from goodput.warehouse.checks import CheckResult


@click.command(
    short_help="Make every model for a window, then run the checks.",
    epilog="Example: goodput build --week 2026-W48 --param credit=success_only",
)
@window_options
@as_of_option
@click.option("--param", "params", multiple=True, metavar="KEY=VALUE", help="Override a parameter.")
@click.pass_obj
def command(
    context: Context,
    *,
    start: datetime | None,
    end: datetime | None,
    week: str | None,
    as_of: datetime | None,
    params: tuple[str, ...],
) -> None:
    """Make every model for a window from the lake, then run the checks.

    Without a window it takes the last whole ISO week that the data reach, and says which. Exits
    with 3 if a check of severity error found rows, with 4 if no GPU was paid for in the window:
    then the build before it stays.
    """
    from goodput.warehouse.build import build
    from goodput.warehouse.windows import chosen_words, default_window

    window, changed = chosen_window(start, end, week), parsed_params(params)
    lake = context.open_lake()
    if window is None:
        window = default_window(lake, as_of)
        say(chosen_words(window, as_of))
    settings = {**context.settings.params, **changed}
    result = build(lake, window, as_of, settings, keep_empty=False)
    say(f"built {result.database}")
    report_checks(result.checks)


def parsed_params(texts: tuple[str, ...]) -> dict[str, str]:
    """--param options as a mapping.

    Raises:
        UsageError: one has no `=`.
    """
    for text in texts:
        if "=" not in text:
            raise UsageError(f"--param takes key=value, not {text!r}")
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def report_checks(checks: list[CheckResult]) -> None:
    """Says which checks found rows.

    Raises:
        CheckFailed: one of them is of severity error.
    """
    from goodput.texts import counted
    from goodput.warehouse.checks import outcome_words

    for check in checks:
        if check.rows:
            say(
                f"{check.severity}: {check.name}: {counted(check.rows, 'row')}. {check.description}"
            )
            if " " not in check.name:
                say(f"  goodput query 'from checks.{check.name}'")
    failed = [check.name for check in checks if check.failed]
    warned = sum(1 for check in checks if check.rows) - len(failed)
    say(outcome_words(len(checks), len(failed), warned))
    if failed:
        raise CheckFailed(f"checks failed: {', '.join(failed)}; look at checks.<name> with query")
