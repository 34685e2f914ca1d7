"""The paid GPU time as the page shows it: every table rounded so that all of them agree.

The same total is split three times: by what was happening (the waterfall), by what it is charged to
(productive, lost, overhead, unclaimed) and by failure class. Each split is rounded inside the one
above it, so that a reader who adds up any table arrives at the printed total.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from goodput.report.rounding import (
    UNITS_PER_GPU_HOUR,
    apportion,
    decimals_for,
    hours_of,
    ticks_of,
)

Row = dict[str, Any]

BASELINE = "base.overhead"
TOTALS = ("paid", "productive", "lost", "overhead", "unclaimed")


@dataclass(frozen=True)
class Account:
    """Rows with `shown_gpu_hours`, and the four totals that make up what was paid for.

    Attributes:
        totals: exact GPU-hours.
        shown: the same as they are printed.
    """

    decimals: int
    steps: list[Row]
    classes: list[Row]
    mechanisms: list[Row]
    totals: dict[str, float]
    shown: dict[str, float]


def make_account(
    states: Sequence[Row], groups: Sequence[Row], classes: Sequence[Row], mechanisms: Sequence[Row]
) -> Account:
    """Rounds the ledger's sums for display.

    Args:
        states: rows of report.waterfall, each with `unit_ms`.
        groups: rows of catalog.state_groups, in the order of the page.
        classes: rows of report.lost_classes, each with `unit_ms`.
        mechanisms: rows of report.class_mechanism, each with `unit_ms`.
    """
    paid_ms = sum(row["unit_ms"] for row in states)
    lost_ms = sum(row["unit_ms"] for row in classes if row["class"] != BASELINE)
    decimals = decimals_for(paid_ms, lost_ms)
    paid = ticks_of(paid_ms, decimals)
    steps = _make_steps(states, groups, paid)
    productive = sum(ticks for step, ticks in steps if step["kind"] == "productive")
    productive_ms = sum(
        row["unit_ms"] for step, _ in steps if step["kind"] == "productive" for row in step["rows"]
    )
    overhead_ms = sum(row["unit_ms"] for row in classes if row["class"] == BASELINE)
    rest_ms = paid_ms - productive_ms - lost_ms - overhead_ms
    lost, overhead, rest = apportion([lost_ms, overhead_ms, rest_ms], paid - productive)
    class_ticks = _split_classes(classes, lost, overhead)
    exact = (paid_ms, productive_ms, lost_ms, overhead_ms, rest_ms)
    ticks = (paid, productive, lost, overhead, rest)
    return Account(
        decimals=decimals,
        steps=[_show_step(step, amount, decimals) for step, amount in steps],
        classes=[_show(row, class_ticks[row["class"]], decimals) for row in classes],
        mechanisms=_show_mechanisms(mechanisms, class_ticks, decimals),
        totals={
            name: amount / UNITS_PER_GPU_HOUR for name, amount in zip(TOTALS, exact, strict=True)
        },
        shown={
            name: hours_of(amount, decimals) for name, amount in zip(TOTALS, ticks, strict=True)
        },
    )


def _make_steps(states: Sequence[Row], groups: Sequence[Row], paid: int) -> list[tuple[Row, int]]:
    members: dict[str, list[Row]] = {}
    for row in states:
        members.setdefault(row["state_group"], []).append(row)
    present = [
        group
        for group in groups
        # The last bar stands even where nothing was productive.
        if group["state_group"] in members or group["kind"] == "productive"
    ]
    rows = [members.get(group["state_group"], []) for group in present]
    amounts = [sum(row["unit_ms"] for row in group_rows) for group_rows in rows]
    tenths = apportion(amounts, 1000)
    steps = [
        {
            "state_group": group["state_group"],
            "label": group["label"],
            "kind": group["kind"],
            "gpu_hours": amount / UNITS_PER_GPU_HOUR,
            "shown_percent": tenth / 10,
            "rows": group_rows,
        }
        for group, group_rows, amount, tenth in zip(present, rows, amounts, tenths, strict=True)
    ]
    return list(zip(steps, apportion(amounts, paid), strict=True))


def _show_step(step: Row, ticks: int, decimals: int) -> Row:
    rows = step["rows"]
    shown = apportion([row["unit_ms"] for row in rows], ticks)
    states = [
        {
            "state": row["state"],
            "label": row["state_label"],
            "gpu_hours": row["gpu_hours"],
            "shown_gpu_hours": hours_of(part, decimals),
        }
        for row, part in zip(rows, shown, strict=True)
    ]
    kept = {key: value for key, value in step.items() if key != "rows"}
    return kept | {"shown_gpu_hours": hours_of(ticks, decimals), "states": states}


def _split_classes(classes: Sequence[Row], lost: int, overhead: int) -> dict[str, int]:
    charged = [row for row in classes if row["class"] != BASELINE]
    parts = apportion([row["unit_ms"] for row in charged], lost)
    ticks = {row["class"]: part for row, part in zip(charged, parts, strict=True)}
    return ticks | {BASELINE: overhead}


def _show(row: Row, ticks: int, decimals: int) -> Row:
    kept = {key: value for key, value in row.items() if key != "unit_ms"}
    return kept | {"shown_gpu_hours": hours_of(ticks, decimals)}


def _show_mechanisms(
    mechanisms: Sequence[Row], class_ticks: dict[str, int], decimals: int
) -> list[Row]:
    """Splits each class's printed hours over its mechanisms."""
    by_class: dict[str, list[Row]] = {}
    for row in mechanisms:
        by_class.setdefault(row["class"], []).append(row)
    return [
        _show(row, ticks, decimals)
        for name, rows in by_class.items()
        for row, ticks in zip(
            rows, apportion([row["unit_ms"] for row in rows], class_ticks[name]), strict=True
        )
    ]
