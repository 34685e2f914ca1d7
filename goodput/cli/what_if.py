"""goodput what-if"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from goodput.cli.common import Context, Number, output_in, say

if TYPE_CHECKING:
    from goodput.warehouse.whatif import StateChange

_NAMES = (
    "cluster",
    "state",
    "before_gpu_hours",
    "after_gpu_hours",
    "delta_gpu_hours",
    "before_unit_ms",
    "after_unit_ms",
)
_SHOWN = _NAMES[:5]


@click.command(
    short_help="Replay the window's failures under other settings.",
    epilog="Example: goodput what-if --checkpoint-interval 900 --without-node train-a-05",
)
@click.option(
    "--checkpoint-interval",
    type=Number(),
    metavar="SECONDS",
    help="Working time between checkpoints.",
)
@click.option(
    "--restart",
    type=Number(),
    metavar="SECONDS",
    help="From the start of a restart to its first step.",
)
@click.option("--spares", type=int, default=0, help="Hot spare nodes per pool that lost a node.")
@click.option(
    "--without-node", "nodes", multiple=True, metavar="NODE", help="A node that never fails."
)
@click.option("--job", help="The only job whose checkpoints and restarts change.")
@output_in("table", "json", "csv")
@click.pass_obj
def command(
    context: Context,
    *,
    checkpoint_interval: float | None,
    restart: float | None,
    spares: int,
    nodes: tuple[str, ...],
    job: str | None,
    output: str,
) -> None:
    """Replay the recorded failures of the last build under other settings, state by state.

    Attempts begin and failures strike when they did; what a change sets free becomes work of the
    same job. Both sides sum to what is paid. docs/advice.md says what is held constant.
    """
    from goodput.cli.output import print_rows
    from goodput.warehouse.connection import connect
    from goodput.warehouse.whatif import Change, replay

    change = Change(checkpoint_interval, restart, spares, nodes, job)
    with connect(context.built_warehouse(), read_only=True) as con:
        states = replay(con, change)
    names = _SHOWN if output == "table" else _NAMES
    print_rows(names, [[getattr(row, name) for name in names] for row in states], output)
    _say_sums(states)


def _say_sums(states: list[StateChange]) -> None:
    from goodput.warehouse.whatif import PRODUCTIVE

    productive = [row for row in states if row.state.startswith(PRODUCTIVE)]
    paid = sum(row.before_unit_ms for row in states), sum(row.after_unit_ms for row in states)
    made = (
        sum(row.before_gpu_hours for row in productive),
        sum(row.after_gpu_hours for row in productive),
    )
    hours = sum(row.before_gpu_hours for row in states), sum(row.after_gpu_hours for row in states)
    say(f"paid {hours[0]:,.1f} GPU-hours before, {hours[1]:,.1f} after")
    if all(paid):
        say(f"goodput {made[0] / hours[0]:.2%} before, {made[1] / hours[1]:.2%} after")
