"""What a later knowledge time changed in the ledger of one window, and by which late facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from goodput._resources import resource_dir
from goodput.contract import TYPED_TABLES, columns
from goodput.errors import UsageError
from goodput.lake import Lake
from goodput.warehouse.build import build
from goodput.warehouse.connection import connect
from goodput.window import Window

Row = dict[str, Any]


@dataclass(frozen=True)
class Restatement:
    """The difference between two knowledge times of one window.

    Attributes:
        states: GPU-hours per state and cause before and after, where they differ.
        moves: whose time moved from which state to which, with the span it lies in.
        learned: ends, outcomes, commits and defects that were not known before.
        late_rows: rows ingested in between, counted per table, job or node, and source.
    """

    window: Window
    earlier: datetime
    later: datetime
    states: list[Row]
    moves: list[Row]
    learned: list[Row]
    late_rows: list[Row]


def restate(
    lake: Lake,
    window: Window,
    earlier: datetime,
    later: datetime,
    params: Mapping[str, str] | None = None,
) -> Restatement:
    """Builds the window at both knowledge times, beside the lake's own build, and compares.

    Raises:
        UsageError: the later knowledge time is not later, or the window is not over at the earlier.
    """
    if later <= earlier:
        raise UsageError("the second --as-of must be later than the first; swap them")
    if earlier < window.end:
        raise UsageError(
            f"at {earlier.isoformat()} the window was not over, so the two ledgers would not cover "
            "the same time; choose an --as-of at or after the end of the window"
        )
    with TemporaryDirectory(prefix="goodput-diff-") as folder:
        files = {name: Path(folder) / f"{name}.duckdb" for name in ("earlier", "later")}
        build(lake, window, earlier, params, target=files["earlier"])
        build(lake, window, later, params, target=files["later"])
        with connect() as con:
            for name, file in files.items():
                con.execute(f"attach '{file}' as {name} (read_only)")
            return Restatement(
                window,
                earlier,
                later,
                states=_rows(con, _sql("states")),
                moves=_rows(con, _sql("moves")),
                learned=_rows(con, _sql("learned")),
                late_rows=_rows(con, _late_rows_sql(), {"earlier_as_of": earlier}),
            )


def _sql(name: str) -> str:
    return (resource_dir("sql") / "diff" / f"{name}.sql").read_text(encoding="utf-8")


def _late_rows_sql() -> str:
    """Counts per table and per job or node, of the columns that each table has."""
    parts = []
    for table in TYPED_TABLES:
        has = columns(table)
        job, node = (
            ("job" if "job" in has else "null"),
            ("node_uid" if "node_uid" in has else "null"),
        )
        parts.append(
            f"select cluster, '{table}' as table_name, {job} as job, {node} as node_uid, "
            f"ingested_from, ingested_at from later.gathered.{table} "
            "where ingested_at > $earlier_as_of"
        )
    union = "\nunion all\n".join(parts)
    return (
        "select cluster, table_name, job, node_uid, ingested_from, count(*) as row_count, "
        f"min(ingested_at) as first_ingested_at from ({union}) group by all "
        "order by row_count desc, table_name, job, node_uid, ingested_from"
    )


def _rows(
    con: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Any] | None = None
) -> list[Row]:
    result = con.execute(sql, dict(values)) if values else con.execute(sql)
    names = [column[0] for column in result.description or []]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
