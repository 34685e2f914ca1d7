from datetime import UTC, datetime, timedelta

import duckdb
import polars as pl
import pytest

from goodput.lake import Lake
from goodput.warehouse.build import build
from goodput.window import Window

START = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path):
    return Lake.open(tmp_path / "lake", create=True)


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory):
    """What a build makes of a lake that holds nothing: every table, without rows."""
    lake = Lake.open(tmp_path_factory.mktemp("empty") / "lake", create=True)
    end = START + timedelta(days=1)
    return build(lake, Window(START, end), end).database


@pytest.fixture(scope="session")
def step_rows():
    """Makes step records of a job; the n-th ends n hours after the start of 2026-03-02."""

    def make(numbers, job="A"):
        return pl.DataFrame(
            {
                "job": [job for _ in numbers],
                "attempt": [1 for _ in numbers],
                "step": list(numbers),
                "end": [datetime.fromtimestamp(START.timestamp() + n * 3600, UTC) for n in numbers],
            }
        )

    return make


@pytest.fixture(scope="session")
def steps_in():
    """The steps that a reader of the lake sees, as often as it sees them."""

    def read(lake):
        files = lake.files("steps")
        if not files:
            return []
        with duckdb.connect() as con:
            rows = con.execute("select step from read_parquet(?) order by all", [files])
            return [step for (step,) in rows.fetchall()]

    return read
