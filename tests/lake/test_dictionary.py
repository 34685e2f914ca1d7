"""sql/columns.toml says what every column of a build means, and speaks of no other."""

import duckdb
import pytest

from goodput.contract import raw_tables
from goodput.dictionary import describe_columns, read_dictionary


@pytest.fixture(scope="module")
def described(warehouse):
    return describe_columns(warehouse)


def _names(described, table):
    return {column.column for column in described if _is_meant(table, column.table)}


def _is_meant(key, table):
    """Whether [tables.<key>] can speak of a table."""
    schema, _, name = table.partition(".")
    feeds = schema == "observed" and name.rpartition("_")[0] == key
    return key in (table, f"{schema}.*", name) or feeds


def test_every_table_of_every_schema_is_described(described, warehouse):
    with duckdb.connect(str(warehouse), read_only=True) as con:
        built = con.execute(
            "select distinct schema_name || '.' || table_name from duckdb_columns()"
            " where not internal and schema_name <> 'main'"
        ).fetchall()

    assert {column.table for column in described} == {table for (table,) in built}
    assert {f"raw.{table}" for table in raw_tables()} <= {column.table for column in described}


def test_every_column_has_a_meaning(described):
    silent = [f"{column.table}.{column.column}" for column in described if not column.meaning]

    assert silent == [], "say in sql/columns.toml what these mean"


def test_every_column_whose_name_is_an_amount_has_its_unit(described):
    amounts = ("_ms", "_us", "_s", "_hours", "_count", "_units", "_unit_ms")
    bare = [
        f"{column.table}.{column.column}"
        for column in described
        if column.column.endswith(amounts) and not column.unit
    ]

    assert bare == []


def test_every_meaning_of_a_table_has_its_column(described):
    _, by_table = read_dictionary()
    dead = [
        f"{table}.{name}"
        for table, columns in by_table.items()
        for name in columns
        if name not in _names(described, table)
    ]

    assert dead == []


def test_every_general_meaning_is_used(described):
    general, _ = read_dictionary()
    used = {(column.column, column.meaning) for column in described}
    dead = [name for name, entry in general.items() if (name, entry["meaning"]) not in used]

    assert dead == []


def test_no_table_repeats_what_its_column_means_everywhere():
    general, by_table = read_dictionary()
    repeated = [
        f"{table}.{name}"
        for table, columns in by_table.items()
        for name, entry in columns.items()
        if general.get(name) == entry
    ]

    assert repeated == []
