"""Reads results out of a built warehouse: metrics, the ledger, the list of tables."""

from __future__ import annotations

import duckdb

from goodput.errors import NoData
from goodput.warehouse.named import FINDING, require, unknown

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

MEASURES = (
    "attempt",
    "queue",
    "restart",
    "detect",
    "isolate",
    "drain",
    "repair_wait",
    "repair",
    "return",
    "outage",
)
"""Spans of which rollups.waits knows the length."""

MEASURE_SCOPES = ("fleet", "job_size", "pool", "team", "action", "class")


def select_metrics(
    con: duckdb.DuckDBPyConnection, metric: str | None = None, scope: str | None = None
) -> duckdb.DuckDBPyRelation:
    """The metrics of a build in the common shape, all or those of one name or scope.

    Raises:
        UsageError: no metric has that name, or none of its rows that scope.
        NoData: the build made no metrics, or not that one, for no GPU was paid for.
    """
    tables = con.execute(
        "select table_name from duckdb_tables() where schema_name = 'metrics' order by table_name"
    ).fetchall()
    if not tables:
        raise NoData("the build holds no metrics; run `goodput build` again")
    columns = ", ".join(METRIC_COLUMNS)
    rows = " union all ".join(f'select {columns} from metrics."{name}"' for (name,) in tables)
    filtered = (
        f"select {columns} from ({rows}) where ($metric::varchar is null or metric = $metric)"
        " and ($scope::varchar is null or scope = $scope)"
        " order by metric, scope, cluster, scope_value"
    )
    _refuse_unknown(con, rows, metric, scope)
    return con.sql(filtered, params={"metric": metric, "scope": scope})


def _refuse_unknown(
    con: duckdb.DuckDBPyConnection, rows: str, metric: str | None, scope: str | None
) -> None:
    pairs = con.sql(f"select distinct metric, scope from ({rows})").fetchall()
    metrics = {name for name, _ in pairs}
    scopes = {name for of, name in pairs if metric in (None, of)}
    of_metric = "" if metric is None else f"of {metric} "
    for thing, wanted, names, where in (
        ("metric", metric, metrics, "in this build"),
        ("scope", scope, scopes, f"{of_metric}in this build"),
    ):
        if wanted is None or wanted in names:
            continue
        if not con.sql("select 1 from ledger.gpu_time limit 1").fetchall():
            raise NoData(NOTHING_PAID)
        raise unknown(thing, wanted, names, where)


def select_ledger(
    con: duckdb.DuckDBPyConnection, job: str | None, node: str | None, cluster: str | None
) -> duckdb.DuckDBPyRelation:
    """The ledger device by device, in the order of time; only what is named of a thing, if any.

    Raises:
        UsageError: the build knows no job, node or cluster of that name.
    """
    given = {"job": job, "node": node, "cluster": cluster}
    wanted = {kind: name for kind, name in given.items() if name is not None}
    for kind, name in wanted.items():
        require(con, kind, name)
    columns = {"job": "job", "node": "node_uid", "cluster": "cluster"}
    conditions = [f"(cluster, {columns[kind]}) in ({FINDING[kind]})" for kind in wanted]
    return con.sql(
        f"select * from ledger.gpu_time where {' and '.join(['true', *conditions])}"
        " order by started_at, cluster, node_uid, gpu",
        params=wanted,
    )


def select_survival(
    con: duckdb.DuckDBPyConnection, measure: str, scope: str
) -> duckdb.DuckDBPyRelation:
    """A survival curve of each scope value, by age; no row where no span began.

    Raises:
        UsageError: there is no such measure or scope.
    """
    for thing, wanted, names in (("measure", measure, MEASURES), ("scope", scope, MEASURE_SCOPES)):
        if wanted not in names:
            raise unknown(thing, wanted, names)
    return con.sql(
        "select cluster, scope_value, span_ms / 3600000 as hours, survival, low, high,"
        " risk_count as at_risk, event_count as events from rollups.survival"
        " where measure = $1 and scope = $2 order by cluster, scope_value, hours",
        params=[measure, scope],
    )
