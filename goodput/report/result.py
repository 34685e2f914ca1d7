"""From a built warehouse to the report's result: one versioned, JSON-ready object.

Every number comes out of SQL. What happens here is choosing, ordering, rounding for display and
putting verdicts and sentences to the numbers. `docs/report.schema.json` describes the shape; a
change that breaks a reader raises the major number of SCHEMA_VERSION.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from goodput import __version__
from goodput.errors import NoData
from goodput.report.account import make_account
from goodput.report.headline import make_headline
from goodput.warehouse.advice import advise
from goodput.warehouse.connection import connect
from goodput.warehouse.results import NOTHING_PAID
from goodput.window import Window

SCHEMA_VERSION = "1.3"

Row = dict[str, Any]

# More text than this says nothing more to a reader; the warehouse keeps the whole.
TEXT_LIMIT = 2000
EVIDENCE_LIMIT = 20
# Advice that is not recommended says why not; after so many it repeats itself.
ADVICE_LIMIT = 100

# Section of the result -> the query that fills it, in the order of the page.
SECTIONS = {
    "parameters": "select * from report.parameters order by name",
    "state_groups": (
        "select * exclude (catalog_order) from catalog.state_groups order by position"
    ),
    "lost_classes": (
        "select * from report.lost_classes "
        "order by domain = 'baseline', unit_ms desc, interruption_count desc, class"
    ),
    "class_mechanism": "select * from report.class_mechanism order by class, state_group",
    "slices": "select * from report.slices order by all",
    "availability_days": "select * from report.availability_days order by cluster, pool, day",
    "jobs": "select * from report.jobs order by lost_gpu_hours desc, gpu_hours desc, cluster, job",
    "nodes": (
        "select * from report.nodes order by cost_gpu_hours desc, cluster, node_name, node_uid"
    ),
    "node_timeline": (
        "select * from report.node_timeline order by cluster, pool, node_name, node_uid"
    ),
    "job_timeline": (
        "select timeline.* from report.job_timeline as timeline "
        "inner join report.jobs using (cluster, job) "
        "order by lost_gpu_hours desc, gpu_hours desc, cluster, job"
    ),
    "job_attempts": "select * from report.job_attempts order by cluster, job, attempt",
    "lemon_nodes": (
        "select * from report.lemon_nodes "
        "order by is_lemon desc, q_value, cost_gpu_hours desc, cluster, node_uid limit 50"
    ),
    "slow_nodes": (
        "select * from report.slow_nodes "
        "order by p_value nulls last, named_hours desc, cluster, node_uid limit 50"
    ),
    "slow_spells": (
        "select * from report.slow_spells "
        "order by ended_at - started_at desc, cluster, job, attempt, started_at limit 100"
    ),
    "interruptions": (
        "select * from report.interruptions "
        "order by lost_gpu_hours desc nulls last, cluster, job, attempt, interrupted_at"
    ),
    "restart_loops": "select * from report.restart_loops order by gpu_hours desc, cluster, job",
    "failure_counts": "select * from report.failure_counts order by position",
    "not_observed": "select * from report.not_observed order by position",
    "data_quality": (
        "select * exclude (definition) from report.data_quality order by cluster, metric, basis"
    ),
    "unclassified": (
        "select * from report.unclassified "
        "order by row_count desc, cluster, source, value limit 100"
    ),
    "quarantine": (
        "select * from report.quarantine order by row_count desc, cluster, table_name, reason"
    ),
    "inputs": "select * from report.inputs order by table_name",
    "checks": (
        "select name, severity, row_count, description from checks.summary "
        "order by row_count > 0 desc, name"
    ),
}


def read_result(warehouse: Path) -> Row:
    """Reads everything the report shows from a built warehouse.

    Args:
        warehouse: the DuckDB file that `build` made.

    Raises:
        NoData: there is no such file, or its window holds no paid GPU time.
    """
    if not warehouse.is_file():
        raise NoData(f"there is no build at {warehouse}; run `goodput build` first")
    con = connect(warehouse, read_only=True)
    try:
        return _read(con)
    finally:
        con.close()


def _read(con: duckdb.DuckDBPyConnection) -> Row:
    sections = {name: _rows(con, query) for name, query in SECTIONS.items()}
    states = _rows(con, "select * from report.waterfall order by state_position, state")
    if not states:
        raise NoData(NOTHING_PAID)
    metrics = _read_metrics(con)
    objectives = {
        row["metric"]: row["objective"]
        for row in _rows(con, "select metric, objective from catalog.objectives order by metric")
    }
    account = make_account(
        states, sections["state_groups"], sections["lost_classes"], sections["class_mechanism"]
    )
    sections |= {"lost_classes": account.classes, "class_mechanism": account.mechanisms}
    _attach_evidence(con, sections["interruptions"])
    advice = [json_value(asdict(row)) for row in advise(con)]
    recommended = [row for row in advice if row["is_recommended"]]
    return {
        "schema_version": SCHEMA_VERSION,
        **_read_build(con),
        "clusters": [row["cluster"] for row in _rows(con, CLUSTERS)],
        "objectives": objectives,
        "headline": make_headline(account, metrics, objectives, sections["not_observed"]),
        "metrics": metrics,
        "waterfall": account.steps,
        "advice": recommended + advice[len(recommended) : len(recommended) + ADVICE_LIMIT],
        **sections,
    }


# `tables` are names out of the database's own catalogue.
METRICS = """
select
    metric, scope, scope_value, cluster, value, low, high, numerator, denominator, event_count, unit
