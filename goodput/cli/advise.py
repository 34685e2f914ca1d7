"""goodput advise"""

from __future__ import annotations

from dataclasses import astuple, fields

import click

from goodput.cli.common import Context, Number, output_in, say

_LISTED = 25
_SHOWN = (
    "advice",
    "subject",
    "current",
    "proposed",
    "unit",
    "gain_gpu_hours",
    "gain_money",
    "event_count",
    "reason",
)


@click.command(
    short_help="What to change, and what each change would gain in a week.",
    epilog="Example: goodput advise --price 2.50",
)
@click.option(
    "--price",
    type=Number(),
    help="Money per GPU-hour [default: the build's prices, if it has any].",
)
@click.option(
    "--spare-target",
    type=Number(0, 1, is_open=True),
    default=0.99,
    show_default=True,
    help="Share of time in which no failed node shall lack a spare.",
)
@click.option("--all", "with_all", is_flag=True, help="Also what is not recommended, and why not.")
@output_in("table", "json", "csv")
@click.pass_obj
def command(
    context: Context, *, price: float | None, spare_target: float, with_all: bool, output: str
) -> None:
    """What to change in the fleet of the last build, and what each change would gain in a week.

    Checkpoint intervals, lemon nodes, spare nodes, time-outs of hangs, retry rules. Only what the
    counts suffice for is recommended; --all, json and csv have the rest with the reason against it.
    """
    from goodput.cli.output import print_rows
    from goodput.warehouse.advice import advise
    from goodput.warehouse.advice_rows import Advice
    from goodput.warehouse.connection import connect

    with connect(context.built_warehouse(), read_only=True) as con:
        found = advise(con, price=price, target=spare_target)
    names = [column.name for column in fields(Advice)]
    if output != "table":
        print_rows(names, [astuple(one) for one in found], output)
        return
    good = [one for one in found if one.is_recommended]
    listed = found if with_all else good[:_LISTED]
    shown = [*_SHOWN, "is_recommended"] if with_all else list(_SHOWN)
    print_rows(shown, [[getattr(one, name) for name in shown] for one in listed], "table")
    if not with_all and len(good) > _LISTED:
        say(f"{len(good) - _LISTED} more are recommended; -o json lists all")
    if not with_all and len(found) > len(good):
        say(f"{len(found) - len(good)} more are not recommended; --all lists them with the reason")
