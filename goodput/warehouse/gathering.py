"""Unites the typed rows that were given with those derived from other sources."""

from __future__ import annotations

import duckdb

from goodput.warehouse.models import Model


def gather(con: duckdb.DuckDBPyConnection, models: list[Model]) -> None:
    """Makes the view gathered.<table> of every raw table.

    observed.<table>_<origin> feeds <table>: a new source is new files and touches no other. Columns
    that a feed has nothing to say in are not in it, and null.
    """
    con.execute("create schema if not exists gathered")
    observed = [model for model in models if model.schema == "observed"]
    for table in (model for model in models if model.schema == "raw"):
        feeds = [model for model in observed if model.name.rpartition("_")[0] == table.name]
        union = " union all by name ".join(
            f"select * from {model.table}" for model in [table, *feeds]
        )
        con.execute(f"create view gathered.{table.name} as {union}")
