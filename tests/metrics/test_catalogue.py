"""Intervals reach the tables, and every metric has its presentation."""

import re
import tomllib
from pathlib import Path

import pytest

from goodput._resources import catalog_dir
from goodput.warehouse.estimates import fill_intervals, interval_kinds
from goodput.warehouse.models import find_models

CATALOGUE = tomllib.loads((catalog_dir() / "metrics.toml").read_text(encoding="utf-8"))
METRIC_MODELS = [model for model in find_models() if model.schema == "metrics"]
SHAPE = [
    ("metric", "VARCHAR"),
    ("scope", "VARCHAR"),
    ("scope_value", "VARCHAR"),
    ("value", "DOUBLE"),
    ("low", "DOUBLE"),
    ("high", "DOUBLE"),
    ("numerator", "DOUBLE"),
    ("denominator", "DOUBLE"),
    ("event_count", "BIGINT"),
    ("unit", "VARCHAR"),
    ("window_start", "TIMESTAMP WITH TIME ZONE"),
    ("window_end", "TIMESTAMP WITH TIME ZONE"),
    ("cluster", "VARCHAR"),
]


@pytest.mark.parametrize("metric_model", METRIC_MODELS, ids=lambda m: m.name)
def test_every_metric_table_has_the_same_shape(warehouse, metric_model):
    columns = warehouse.sql(f"describe {metric_model.table}").fetchall()

    assert [(name, dtype) for name, dtype, *_ in columns] == SHAPE
    assert metric_model.grain == ["cluster", "metric", "scope", "scope_value"]


def test_every_metric_is_presented_and_everything_presented_is_a_metric():
    text = "\n".join(model.sql for model in METRIC_MODELS)
    named = set(re.findall(r"'([a-z0-9_]+)' as metric|'metric': '([a-z0-9_]+)'", text))
    named = {name for pair in named for name in pair if name}
    # Metrics named in a list of values, the first of each row.
    named |= set(re.findall(r"^\s+\('([a-z0-9_]+)'", text, re.MULTILINE))

    assert named == set(CATALOGUE)


@pytest.mark.parametrize("name", CATALOGUE)
def test_presentation_is_complete(name):
    entry = CATALOGUE[name]

    assert {"label", "unit", "direction", "format", "caveat"} <= set(entry)
    assert entry["direction"] in ("up", "down", "none")
    assert re.fullmatch(r"percent \d|number \d|count", entry["format"])
    assert (entry["unit"] == "ratio") == entry["format"].startswith("percent")
    assert entry["caveat"].endswith(".")


def test_objectives_are_set_for_metrics_that_exist():
    rows = Path(catalog_dir() / "objectives.csv").read_text(encoding="utf-8").splitlines()[1:]

    assert {row.split(",")[0] for row in rows} <= set(CATALOGUE)


def test_coverage_is_set_for_every_metric_by_bases_that_exist(warehouse):
    rows = warehouse.sql("select metric, basis from catalog.coverage").fetchall()
    bases = {
        name for (name,) in warehouse.sql("select basis from catalog.coverage_bases").fetchall()
    }

    assert len(set(rows)) == len(rows)
    assert {metric for metric, _ in rows} == set(CATALOGUE)
    assert {basis for _, basis in rows} == bases


def test_intervals_are_filled_from_the_counts(model):
    model.con.execute(
        """
        insert into metrics.success (metric, scope, numerator, denominator, cluster)
        values
            ('job_success', 'fleet', 98, 100, 'c'),
            ('job_success', 'team', 0, 0, 'c'),
            ('job_success_gpu_hours', 'fleet', 98, 100, 'c')
        """
    )
    model.con.execute(
        """
        insert into metrics.time_between_failures
            (metric, scope, numerator, denominator, cluster)
        values
            ('mtbf_hours', 'fleet', 1000, 3, 'c'),
            ('mtbf_hours', 'pool', 168, 0, 'c'),
            ('mtbf_hours', 'fleet', 0, 0, 'd'),
            ('failures_per_1000_node_days', 'fleet', 3, 1000, 'c'),
            ('failures_per_1000_node_days', 'pool', 0, 168, 'c')
        """
    )

    fill_intervals(model.con)

    # The standard's 5.1 and 5.3, to the digits that it prints.
    rows = model.con.sql(
        """
        select metric, scope, cluster, round(low, 4), round(high, 4)
        from (select * from metrics.success union all select * from metrics.time_between_failures)
        order by all
        """
    ).fetchall()
    expected = [
        ("failures_per_1000_node_days", "fleet", "c", 0.0006, 0.0088),
        ("failures_per_1000_node_days", "pool", "c", 0.0, 0.0178),
        ("job_success", "fleet", "c", 0.9296, 0.9976),
        ("job_success", "team", "c", None, None),
        ("job_success_gpu_hours", "fleet", "c", None, None),
        ("mtbf_hours", "fleet", "c", 114.0606, 1616.3651),
        ("mtbf_hours", "fleet", "d", None, None),
        ("mtbf_hours", "pool", "c", 56.0798, None),
    ]
    assert rows == expected


def test_every_kind_of_interval_is_in_use():
    kinds = {"successes", "events-per-exposure", "exposure-per-event", "rate-ratio"}

    assert set(interval_kinds().values()) == kinds


def test_clustered_failures_have_wider_intervals(model):
    model.con.execute(
        """
        insert into metrics.time_between_failures
            (metric, scope, numerator, denominator, cluster)
        values
            ('mtbf_hours', 'fleet', 1000, 20, 'even'),
            ('mtbf_hours', 'fleet', 1000, 20, 'clustered'),
            ('mttf_hours', 'fleet', 1000, 20, 'clustered')
        """
    )
    model.con.execute(
        """
        insert into metrics.projection (metric, scope, value, cluster)
        values
            ('failure_dispersion', 'fleet', 1.4, 'even'),
            ('failure_dispersion', 'fleet', 3, 'clustered')
        """
    )

    fill_intervals(model.con)

    rows = model.con.sql(
        "select metric, cluster, low, high from metrics.time_between_failures order by all"
    ).fetchall()
    # A Poisson count of 20 is 12.22 to 30.89, one of dispersion 3 is 7.875 to 39.31.
    wide, narrow = (1000 / 39.314390, 1000 / 7.875263), (1000 / 30.888378, 1000 / 12.216520)
    assert [(row[:2], pytest.approx(row[2:], rel=1e-6)) for row in rows] == [
        (("mtbf_hours", "clustered"), wide),
        (("mtbf_hours", "even"), narrow),
        (("mttf_hours", "clustered"), narrow),
    ]


def test_what_widens_an_interval_is_a_metric():
    assert {entry["dispersion"] for entry in CATALOGUE.values() if "dispersion" in entry} <= set(
        CATALOGUE
    )
