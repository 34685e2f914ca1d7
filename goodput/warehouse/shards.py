"""Makes a large model a range of attempts at a time, so that what it sorts fits into memory.

The SQL of such a model takes its range from variables, and stands for the whole where they are not
set. Shards follow each other in the order of attempts, so the table is sorted as one sort would
have sorted it. The range of job names lets the scan skip Parquet row groups of other jobs.
"""

from __future__ import annotations

import duckdb

from goodput.contract import quoted
from goodput.errors import GoodputError
from goodput.warehouse.models import Model

_ROWS_PER_SHARD = 3_000_000
_COMPRESSIONS = {"stored as runs": "rle", "stored as numbers": "bitpacking"}
"""Keys of a header that list columns, and how these are stored."""
_VARIABLES = ("shard_first", "shard_last", "shard_first_job", "shard_last_job")


def make_sharded(con: duckdb.DuckDBPyConnection, model: Model, rows: int) -> None:
    """Makes the table of a model whose header says `-- sharded by: attempt_id`.

    Args:
        rows: about how many input rows there are.
    """
    count = rows // _ROWS_PER_SHARD + 1
    ranges = _ranges(con, count) if count > 1 else []
    con.execute(f"create table {model.table} ({_declared_columns(con, model)})")
    fill = f"insert into {model.table} by name\n{model.sql}"
    for values in ranges:
        _set(con, values)
        con.execute(fill)
    for name in _VARIABLES:
        con.execute(f"reset variable {name}")
    if not ranges:
        con.execute(fill)


def _declared_columns(con: duckdb.DuckDBPyConnection, model: Model) -> str:
    """Columns with their types, and the compression that the header names for them.

    DuckDB else tries every compression on every column, which shows where rows are many.
    """
    columns = con.execute(f"describe {model.sql}").fetchall()
    chosen = {
        name: compression
        for key, compression in _COMPRESSIONS.items()
        for name in model.listed(key)
    }
    if unknown := set(chosen) - {name for name, *_ in columns}:
        raise GoodputError(
            f"the header of {model.path.name} names {min(unknown)}, which it has not"
        )
    return ", ".join(
        f"{quoted(name)} {kind}" + (f" using compression {chosen[name]}" if name in chosen else "")
        for name, kind, *_ in columns
    )


def _ranges(con: duckdb.DuckDBPyConnection, count: int) -> list[tuple[int, int, str, str]]:
    """First and last attempt_id, first and last job of each shard that has attempts."""
    return con.execute(
        "select min(attempt_id), max(attempt_id), min(job), max(job) from ("
        " select attempt_id, job, ntile(?) over (order by attempt_id) as shard"
        " from staged.attempts) group by shard order by shard",
        [count],
    ).fetchall()


def _set(con: duckdb.DuckDBPyConnection, values: tuple[int, int, str, str]) -> None:
    for name, value in zip(_VARIABLES, values, strict=True):
        con.execute(f"set variable {name} = ?", [value])
