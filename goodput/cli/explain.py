"""goodput explain"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from goodput.cli.common import Context, output_in

if TYPE_CHECKING:
    from goodput.warehouse.explain import Explanation

_TIMELINE = (
    "started_at", "ended_at", "job", "attempt", "state", "cause", "confidence", "gpus", "gpu_hours",
)  # fmt: skip


# More lines than this are summed up first and come last.
_SHORT = 10
_SHORT_TIMELINE = 20
# Nobody reads on: what is longer is cut, and a line in its place says where the rest is. What
# decided comes first among the evidence, so it always shows.
_LONGEST_TIMELINE = 200
_MOST_EVIDENCE = 20
_WHOSE_GPUS = {
    "its own": "on its own GPUs",
    "of other jobs": "on those of other jobs",
    "idle": "on idle ones, which waited",
}


@click.command(
    short_help="Show the timeline of a job or node, and the reasons of each loss.",
    epilog="Example: goodput explain llama-70b/2",
)
@click.argument("target", metavar="JOB[/ATTEMPT]|NODE")
@output_in("table", "json")
@click.pass_obj
def command(context: Context, target: str, output: str) -> None:
    """Show the timeline of a job or node in the last build, and the reasons of each loss.

    Each loss comes with its cause, confidence, rule and evidence: source, time, text, and where it
    was read. The evidence that decided is marked with *.
    """
    from goodput.cli.output import json_value
    from goodput.warehouse.connection import connect
    from goodput.warehouse.explain import explain

    with connect(context.built_warehouse(), read_only=True) as con:
        found = explain(con, target)
    if output == "json":
        click.echo(json.dumps(json_value(asdict(found)), ensure_ascii=False, indent=1))
    else:
        _print(found)


def _print(found: Explanation) -> None:
    from goodput.cli.output import print_rows, shown

    attempt = "" if found.attempt is None else f", attempt {found.attempt}"
    facts = ", ".join(f"{name} {shown(value)}" for name, value in found.facts.items() if value)
    span = " to ".join(map(shown, found.window.values()))
    click.echo(
        f"{found.kind} {shown(found.key)}{attempt} in cluster {shown(found.cluster)} ({facts}),"
        f" {span}"
    )
    click.echo("\nWhere its GPU-hours went")
    is_short = len(found.totals) <= _SHORT
    if is_short:
        _print_totals(found)
    else:
        sums = [(row["spent_on"], row["gpu_hours"], f"{row['share']:.1%}") for row in found.sums]
        print_rows(("spent_on", "gpu_hours", "share"), sums, "table")
    is_brief = len(found.timeline) <= _SHORT_TIMELINE
    if is_brief:
        _print_timeline(found)
    _print_reasons(found)
    if not is_short:
        click.echo("\nGPU-hours by state and cause")
        _print_totals(found)
    if not is_brief:
        _print_timeline(found)


def _print_timeline(found: Explanation) -> None:
    from goodput.cli.output import print_rows
    from goodput.texts import counted

    click.echo("\nTimeline (UTC)")
    shown = found.timeline[:_LONGEST_TIMELINE]
    names = [name for name in _TIMELINE if shown and name in shown[0]]
    print_rows(names, [[row[name] for name in names] for row in shown], "table")
    if left := len(found.timeline) - len(shown):
        narrower = "JOB/ATTEMPT has one attempt, " if found.kind == "job" else ""
        click.echo(f"{counted(left, 'more row')}: {narrower}-o json has all")


def _print_reasons(found: Explanation) -> None:
    for title, losses, lines in (
        ("Not observed", found.last_looks, _look_lines),
        ("Interruptions", found.interruptions, _interruption_lines),
        ("Outages", found.outages, _outage_lines),
        ("Incidents", found.incidents, _incident_lines),
        ("Slow steps", found.slow_segments, _slow_lines),
        ("Suspected to slow its gangs down", found.suspicions, _suspicion_lines),
    ):
        if losses:
            click.echo(f"\n{title}")
        for loss in losses:
            for line in lines(loss):
                click.echo(line)


def _print_totals(found: Explanation) -> None:
    from goodput.cli.output import print_rows

    totals = [(row["state"], row["cause"], row["gpu_hours"]) for row in found.totals]
    print_rows(("state", "cause", "gpu_hours"), totals, "table")


def _look_lines(row: dict[str, Any]) -> Iterator[str]:
    from goodput.cli.output import shown

    looked = f"logs of {shown(row['root'])} were last looked at {shown(row['looked_at'])}"
    since = "since then"
    if row["known_until"] < row["looked_at"]:
        looked = f"its pods were last seen {shown(row['seen_at'])}"
        since = f"after {shown(row['known_until'])}"
    yield (f"  {shown(row['job'])}/{row['attempt']}: {looked}; what the job did {since} is unknown")


def _interruption_lines(row: dict[str, Any]) -> Iterator[str]:
    from goodput.cli.output import shown
    from goodput.texts import counted

    confidence = "" if row["confidence"] is None else f", confidence {row['confidence']} %"
    yield (
        f"  {shown(row['occurred_at'])}  {shown(row['job'])}/{row['attempt']} {row['outcome']}: "
        f"{shown(row['class']) or 'unknown'}{confidence} ({shown(row['rule'])}), "
        f"{row['lost_gpu_hours']:.2f} GPU-hours lost"
    )
    yield from _cost_lines(row["costs"])
    if row["confidence_terms"]:
        terms = (f"{term['points']:+d} {term['reason']}" for term in row["confidence_terms"])
        yield f"    confidence: {', '.join(terms)}"
    if row["caused_by"]:
        yield (
            f"    caused by: the restart of {shown(row['caused_by_job'])}/"
            f"{row['caused_by_attempt']} after {shown(row['caused_by'])}"
        )
    if row["incident"]:
        yield f"    incident: {shown(row['incident'])}"
    if row["competing"]:
        yield f"    competing: {', '.join(map(shown, row['competing']))}"
    for item in row["evidence"][:_MOST_EVIDENCE]:
        where = item["origin"] or ""
        line = f":{item['origin_line']}" if item["origin_line"] is not None else ""
        place = f" on {shown(item['node_name'])}" if item["node_name"] else ""
        read = f"  [{shown(where)}{line}]" if where else ""
        yield (
            f"    {'*' if item['is_picked'] else '-'} {shown(item['observed_at'])} "
            f"{shown(item['source'])}: {shown(item['value'])}{place}, {shown(item['role'])} "
            f"of {shown(item['class']) or 'no class'}{read}"
        )
    if (left := len(row["evidence"]) - _MOST_EVIDENCE) > 0:
        yield f"    {counted(left, 'more piece')} of evidence: -o json has all"


def _cost_lines(costs: list[dict[str, Any]]) -> Iterator[str]:
    """What an interruption cost, by whose GPUs it took."""
    for whose, words in _WHOSE_GPUS.items():
        states = [row for row in costs if row["whose"] == whose]
        if states:
            total = sum(row["gpu_hours"] for row in states)
            parts = ", ".join(f"{row['state']} {row['gpu_hours']:.2f}" for row in states)
            yield f"    {words}: {total:.2f} ({parts})"


def _outage_lines(row: dict[str, Any]) -> Iterator[str]:
    from goodput.cli.output import shown

    device = "node" if row["gpu"] is None else f"GPU {row['gpu']}"
    end = shown(row["ended_at"]) or "still open"
    kind = "planned" if row["planned"] else "not planned"
    action = f", {shown(row['action'])}" if row["action"] else ""
    yield f"  {shown(row['started_at'])} to {end}  {device}: {shown(row['class'])} ({kind}{action})"
    if row["incident"]:
        yield f"    incident: {shown(row['incident'])}"
    for condition in row["conditions"]:
        until = shown(condition["ended_at"]) or "now"
        yield (
            f"    - {shown(condition['type'])}={shown(condition['status'])} "
            f"{shown(condition['reason'])}, {shown(condition['started_at'])} to {until}"
        )


def _incident_lines(row: dict[str, Any]) -> Iterator[str]:
    from goodput.cli.output import shown
    from goodput.texts import counted

    place = f" on {shown(row['topology'])}" if row["topology"] else ""
    yield (
        f"  {shown(row['incident'])}{place}: "
        f"{counted(len(row['nodes']), 'node')}, "
        f"{counted(row['interruption_count'], 'interruption')}, "
        f"{counted(row['outage_count'], 'outage')}, "
        f"{row['lost_gpu_hours']:.2f} GPU-hours lost"
    )


def _slow_lines(row: dict[str, Any]) -> Iterator[str]:
    from goodput.cli.output import shown

    suspect = f", {shown(row['node_name'])} suspected" if row["node_name"] else ""
    yield (
        f"  {shown(row['started_at'])} to {shown(row['ended_at'])}  "
        f"{shown(row['job'])}/{row['attempt']}: {shown(row['class'])}, confidence "
        f"{row['confidence']} % (by {row['basis']}{suspect}), {row['record_count']} records of "
        f"{row['median_ms']} ms a position where {row['baseline_ms']} ms were possible: "
        f"{row['lost_seconds']:.0f} s lost on each GPU "
        f"({row['low_seconds']:.0f} to {row['high_seconds']:.0f})"
    )


def _suspicion_lines(row: dict[str, Any]) -> Iterator[str]:
    yield (
        f"  slow without a known cause: {row['slow_with']} of {row['gangs_with']} gangs with it, "
        f"{row['slow_without']} of {row['gangs_without']} without it (p = {row['p_value']:.2g})"
    )
