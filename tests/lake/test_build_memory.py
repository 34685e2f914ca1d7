"""What a build may hold in memory, and what it leaves on disk."""

import os
import time
from datetime import UTC, datetime, timedelta

import duckdb
import pytest

from goodput.errors import GoodputError, UsageError
from goodput.lake import Lake
from goodput.warehouse import build as builds
from goodput.window import Window

START = datetime(2026, 3, 2, tzinfo=UTC)
DAY = Window(START, START + timedelta(days=1))


@pytest.fixture
def lake(tmp_path):
    return Lake.open(str(tmp_path / "lake"), create=True)


def test_an_amount_of_memory_that_is_none_is_refused(lake, monkeypatch):
    monkeypatch.setenv("GOODPUT_MEMORY", "a lot")

    with pytest.raises(UsageError, match="GOODPUT_MEMORY takes an amount such as 4GB, not 'a lot'"):
        builds.build(lake, DAY, DAY.end)


def test_too_little_memory_names_the_setting(lake, monkeypatch):
    def run_out(*_):
        raise duckdb.OutOfMemoryException("failed to allocate")

    monkeypatch.setenv("GOODPUT_MEMORY", "300MB")
    monkeypatch.setattr(builds, "make_sharded", run_out)

    with pytest.raises(GoodputError, match="set GOODPUT_MEMORY to more than 300MB"):
        builds.build(lake, DAY, DAY.end)


def test_what_a_killed_build_spilled_is_swept_after_a_day(lake):
    spilled = lake.local_root / ".warehouse.duckdb.0123.tmp"
    fresh = lake.local_root / ".warehouse.duckdb.4567.tmp"
    for folder in (spilled, fresh):
        folder.mkdir()
        (folder / "duckdb_temp_block-0.block").write_bytes(b"x")
    yesterday = time.time() - 25 * 3600
    os.utime(spilled, (yesterday, yesterday))

    builds.build(lake, DAY, DAY.end)

    assert not spilled.exists()
    assert fresh.exists()
