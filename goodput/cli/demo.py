"""goodput demo"""

from __future__ import annotations

from pathlib import Path

import click

from goodput.cli.common import say
from goodput.errors import CheckFailed


@click.command(
    short_help="Simulate a small fleet, account for it, write its report.",
    epilog="Example: goodput demo --out demo --seed 7",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
    help="Folder for the artefacts, the lake and the report.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Which fleet to simulate.")
def command(out: Path, seed: int) -> None:
    """Simulate a small fleet with faults, account for it, and write its report.

    The simulated cluster leaves files as a real one would; they are collected, built and checked
    like any others. Ends with a table of the injected truth beside what was computed.
    """
    from goodput.cli.output import print_rows
    from goodput.synth.compare import UNIT_MS_PER_HOUR
    from goodput.synth.demo import run_demo

    demo = run_demo(out, seed, say)
    hours = [
        (cell.state, cell.cause, *(amount / UNIT_MS_PER_HOUR for amount in amounts))
        for cell in demo.comparison.cells
        for amounts in [(cell.injected, cell.computed, cell.difference)]
    ]
    names = ("state", "cause", "injected GPU-hours", "computed GPU-hours", "computed - visible")
    print_rows(names, hours, "table")
    click.echo()
    facts = [(fact.name, fact.injected, fact.computed) for fact in demo.comparison.facts]
    print_rows(("number", "injected", "computed"), facts, "table")
    click.echo(f"\nreport: {demo.report}")
    if demo.failed_checks:
        raise CheckFailed(f"checks failed: {', '.join(demo.failed_checks)}")
