"""goodput export"""

from __future__ import annotations

from pathlib import Path

import click

from goodput.cli.common import Context, say


@click.group(short_help="Write the metrics of the last build for other systems.")
def command() -> None:
    """Write the metrics of the last build for other systems."""


@command.command(
    epilog="Example: goodput export prometheus --out /var/lib/node_exporter/goodput.prom"
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to replace in one step, for node-exporter's textfile collector [default: stdout].",
)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    help="Only series of this scope, such as fleet or pool; may be given more than once.",
)
@click.pass_obj
def prometheus(context: Context, *, out: Path | None, scopes: tuple[str, ...]) -> None:
    """Write the metrics of the last build as Prometheus exposition text.

    All are gauges about the window of the build, in base units: seconds, GPU-seconds, ratios of
    0 to 1. Labels are cluster, scope and scope_value; docs/prometheus-metrics.md lists the names.
    """
    from goodput._files import replace_text
    from goodput.warehouse.export import export_text

    text = export_text(context.built_warehouse(), scopes)
    if out is None:
        click.echo(text, nl=False, color=True)
        return
    replace_text(out, text)
    series = sum(not line.startswith("#") for line in text.splitlines())
    say(f"wrote {series:,} series to {out}")
