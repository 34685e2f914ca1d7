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
    like any others. Then twelve hours of it are played to the live collectors, which run on a
    schedule and fail at times. Ends with tables of the injected truth beside what was computed.
    """
    from goodput.synth.compare import render
    from goodput.synth.demo import run_demo
    from goodput.synth.loop.account import explain

    say(f"this takes some two minutes; the report is there after one: {out}/report/report.html")
    demo = run_demo(out, seed, say)
    click.echo("Injected truth vs computed\n")
    click.echo(render(demo.comparison))
    click.echo("\nInjected truth vs computed, twelve hours through the live collectors\n")
    click.echo(explain(demo.played.account))
    click.echo(f"\nreport: {demo.report}")
    if demo.failed_checks:
        raise CheckFailed(f"checks failed: {', '.join(demo.failed_checks)}")
