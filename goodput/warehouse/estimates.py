"""Fills the interval columns of the metrics that have one, from the counts that SQL left there.

SQL cannot invert the beta and gamma distributions. Which metric takes which interval stands in
catalog/metrics.toml; what SQL has filled, and everything else, stays as it is.
"""

from __future__ import annotations

import math
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import duckdb

from goodput._resources import catalog_dir
from goodput.estimates import (
    Interval,
    clopper_pearson,
    mean_time_interval,
    rate_interval,
    rate_ratio,
)

OVERDISPERSED = 1.5
"""Variance over mean of a count above which it is no Poisson count any more (STANDARD 5.3)."""

# What numerator, denominator and dispersion mean to each kind of interval; None where the
# statistic is missing without which the estimator has nothing to say.
_ESTIMATORS: dict[str, Callable[[float, float, float], Interval | None]] = {
    "successes": lambda part, whole, _: (
        clopper_pearson(round(part), round(whole)) if whole > 0 else None
    ),
    "events-per-exposure": lambda events, exposure, dispersion: (
        rate_interval(round(events), exposure, dispersion=dispersion) if exposure > 0 else None
    ),
    "exposure-per-event": lambda exposure, events, dispersion: (
        mean_time_interval(round(events), exposure, dispersion=dispersion) if exposure > 0 else None
    ),
}
RATE_RATIO = "rate-ratio"


def fill_intervals(con: duckdb.DuckDBPyConnection) -> None:
    """Sets `low` and `high` in every table of the schema `metrics` that needs them.

    A bound that does not exist (nothing ended, no exposure) or is infinite stays null.
    """
    kinds = {name: kind for name, kind in interval_kinds().items() if kind in _ESTIMATORS}
    dispersions = overdispersions(con)
    bounds: dict[str, list[Any]] = defaultdict(list)
    for table, metric, cluster, numerator, denominator in _rows_of_metrics(
        con,
        "metric, cluster, numerator, denominator",
        "list_contains($metrics, metric) and numerator is not null and denominator is not null",
        {"metrics": sorted(kinds)},
    ):
        dispersion = dispersions.get((metric, cluster), 1.0)
        found = _ESTIMATORS[kinds[metric]](numerator, denominator, dispersion)
        bounds[table].append((metric, cluster, numerator, denominator, *_ends(found)))
    for table, of_table in bounds.items():
        _set(con, table, ("metric", "cluster", "numerator", "denominator"), of_table)
    _fill_rate_ratios(con)


def interval_kinds() -> dict[str, str]:
    """The kind of interval of each metric that has one, as catalog/metrics.toml says."""
    return {name: entry["interval"] for name, entry in _entries().items() if "interval" in entry}


def overdispersions(con: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], float]:
    """The dispersion of each metric and cluster whose events come in clusters."""
    names = {
        metric: entry["dispersion"] for metric, entry in _entries().items() if "dispersion" in entry
    }
    found = {
        (name, cluster): value
        for _, name, cluster, value in _rows_of_metrics(
            con,
            "metric, cluster, value",
            "list_contains($metrics, metric) and scope = 'fleet' and value > $least",
            {"metrics": sorted(set(names.values())), "least": OVERDISPERSED},
        )
    }
    return {
        (metric, cluster): value
        for metric, name in names.items()
        for (of, cluster), value in found.items()
        if of == name
    }


def _entries() -> dict[str, dict[str, str]]:
    return tomllib.loads((catalog_dir() / "metrics.toml").read_text(encoding="utf-8"))


def _fill_rate_ratios(con: duckdb.DuckDBPyConnection) -> None:
    rows = con.sql(
        "select metric, cluster, scope, scope_value, other_count, other_hours, event_count,"
        " exposure_hours from rollups.rate_ratios where exposure_hours > 0 and other_hours > 0"
    ).fetchall()
    bounds = [(*row[:4], *_ends(rate_ratio(*row[4:]).interval)) for row in rows]
    for table in _metric_tables(con):
        _set(con, table, ("metric", "cluster", "scope", "scope_value"), bounds)


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    if interval is None:
        return None, None
    return interval.low, None if math.isinf(interval.high) else interval.high


def _set(
    con: duckdb.DuckDBPyConnection, table: str, keys: tuple[str, ...], bounds: Iterable[Any]
) -> None:
    """Puts (key, …, low, high) into the rows that have the key."""
    columns = list(zip(*bounds, strict=True))
    if not columns:
        return
    names = (*keys, "lowest", "highest")
    unnested = ", ".join(f"unnest(${n}) as {name}" for n, name in enumerate(names, 1))
    matches = " and ".join(f"{table}.{key} = bound.{key}" for key in keys)
    con.execute(
        f"update {table} set low = bound.lowest, high = bound.highest "
        f"from (select {unnested}) as bound where {matches}",
        [list(column) for column in columns],
    )


def _rows_of_metrics(
    con: duckdb.DuckDBPyConnection, columns: str, condition: str, values: dict[str, Any]
) -> list[tuple[Any, ...]]:
    """Distinct rows of every table of metrics, behind its name.

    In one statement, since most of what each costs is its planning.
    """
    parts = (
        f"select distinct '{table}', {columns} from {table} where {condition}"
        for table in _metric_tables(con)
    )
    return con.execute(" union all ".join(parts), values).fetchall()


def _metric_tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    rows = con.sql(
        "select table_name from duckdb_tables() where schema_name = 'metrics' order by table_name"
    ).fetchall()
    return [f"metrics.{name}" for (name,) in rows]
