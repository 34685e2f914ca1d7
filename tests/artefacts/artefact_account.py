"""Reads dumped text and builds the account of it: a real lake, a real build, one cluster a case."""

import io
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from goodput.lake import Lake
from goodput.sources.publisher import Publisher
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


def publish(lake: Lake, tables: Mapping[str, list[dict]]) -> None:
    """Publishes rows of readers; none of them breaks the contract."""
    with closing(Publisher(lake, "test", lambda: None, cluster="default")) as publisher:
        publisher.take(tables, "test")
        publisher.flush()
        assert publisher.quarantined == len(tables.get("quarantine", []))


def account(
    folder: Path, tables, start="2026-03-02T00:00:00Z", end="2026-03-03T00:00:00Z", **params
) -> duckdb.DuckDBPyConnection:
    lake = Lake.open(str(folder), create=True)
    publish(lake, tables)
    window = Window(parse_instant(start), parse_instant(end))
    built = build(lake, window, window.end, params)
    assert [check for check in built.checks if check.failed] == []
    return duckdb.connect(str(built.database), read_only=True)


def seconds(value):
    """An instant as seconds since DAY, the way the cases are written."""
    return round((value - DAY).total_seconds(), 3) if isinstance(value, datetime) else value


def at(second: float) -> datetime:
    return DAY + timedelta(seconds=second)
