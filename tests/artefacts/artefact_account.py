"""Reads dumped text and builds the account of it: a real lake, a real build, one cluster a case."""

import io
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl

from goodput.contract import polars_schema
from goodput.lake import Lake
from goodput.warehouse.build import build
from goodput.window import Window, parse_instant

DAY = datetime(2026, 3, 2, tzinfo=UTC)
EPOCH = int(DAY.timestamp())


def stream(text):
    return io.BytesIO(text.encode() if isinstance(text, str) else text)


def merged(*parts):
    tables = {}
    for part in parts:
        for name, rows in part.items():
            tables.setdefault(name, []).extend(rows)
    return tables


def frames(tables: Mapping[str, list[dict]]) -> dict[str, pl.DataFrame]:
    return {
        name: pl.DataFrame(rows, schema=_columns_in_use(name, rows), infer_schema_length=None)
        for name, rows in tables.items()
        if rows
    }


def _columns_in_use(name, rows):
    used = {column for row in rows for column in row}
    return {column: dtype for column, dtype in polars_schema(name).items() if column in used}


def account(
    folder: Path, tables, start="2026-03-02T00:00:00Z", end="2026-03-03T00:00:00Z", **params
) -> duckdb.DuckDBPyConnection:
    lake = Lake.open(str(folder), create=True)
    lake.publish(frames(tables), ingested_from="test", ingested_at=None)
    window = Window(parse_instant(start), parse_instant(end))
    built = build(lake, window, window.end, params)
    assert [check for check in built.checks if check.failed] == []
    return duckdb.connect(str(built.database), read_only=True)


def seconds(value):
    """An instant as seconds since DAY, the way the cases are written."""
    return round((value - DAY).total_seconds(), 3) if isinstance(value, datetime) else value


def at(second: float) -> datetime:
    return DAY + timedelta(seconds=second)
