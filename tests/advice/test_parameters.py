"""Every parameter takes what the catalogue says that it takes, and a build with it books all."""

import csv
from datetime import UTC, datetime
from importlib.resources import files

import pytest

from goodput.errors import UsageError
from goodput.lake import Lake
from goodput.warehouse.build import build
from goodput.window import Window

WINDOW = Window(datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 2, 12, tzinfo=UTC))
TYPES = {
    row["name"]: row["type"]
    for row in csv.DictReader(
        files("goodput").joinpath("catalog/parameters.csv").read_text().splitlines()
    )
}
NUMBERS = [name for name, kind in TYPES.items() if kind != "choice"]


@pytest.mark.parametrize("size", ["0", "2.5", "1000000000"])
def test_odd_numbers_are_no_error_of_a_build(small_lake, tmp_path, size):
    fitting = [n for n in NUMBERS if size.isdecimal() or TYPES[n] == "number"]
    target = tmp_path / "odd.duckdb"
    made = build(Lake.open(small_lake), WINDOW, params=dict.fromkeys(fitting, size), target=target)
    assert [check.name for check in made.checks if check.rows] == []


@pytest.mark.parametrize("name", [n for n in NUMBERS if TYPES[n] == "whole"])
def test_half_of_a_thing_that_is_counted_is_refused(small_lake, tmp_path, name):
    target = tmp_path / "odd.duckdb"
    with pytest.raises(UsageError, match=f"parameter {name} takes a whole number from 0 to "):
        build(Lake.open(small_lake), WINDOW, params={name: "2.5"}, target=target)


@pytest.mark.parametrize("name", ["warmup_rows", "hang_min_s"])
def test_a_parameter_without_a_value_is_refused(small_lake, tmp_path, name):
    target = tmp_path / "odd.duckdb"
    with pytest.raises(UsageError, match=f"parameter {name} takes a .*number from 0 to .*, not ''"):
        build(Lake.open(small_lake), WINDOW, params={name: ""}, target=target)