from ({tables})
where scope in (
    'fleet', 'pool', 'grade', 'domain', 'job_size', 'job_gpus', 'action', 'stage', 'timeliness'
)
order by metric, cluster, scope, scope_value
"""

CLUSTERS = "select distinct cluster from ledger.gpu_time order by cluster"


def _read_build(con: duckdb.DuckDBPyConnection) -> Row:
    [(start, end, as_of, version, commit)] = con.sql(
        "select window_start, window_end, as_of, goodput_version, last_commit from meta.build"
    ).fetchall()
    window = Window(start.astimezone(UTC), end.astimezone(UTC))
    return {
        "generator": {"name": "goodput", "version": __version__},
        "build": {"goodput_version": version, "lake_commit": commit},
        "window": {
            "start": json_value(window.start),
            "end": json_value(window.end),
            "iso_week": window.iso_week,
            "hours": (window.end - window.start).total_seconds() / 3600,
        },
        "as_of": json_value(as_of),
    }


def _read_metrics(con: duckdb.DuckDBPyConnection) -> list[Row]:
    """The metrics of coarse scopes, few rows each; finer ones have tables of their own."""
    tables = con.sql(
        "select table_name from duckdb_tables() where schema_name = 'metrics' order by table_name"
    ).fetchall()
    union = " union all by name ".join(f'from metrics."{name}"' for (name,) in tables)
    if not union:
        return []
    return _rows(con, METRICS.format(tables=union))


def _attach_evidence(con: duckdb.DuckDBPyConnection, interruptions: Iterable[Row]) -> None:
    """Gives each interruption the observations behind it, the picked one first."""
    evidence: dict[tuple[Any, ...], list[Row]] = {}
    for row in _rows(
        con,
        "select * from report.evidence "
        "order by cluster, job, attempt, is_picked desc, strength desc, observed_at, source, value",
    ):
        key = (row.pop("cluster"), row.pop("job"), row.pop("attempt"))
        evidence.setdefault(key, []).append(row)
    for row in interruptions:
        lines = evidence.get((row["cluster"], row["job"], row["attempt"]), [])
        row["evidence"] = lines[:EVIDENCE_LIMIT]
        row["evidence_count"] = len(lines)


def _rows(con: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    relation = con.sql(query)
    columns = relation.columns
    return [
        {name: json_value(value) for name, value in zip(columns, row, strict=True)}
        for row in relation.fetchall()
    ]


def json_value(value: Any) -> Any:
    """A value of DuckDB as report.json has it."""
    match value:
        case datetime():
            text = value.astimezone(UTC).isoformat(timespec="milliseconds")
            value = text.replace("+00:00", "Z")
        case date():
            value = value.isoformat()
        case Decimal():
            value = float(value)
        case float() if not math.isfinite(value):
            value = None
        case dict():
            value = {key: json_value(item) for key, item in value.items()}
        case list():
            value = [json_value(item) for item in value]
        case str() if len(value) > TEXT_LIMIT:
            value = value[:TEXT_LIMIT] + "…"
    return value
