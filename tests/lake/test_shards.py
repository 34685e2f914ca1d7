"""A large model is made a range of attempts at a time, as if it had been made at once."""

from datetime import UTC, datetime, timedelta

import duckdb
import polars as pl
import pytest

from goodput.errors import GoodputError
from goodput.lake import Lake
from goodput.warehouse import shards
from goodput.warehouse.build import build
from goodput.warehouse.models import find_models, parse_model
from goodput.window import Window

START = datetime(2026, 3, 2, tzinfo=UTC)
WINDOW = Window(START, START + timedelta(hours=5))
JOBS = "ABCD"
MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Four jobs that take turns on one node: each fails once, resumes below, and is slow."""
    lake = Lake.open(tmp_path_factory.mktemp("shards") / "lake", create=True)
    attempts = [(job, attempt) for job in JOBS for attempt in (1, 2)]
    starts = {key: START + place * 30 * MINUTE for place, key in enumerate(attempts)}
    ends = {key: start + 28 * MINUTE for key, start in starts.items()}
    steps = [
        {
            "job": job,
            "attempt": attempt,
            "step": 4 * (attempt - 1) + place,
            "start": start + (2 * place - 1) * attempt * MINUTE,
            "end": start + (2 * place + 1) * attempt * MINUTE,
        }
        for (job, attempt), start in starts.items()
        for place in range(1, 7)
    ]
    rows = {
        "nodes": [{"node_uid": "n", "pool": "p", "gpus": 1, "registered_at": START}],
        "jobs": [{"job": job, "state": "succeeded"} for job in JOBS],
        "attempts": [
            {
                "job": job,
                "attempt": attempt,
                "start": starts[job, attempt],
                "end": ends[job, attempt],
                "outcome": "failed" if attempt == 1 else "succeeded",
                "resume_step": 4 if attempt == 2 else None,
            }
            for job, attempt in attempts
        ],
        "pods": [
            {
                "pod_uid": f"{job}{attempt}",
                "job": job,
                "attempt": attempt,
                "node_uid": "n",
                "gpus": 1,
                "bound_at": starts[job, attempt],
                "running_at": starts[job, attempt],
                "terminated_at": ends[job, attempt],
            }
            for job, attempt in attempts
        ],
        "steps": steps[::-1],
    }
    frames = {table: pl.DataFrame(given, infer_schema_length=None) for table, given in rows.items()}
    lake.publish(frames, ingested_from="test", ingested_at=None)
    return lake


@pytest.fixture
def build_in(lake, tmp_path, monkeypatch):
    """Builds in shards of so many rows; gives the tables made in shards, the ledger, and ranges."""
    ranges_of = shards._ranges

    def build_in(rows_per_shard):
        ranges = []

        def note(con, count):
            ranges.append(ranges_of(con, count))
            return ranges[-1]

        monkeypatch.setattr(shards, "_ROWS_PER_SHARD", rows_per_shard)
        monkeypatch.setattr(shards, "_ranges", note)
        built = build(lake, WINDOW, WINDOW.end, target=tmp_path / "built.duckdb")
        assert [check.name for check in built.checks if check.failed] == []
        names = [model.table for model in find_models() if "sharded by" in model.keys]
        with duckdb.connect(built.database, read_only=True) as con:
            tables = {
                name: con.execute(f"from {name}").fetchall() for name in (*names, "ledger.gpu_time")
            }
        return tables, ranges

    return build_in


def in_any_order(tables):
    return {name: sorted(rows, key=repr) for name, rows in tables.items()}


def test_several_shards_make_the_same_tables(build_in):
    whole, ranges = build_in(rows_per_shard=1000)
    assert ranges == []
    assert len(whole["intervals.step_records"]) == 48
    assert {"A.slow", "A.lost.recompute"} <= {row[8] for row in whole["ledger.gpu_time"]}

    parts, ranges = build_in(rows_per_shard=16)
    by_job = [(1, 2, "A", "A"), (3, 4, "B", "B"), (5, 6, "C", "C"), (7, 8, "D", "D")]
    assert ranges[0] == by_job
    assert parts["intervals.step_records"] == whole["intervals.step_records"]
    assert in_any_order(parts) == in_any_order(whole)


def test_more_shards_than_attempts_are_no_trouble(build_in):
    whole, _ = build_in(rows_per_shard=1000)
    parts, ranges = build_in(rows_per_shard=2)
    assert len(ranges[0]) == 8
    assert parts["intervals.step_records"] == whole["intervals.step_records"]
    assert in_any_order(parts) == in_any_order(whole)


@pytest.fixture
def made(tmp_path):
    """A table made in shards from a model with such a header; gives the compression by column."""

    def made(header):
        folder = tmp_path / "10_staged"
        folder.mkdir()
        path = folder / "100_steady.sql"
        path.write_text(
            f"-- Rows.\n--\n{header}\n\n"
            "select range % 7 as odd, range // 1000 as slow, range as step from range(5000)"
        )
        with duckdb.connect(tmp_path / "made.duckdb") as con:
            con.execute("create schema staged")
            shards.make_sharded(con, parse_model(path), 0)
            con.execute("checkpoint")
            rows = con.execute(
                "select distinct column_name, compression from pragma_storage_info('staged.steady')"
                " where segment_type <> 'VALIDITY'"
            ).fetchall()
        return dict(rows)

    return made


def test_columns_are_stored_as_duckdb_finds_best(made):
    assert made("-- day: none") == {"odd": "BitPacking", "slow": "RLE", "step": "BitPacking"}


def test_columns_are_stored_as_the_header_says_and_not_as_duckdb_would(made):
    header = "-- stored as runs: odd\n-- stored as numbers: slow"
    assert made(header) == {"odd": "RLE", "slow": "BitPacking", "step": "BitPacking"}


def test_a_header_cannot_name_a_column_that_is_not_there(made):
    with pytest.raises(GoodputError, match=r"the header of 100_steady\.sql names even"):
        made("-- stored as runs: odd, even")
