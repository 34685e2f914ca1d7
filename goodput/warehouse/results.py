"""Reads results out of a built warehouse: metrics, the ledger, the list of tables."""

from __future__ import annotations

import difflib

import duckdb

from goodput.errors import NoData, UsageError

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
    con: duckdb.DuckDBPyConnection, metric: str | None = None
) -> duckdb.DuckDBPyRelation:
    """The metrics of a build in the common shape.

    Raises:
        UsageError: no metric has that name.
        NoData: the build made no metrics.
    """
    tables = con.execute(
        "select table_name from duckdb_tables() where schema_name = 'metrics' order by table_name"
    ).fetchall()
    if not tables:
        raise NoData("the build holds no metrics; run `goodput build` again")
    columns = ", ".join(METRIC_COLUMNS)
    rows = " union all ".join(f'select {columns} from metrics."{name}"' for (name,) in tables)
    if metric is not None:
        known = [
            name for (name,) in con.execute(f"select distinct metric from ({rows})").fetchall()
        ]
        if metric not in known:
            close = difflib.get_close_matches(metric, known, n=3)
            hint = (
                f"did you mean {', '.join(close)}"
                if close
                else "known are " + ", ".join(sorted(known))
            )
            raise UsageError(f"there is no metric {metric!r} in this build; {hint}")
    return con.sql(
        f"select {columns} from ({rows}) where $1::varchar is null or metric = $1"
        " order by metric, scope, cluster, scope_value",
        params=[metric],
    )
