"""The ledger of the two halves of a window, booked before the whole: windows must add up.

Only the models of the schema `ledger` look at the window, so the halves together cost about what
the ledger itself costs: little where steps are many, much where phases are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import duckdb

from goodput.contract import quoted
from goodput.warehouse.models import Model

LEDGER = "ledger"
_BOOK = "window_totals"
_MEMORY = "halves"
"""The database in memory that holds the ledger of one half while it is booked."""


def book_halves(
    con: duckdb.DuckDBPyConnection, models: list[Model], make: Callable[[Model], None]
) -> None:
    """Fills meta.half_window_totals: units × ms per group of devices, state and cause.

    Args:
        make: makes the table of one model, as the build does.

    Leaves an empty schema `ledger` and the window's variables as they were.
    """
    needed = _up_to_the_book(models)
    con.execute(
        "create or replace table meta.half_window_totals (cluster varchar, pool varchar, "
        "node_uid varchar, lead_gpu bigint, state varchar, cause varchar, unit_ms hugeint)"
    )
    [(start, end)] = con.execute(
        "select getvariable('window_start_ms'), getvariable('window_end_ms')"
    ).fetchall()
    middle = (start + end) // 2
    for half in ((start, middle), (middle, end)):
        _set_window(con, *half)
        with _ledger_in_memory(con):
            for model in needed:
                make(model)
            con.execute(
                "insert into meta.half_window_totals "
                "select cluster, pool, node_uid, lead_gpu, state, cause, unit_ms "
                "from ledger.window_totals"
            )
    _set_window(con, start, end)
    con.execute(f"create schema {LEDGER}")


def _up_to_the_book(models: list[Model]) -> list[Model]:
    ledger = [model for model in models if model.schema == LEDGER]
    names = [model.name for model in ledger]
    return ledger[: names.index(_BOOK) + 1] if _BOOK in names else []


@contextmanager
def _ledger_in_memory(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Lets `ledger` name a schema in memory: half the cost of large tables is to compress them."""
    schemas = con.execute(
        "select database_name, schema_name from duckdb_schemas() "
        "where database_name = current_catalog()"
    ).fetchall()
    build = [f"{quoted(database)}.{quoted(schema)}" for database, schema in schemas]
    con.execute(f"attach ':memory:' as {_MEMORY}")
    con.execute(f"create schema {_MEMORY}.{LEDGER}")
    con.execute("set search_path = ?", [",".join([f"{_MEMORY}.{LEDGER}", *build])])
    try:
        yield
    finally:
        con.execute("reset search_path")
        con.execute(f"detach {_MEMORY}")


def _set_window(con: duckdb.DuckDBPyConnection, start_ms: int, end_ms: int) -> None:
    for name, instant in (("window_start", start_ms), ("window_end", end_ms)):
        con.execute(f"set variable {name}_ms = {instant}::bigint")
        con.execute(f"set variable {name} = make_timestamptz({instant}::bigint * 1000)")
