"""Read-only SQL over a lake: the raw rows as they are now, the models as last built.

Statements come from people and run beside data that strangers wrote, so a session can do nothing
but read: one SELECT, no file but the lake's own Parquet, no network, no settings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

import duckdb

from goodput.contract import raw_table, raw_tables
from goodput.errors import GoodputError, NoData, UsageError
from goodput.lake import Lake
from goodput.warehouse.connection import connect, in_a_sentence
from goodput.warehouse.rawviews import QUARANTINE, open_quarantine_sql, raw_view_sql

T = TypeVar("T")

_WAREHOUSE = "warehouse"
_EXPLAIN = re.compile(r"\s*explain(\s+analyze)?\s", re.IGNORECASE)
_CATALOGUE_WORDS = re.compile(r"information_schema|duckdb_|\bshow\b", re.IGNORECASE)


class Session:
    """One read-only session. Raw tables are what the lake holds now; all else is the last build."""

    def __init__(self, con: duckdb.DuckDBPyConnection, built: Path | None) -> None:
        self._con = con
        self._built = built

    def ask(
        self,
        sql: str,
        fetch: Callable[[duckdb.DuckDBPyRelation], T],
        parameters: list[Any] | None = None,
    ) -> T:
        """What `fetch` makes of the rows of one SELECT.

        Raises:
            UsageError: it is no single SELECT, or DuckDB refuses it.
            NoData: it reads a model, and nothing has been built.
        """
        self._refuse_all_but_select(sql)
        try:
            # A relation runs when it is fetched, so both may find the statement at fault.
            return fetch(self._con.sql(sql, params=parameters))
        except duckdb.Error as error:
            raise self._explained(error) from None

    def close(self) -> None:
        """Ends the session."""
        self._con.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refuse_all_but_select(self, sql: str) -> None:
        try:
            statements = self._con.extract_statements(sql)
            if len(statements) == 1 and statements[0].type == duckdb.StatementType.EXPLAIN:
                # EXPLAIN ANALYZE runs what it explains.
                statements = self._con.extract_statements(_EXPLAIN.sub("", sql, count=1))
        except duckdb.Error as error:
            raise self._explained(error) from None
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise UsageError("query takes one SELECT and nothing that changes data or settings")

    def _explained(self, error: duckdb.Error) -> Exception:
        sentence = in_a_sentence(error)
        if isinstance(error, duckdb.CatalogException) and self._built is None:
            return NoData(f"{sentence}. Nothing has been built yet: run `goodput build` first")
        if isinstance(error, duckdb.CatalogException | duckdb.BinderException):
            return UsageError(f"{sentence}; `goodput schema` lists tables and columns")
        return UsageError(sentence)


def open_session(lake: Lake, sql: str | None = None, *, with_models: bool = True) -> Session:
    """A session over a lake.

    Args:
        sql: what will be asked, so that only raw tables that it can mean are prepared; None
            prepares all.
        with_models: False leaves out the last build, so that its state does not matter.
    """
    con = connect()
    schemas = ["memory.main", "memory.raw"]
    con.execute("create schema raw")
    snapshot = lake.snapshot()
    for table in _mentioned(sql):
        con.execute(raw_view_sql(raw_table(table), snapshot.files(table)))
        if table == QUARANTINE:
            con.execute(open_quarantine_sql())
    built = lake.built_warehouse() if with_models else None
    if built is not None:
        schemas += _attach(con, built)
    con.execute("set search_path = ?", [",".join(schemas)])
    con.execute("set allowed_directories = ?", [[lake.raw_root]])
    con.execute("set enable_external_access = false")
    con.execute("set lock_configuration = true")
    return Session(con, built)


def _attach(con: duckdb.DuckDBPyConnection, built: Path) -> list[str]:
    """Attaches the built warehouse; gives its schemas for the search path."""
    location = str(built).replace("'", "''")
    try:
        con.execute(f"attach '{location}' as {_WAREHOUSE} (read_only)")
    except duckdb.Error as error:
        first = in_a_sentence(error)
        raise GoodputError(
            f"the last build cannot be read ({first}); run `goodput build`"
        ) from None
    names = con.execute(
        "select distinct schema_name from duckdb_schemas() where database_name = ? order by 1",
        [_WAREHOUSE],
    ).fetchall()
    return [f"{_WAREHOUSE}.{name}" for (name,) in names if name != "raw"]


def _mentioned(sql: str | None) -> list[str]:
    """The raw tables that a statement can mean; all of them if it looks into the catalogue."""
    if sql is None or _CATALOGUE_WORDS.search(sql):
        return list(raw_tables())
    words = set(re.findall(r"\w+", sql.lower()))
    return [table for table in raw_tables() if table in words]
