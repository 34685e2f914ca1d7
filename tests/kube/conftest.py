"""Builds the observed tables from dumped text without a lake: raw tables, then the SQL."""

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest

from goodput._resources import catalog_dir, resource_dir
from goodput.contract import columns
from goodput.sources import kube_objects
from goodput.warehouse.connection import connect
from goodput.warehouse.models import find_models

NOW = "2026-03-10T00:00:00Z"
_KUBE_TABLES = ("kube_objects", "kube_events", "kube_lists", "quarantine")


def read_text(text: str | bytes, **hints: str) -> dict[str, list[dict[str, Any]]]:
    data = text.encode() if isinstance(text, str) else text
    return kube_objects.read(io.BytesIO(data), {"file": "dump", "now": NOW, **hints})


def insert(con: duckdb.DuckDBPyConnection, table: str, rows: list[Mapping[str, Any]]) -> None:
    names = list(columns(table))
    marks = ", ".join("?" for _ in names)
    if rows:
        con.executemany(
            f"insert into raw.{table} values ({marks})",
            [[row.get(name) for name in names] for row in rows],
        )


def observe(tables: Mapping[str, list[Mapping[str, Any]]]) -> duckdb.DuckDBPyConnection:
    con = connect()
    for schema in ("catalog", "raw", "observed"):
        con.execute(f"create schema {schema}")
    for path in sorted(catalog_dir().glob("*.csv")):
        con.execute(
            f"create table catalog.{path.stem} as "
            "select * from read_csv(?, header = true, nullstr = '', auto_detect = true)",
            [str(path)],
        )
    con.execute((resource_dir("sql") / "macros.sql").read_text(encoding="utf-8"))
    models = find_models()
    for model in models:
        if model.schema == "raw":
            con.execute(model.sql)
    for table in _KUBE_TABLES:
        insert(con, table, list(tables.get(table, [])))
    for model in models:
        if model.schema == "observed" and model.path.name < "2":
            con.execute(f"create table {model.table} as\n{model.sql}")
    return con


@pytest.fixture
def read() -> Callable[..., dict[str, list[dict[str, Any]]]]:
    return read_text


@pytest.fixture
def observed() -> Callable[..., duckdb.DuckDBPyConnection]:
    """Reads each text as one dumped file and builds the observed tables of all together."""

    def build(*texts: str | bytes) -> duckdb.DuckDBPyConnection:
        merged: dict[str, list[Mapping[str, Any]]] = {}
        for text in texts:
            for table, rows in read_text(text).items():
                merged.setdefault(table, []).extend(rows)
        return observe(merged)

    return build


@pytest.fixture
def example() -> Callable[[str], str]:
    """One of the small dumps in data/."""
    return lambda name: (Path(__file__).parent / "data" / name).read_text(encoding="utf-8")
