"""Unites the typed rows that were given with those derived from other sources."""

from __future__ import annotations

import duckdb

from goodput.warehouse.emptiness import EmptyTables
from goodput.warehouse.models import Model


def gather(con: duckdb.DuckDBPyConnection, models: list[Model], empty: EmptyTables) -> None:
    """Makes the view gathered.<table> of every raw table.

    observed.<table>_<origin> feeds <table>: a new source is new files and touches no other. Columns
    that a feed has nothing to say in are not in it, and null. A feed that is empty is left out: who
    reads the view would plan for it.
    """
    con.execute("create schema if not exists gathered")
    observed = [model for model in models if model.schema == "observed"]
    for table in (model for model in models if model.schema == "raw"):
        feeds = [model.table for model in observed if model.name.rpartition("_")[0] == table.name]
        filled = [feed for feed in feeds if feed not in empty]
        union = " union all by name ".join(
            f"select * from {name}" for name in (table.table, *filled)
        )
        con.execute(f"create or replace view gathered.{table.name} as {union}")
        empty.note(f"gathered.{table.name}", is_empty=table.table in empty and not filled)
