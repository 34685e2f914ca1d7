"""Reads results out of a built warehouse: metrics, the ledger, the list of tables."""

from __future__ import annotations

import difflib

import duckdb

from goodput.errors import NoData, UsageError

NOTHING_PAID = "no GPU was paid for in this window; build one that has nodes"
METRIC_COLUMNS = (
    "metric",
    "scope",
    "scope_value",
    "value",
    "low",
    "high",
    "numerator",
    "denominator",
    "event_count",
    "unit",
    "window_start",
    "window_end",
    "cluster",
)


def select_metrics(
    con: duckdb.DuckDBPyConnection, metric: str | None = None, scope: str | None = None
) -> duckdb.DuckDBPyRelation:
    """The metrics of a build in the common shape, all or those of one name or scope.

    Raises:
        UsageError: no metric has that name, or no row that scope.
        NoData: the build made no metrics, or not that one, for no GPU was paid for.
    """
    tables = con.execute(
        "select table_name from duckdb_tables() where schema_name = 'metrics' order by table_name"
    ).fetchall()
    if not tables:
        raise NoData("the build holds no metrics; run `goodput build` again")
    columns = ", ".join(METRIC_COLUMNS)
    rows = " union all ".join(f'select {columns} from metrics."{name}"' for (name,) in tables)
    for column, wanted in (("metric", metric), ("scope", scope)):
        if wanted is not None:
            _refuse_unknown(con, rows, column, wanted)
    return con.sql(
        f"select {columns} from ({rows}) where ($1::varchar is null or metric = $1)"
        " and ($2::varchar is null or scope = $2)"
        " order by metric, scope, cluster, scope_value",
        params=[metric, scope],
    )


def _refuse_unknown(con: duckdb.DuckDBPyConnection, rows: str, column: str, wanted: str) -> None:
    known = [name for (name,) in con.sql(f"select distinct {column} from ({rows})").fetchall()]
    if wanted in known:
        return
    if not con.sql("select 1 from ledger.gpu_time limit 1").fetchall():
        raise NoData(NOTHING_PAID)
    close = difflib.get_close_matches(wanted, known, n=3)
    hint = f"did you mean {', '.join(close)}" if close else "known are " + ", ".join(sorted(known))
    raise UsageError(f"there is no {column} {wanted!r} in this build; {hint}")
