"""The data dictionary: what every column of every table means, from sql/columns.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from goodput._resources import resource_dir
from goodput.contract import columns, raw_table, raw_tables
from goodput.warehouse.connection import connect


@dataclass(frozen=True)
class Column:
    """One column; unit and meaning are empty where nobody has said them yet.

    Attributes:
        is_required: whether every row that is imported needs a value.
    """

    table: str
    column: str
    type: str
    unit: str
    meaning: str
    is_required: bool = False


@lru_cache(maxsize=1)
def read_dictionary() -> tuple[dict[str, dict[str, str]], dict[str, dict[str, dict[str, str]]]]:
    """What columns.toml says: by column, and by table and column."""
    document = tomllib.loads((resource_dir("sql") / "columns.toml").read_text(encoding="utf-8"))
    return document["columns"], document["tables"]


def describe(table: str, column: str, kind: str) -> Column:
    """A column of a table with its unit and meaning.

    Args:
        table: qualified, such as raw.steps.
    """
    general, by_table = read_dictionary()
    said = (by_table.get(key, {}).get(column) for key in _keys(table))
    entry = next(filter(None, said), None) or general.get(column, {})
    return Column(table, column, kind, entry.get("unit", ""), entry.get("meaning", ""))


def _keys(table: str) -> tuple[str, ...]:
    """Where [tables] may speak of a table, the most specific first.

    observed.<table>_<origin> has the columns of raw.<table>, so what goes for that one goes for it.
    """
    schema, _, name = table.partition(".")
    keys = (table, f"{schema}.*", name)
    return (*keys, name.rpartition("_")[0]) if schema == "observed" else keys


def describe_columns(warehouse: Path | None) -> list[Column]:
    """Every column of the raw tables, then those of the models in a built warehouse, if given."""
    found = [
        replace(describe(f"raw.{table}", name, kind), is_required=name in _required(table))
        for table in raw_tables()
        for name, kind in columns(table).items()
    ]
    return found if warehouse is None else found + _built_columns(warehouse)


def _required(table: str) -> set[str]:
    """What every row needs; a row that names no cluster is given one."""
    return set(raw_table(table).required) - {"cluster"}


def _built_columns(warehouse: Path) -> list[Column]:
    with connect(warehouse, read_only=True) as con:
        rows = con.execute(
            "select schema_name || '.' || table_name, column_name, data_type"
            " from duckdb_columns() where not internal and database_name = current_database()"
            " and schema_name not in ('raw', 'main')"
            " order by schema_name, table_name, column_index"
        ).fetchall()
    return [describe(table, column, kind) for table, column, kind in rows]
