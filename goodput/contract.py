"""The input contract, read back from the DDL in sql/00_raw.

The DDL is the one home of the raw tables' columns, types, NOT NULLs and CHECKs. This module runs it
in an empty in-memory database and asks DuckDB what came out, so that Python never repeats it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import duckdb
from duckdb.sqltypes import DuckDBPyType

from goodput.errors import GoodputError
from goodput.warehouse.models import Model, find_models

PROVENANCE = ("ingested_at", "ingested_from", "run_id", "row_id")
"""Columns of every raw table that say where a row came from and not what it says."""

TYPED_TABLES = (
    "nodes",
    "node_conditions",
    "node_condition_events",
    "node_admin",
    "health_checks",
    "commitments",
    "prices",
    "jobs",
    "attempts",
    "pods",
    "pod_events",
    "queue",
    "steps",
    "step_logs",
    "phases",
    "checkpoints",
    "markers",
    "evidence",
    "clock_offsets",
    "collector_gaps",
)
"""The tables that `goodput import` takes: those that mean the same whatever they were read from."""


@dataclass(frozen=True)
class Check:
    """One CHECK of the DDL: a boolean expression that must not be false, and what it looks at."""

    expression: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class RawTable:
    """One raw table as its DDL declares it.

    Attributes:
        columns: name to DuckDB type in the order of the DDL, provenance included.
        required: the columns that are NOT NULL.
        day: the column whose UTC day partitions the lake; None where rows have no time.
        sorted_by: the columns that order the rows of a file, so that it packs and sorts well.
    """

    name: str
    description: str
    columns: dict[str, DuckDBPyType]
    required: tuple[str, ...]
    checks: tuple[Check, ...]
    day: str | None
    sorted_by: tuple[str, ...]

    @property
    def domain_columns(self) -> dict[str, DuckDBPyType]:
        """The columns that say something about the cluster."""
        return {name: kind for name, kind in self.columns.items() if name not in PROVENANCE}


def quoted(identifier: str) -> str:
    """An SQL identifier that may be a reserved word."""
    return '"' + identifier.replace('"', '""') + '"'


def children(kind: DuckDBPyType) -> list[tuple[str, DuckDBPyType]]:
    """The fields of a struct type with their types; of a list type, its item as the only one."""
    return cast("list[tuple[str, DuckDBPyType]]", kind.children)


def raw_tables() -> tuple[str, ...]:
    """The names of all raw tables in the order of their files."""
    return tuple(_contract())


def raw_table(name: str) -> RawTable:
    """The declaration of one raw table.

    Raises:
        GoodputError: there is no such table.
    """
    try:
        return _contract()[name]
    except KeyError:
        raise GoodputError(f"there is no raw table {name!r}; sql/00_raw declares them") from None


def columns(table: str) -> dict[str, str]:
    """Name to DuckDB type, as text, of every column of a raw table."""
    return {name: str(kind) for name, kind in raw_table(table).columns.items()}


@lru_cache(maxsize=1)
def _contract() -> dict[str, RawTable]:
    con = duckdb.connect()
    con.execute("create schema raw")
    models = find_models(schema="raw")
    for model in models:
        con.execute(model.sql)
    constraints: dict[str, list[tuple[str, str, list[str]]]] = {}
    for table, kind, expression, names in con.execute(
        "select table_name, constraint_type, expression, constraint_column_names"
        " from duckdb_constraints() where schema_name = 'raw'"
    ).fetchall():
        constraints.setdefault(table, []).append((kind, expression, names))
    return {model.name: _read_back(con, model, constraints.get(model.name, [])) for model in models}


def _read_back(
    con: duckdb.DuckDBPyConnection, model: Model, constraints: list[tuple[str, str, list[str]]]
) -> RawTable:
    relation = con.table(model.table)
    day = model.keys.get("day")
    sorted_by = tuple(model.listed("sorted by") or model.listed("day"))
    for column in {*sorted_by, *([day] if day else [])} - set(relation.columns):
        raise GoodputError(f"the header of {model.path.name} names {column}, which it has not")
    return RawTable(
        name=model.name,
        description=model.description,
        columns=dict(zip(relation.columns, relation.types, strict=True)),
        required=tuple(names[0] for kind, _, names in constraints if kind == "NOT NULL"),
        checks=tuple(
            Check(expression, tuple(dict.fromkeys(names)))
            for kind, expression, names in constraints
            if kind == "CHECK"
        ),
        day=day,
        sorted_by=sorted_by,
    )
