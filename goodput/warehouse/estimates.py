"""Fills the interval columns of the metrics that have one, from the counts that SQL left there.

SQL cannot invert the beta and gamma distributions. Which metric takes which interval stands in
catalog/metrics.toml; everything else keeps its bounds null.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable

import duckdb

from goodput._resources import catalog_dir
from goodput.estimates import Interval, clopper_pearson, mean_time_interval, rate_interval

Bounds = tuple[float | None, float | None]

# What numerator and denominator mean to each kind of interval.
_ESTIMATORS: dict[str, Callable[[float, float], Interval]] = {
    "successes": lambda part, whole: clopper_pearson(round(part), round(whole)),
    "events-per-exposure": lambda events, exposure: rate_interval(round(events), exposure),
    "exposure-per-event": lambda exposure, events: mean_time_interval(round(events), exposure),
}

# The statistic without which the estimator has nothing to say.
_NEEDS: dict[str, Callable[[float, float], bool]] = {
    "successes": lambda _, trials: trials > 0,
    "events-per-exposure": lambda _, exposure: exposure > 0,
    "exposure-per-event": lambda exposure, _: exposure > 0,
}


def fill_intervals(con: duckdb.DuckDBPyConnection) -> None:
    """Sets `low` and `high` in every table of the schema `metrics` that needs them.

    A bound that does not exist (nothing ended, no exposure) or is infinite stays null.
    """
    kinds = interval_kinds()
    for table in _metric_tables(con):
        statistics = con.execute(
            f"select distinct metric, numerator, denominator from {table} "
            "where list_contains(?, metric) and numerator is not null and denominator is not null",
            [sorted(kinds)],
        ).fetchall()
        for metric, numerator, denominator in statistics:
            low, high = _bounds(kinds[metric], numerator, denominator)
            con.execute(
                f"update {table} set low = ?, high = ? "
                "where metric = ? and numerator = ? and denominator = ?",
                [low, high, metric, numerator, denominator],
            )


def interval_kinds() -> dict[str, str]:
    """The kind of interval of each metric that has one, as catalog/metrics.toml says."""
    catalogue = tomllib.loads((catalog_dir() / "metrics.toml").read_text(encoding="utf-8"))
    return {name: entry["interval"] for name, entry in catalogue.items() if "interval" in entry}


def _bounds(kind: str, numerator: float, denominator: float) -> Bounds:
    if not _NEEDS[kind](numerator, denominator):
        return None, None
    interval = _ESTIMATORS[kind](numerator, denominator)
    return interval.low, None if math.isinf(interval.high) else interval.high


def _metric_tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    rows = con.sql(
        "select table_name from duckdb_tables() where schema_name = 'metrics' order by table_name"
    ).fetchall()
    return [f"metrics.{name}" for (name,) in rows]
