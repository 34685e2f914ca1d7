"""Rows on their way from a table of the session into the lake."""

from datetime import UTC, datetime

import pytest

from goodput.errors import GoodputError
from goodput.lake import Lake
from goodput.rows import arrive, let_go, write_day
from goodput.warehouse.connection import connect

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
WAITING = (
    "create temp table waiting as select 'c' as cluster, 'v1' as api_version, 'Pod' as kind,"
    " 'p' || i as name, timestamptz '2026-03-02 11:00:00.0005Z' as observed_at,"
    " false as is_deleted, repeat('x', 1000) || i as body from range(5000) as t(i)"
)


@pytest.fixture
def con():
    with connect() as con:
        con.execute(WAITING)
        yield con


def held(con):
    [(held,)] = con.execute("select sum(memory_usage_bytes) from duckdb_memory()").fetchall()
    return held


def come(con):
    return arrive(
        con, "kube_objects", "waiting", ingested_from="a test", ingested_at=NOON, run_id="r"
    )


def test_rows_of_the_session_are_not_held_twice(con):
    before = held(con)
    assert come(con) == 5000
    assert before > 5_000_000
    assert held(con) - before < before / 4
    let_go(con)
    assert held(con) == before


def test_what_arrives_is_in_the_form_of_the_contract_and_what_waits_stays_as_it_is(con):
    given = con.sql("from waiting").fetchall()
    come(con)
    select = "name, observed_at, ingested_at, ingested_from, run_id, uid"
    assert con.execute(f"select {select} from arriving order by rowid limit 1").fetchall() == [
        ("p0", datetime(2026, 3, 2, 11, tzinfo=UTC), NOON, "a test", "r", None)
    ]
    assert con.sql("from waiting").fetchall() == given


def test_a_table_comes_in_again_after_a_publish_that_failed(con, tmp_path, monkeypatch):
    lake = Lake.open(str(tmp_path / "lake"), create=True)
    con.execute("insert into waiting from waiting limit 10")

    def publish():
        return lake.publish(
            {"kube_objects": "waiting"}, ingested_from="a test", ingested_at=NOON, con=con
        )

    def fail(*_):
        raise GoodputError("the place is full")

    with monkeypatch.context() as patch:
        patch.setattr(lake, "_put", fail)
        with pytest.raises(GoodputError, match="full"):
            publish()
    assert publish().rows_added == {"kube_objects": 5000}
    assert publish().rows_added == {"kube_objects": 0}


def test_rows_that_cannot_be_written_say_where_and_what_to_check(con, tmp_path):
    come(con)
    with pytest.raises(GoodputError, match=r"not there/rows\.parquet.*; check the space left"):
        write_day(con, "kube_objects", "2026-03-02", "none", tmp_path / "not there/rows.parquet")
