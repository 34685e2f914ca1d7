"""One piece of advice, and the rows that it is read from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import duckdb

ENOUGH_FAILURES = 5
"""Of a job or pool, for a rate to lead to advice."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Advice:
    """One change and its gain.

    Attributes:
        advice: checkpoint_interval, remove_node, watch_node, spare_nodes, hang_timeout, retry_rule.
        subject: the job, node, pool or failure class that it is about, as people name it.
        current: what is in force, in `unit`; None where that is not known.
        proposed: what would be better, in `unit`.
        gain_gpu_hours: what it would gain in a week, with the ends of its 95 % interval.
        gain_money: the gain at the price of a GPU-hour; None without one.
        event_count: the events that it rests on.
        is_recommended: whether they suffice.
        reason: why, or why not.
        details: the other numbers that went in.
    """

    advice: str
    cluster: str
    subject: str
    current: float | None = None
    proposed: float | None = None
    unit: str = ""
    gain_gpu_hours: float | None = None
    gain_low: float | None = None
    gain_high: float | None = None
    gain_money: float | None = None
    event_count: int = 0
    is_recommended: bool = False
    reason: str = ""
    details: Row = field(default_factory=dict)


def window_hours(con: duckdb.DuckDBPyConnection) -> float:
    """How long the window of a build is."""
    hours: float = con.execute(
        "select (epoch_ms(window_end) - epoch_ms(window_start)) / 3600000 from meta.build"
    ).fetchall()[0][0]
    return hours


def read_rows(con: duckdb.DuckDBPyConnection, table: str, order: str) -> list[Row]:
    """A table of a build, in an order."""
    result = con.execute(f"select * from {table} order by {order}")
    names = [column[0] for column in result.description or []]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
