"""The identity of a row is pinned: if one of these changes, every lake takes its rows in twice."""

import hashlib
from datetime import UTC, datetime

import duckdb
import polars as pl
import pytest

from goodput import contract
from goodput.contract import RawTable
from goodput.rows import arrive
from goodput.warehouse.connection import connect

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def ids(table, rows):
    with connect() as con:
        frame = pl.DataFrame(rows, infer_schema_length=None)
        arrive(con, table, frame, ingested_from="a test", ingested_at=None, run_id="a run")
        return [row_id for (row_id,) in con.execute("select row_id from arriving").fetchall()]


STEP = {"cluster": "c1", "job": "A", "attempt": 1, "step": 7, "end": NOON}
PINNED = [
    ("steps", STEP, "attempt=1|cluster=2:c1|end=1772452800000|job=1:A|step=7"),
    (
        "pods",
        {"pod_uid": "p", "gpus": 2, "devices": [0, 5], "exit_code": 1},
        "cluster=7:default|devices=[0,5]|exit_code=1|gpus=2|pod_uid=1:p",
    ),
    (
        "health_checks",
        {
            "node_uid": "n",
            "check": "dcgm",
            "required": True,
            "stale_after_s": 180.0,
            "beats": [{"from": NOON, "to": NOON, "every_s": 0.1}],
        },
        (
            "beats=[{every_s=0.1,from=1772452800000,to=1772452800000}]|check=4:dcgm|"
            "cluster=7:default|node_uid=1:n|required=true|stale_after_s=180.0"
        ),
    ),
    (
        "step_logs",
        {"job": "Ä", "attempt": 1, "tz": "UTC", "lines": ["a", "", None, "é\n"]},
        "attempt=1|cluster=7:default|job=1:Ä|lines=[1:a,0:,~,2:é\n]|tz=3:UTC",
    ),
]


@pytest.mark.parametrize(("table", "row", "text"), PINNED, ids=[table for table, _, _ in PINNED])
def test_a_row_has_the_id_it_always_had(table, row, text):
    digest = hashlib.sha256(text.replace("|", "\x1f").encode()).hexdigest()
    assert ids(table, [row]) == [digest[:24]]


def test_the_order_of_columns_does_not_matter():
    assert ids("steps", [dict(reversed(STEP.items()))]) == ids("steps", [STEP])


def test_a_missing_column_is_the_same_as_nulls():
    assert ids("steps", [{**STEP, "world": None, "start": None}]) == ids("steps", [STEP])


def test_a_column_that_the_contract_gains_later_moves_nothing(monkeypatch):
    before = ids("steps", [STEP])
    spec = contract.raw_table("steps")
    grown = RawTable(**{**vars(spec), "columns": {**spec.columns, "loss": duckdb.sqltypes.DOUBLE}})
    monkeypatch.setattr(contract, "_contract", lambda: {"steps": grown})

    assert ids("steps", [STEP]) == before
    assert ids("steps", [{**STEP, "loss": 1.5}]) != before


def test_where_a_row_was_read_is_no_part_of_what_it_says():
    seen = {**STEP, "ingested_from": "a file", "run_id": "r1", "row_id": "x"}
    assert ids("steps", [seen]) == ids("steps", [STEP])


def test_the_knowledge_time_that_a_row_brings_is_part_of_what_it_says():
    assert ids("steps", [{**STEP, "ingested_at": NOON}]) != ids("steps", [STEP])


def test_texts_cannot_imitate_the_borders_between_columns():
    forged = {"pod_uid": "p\x1fname=1:x"}
    assert ids("pods", [forged]) != ids("pods", [{"pod_uid": "p", "name": "x"}])
    assert ids("step_logs", [{"lines": ["a,1:b"]}]) != ids("step_logs", [{"lines": ["a", "b"]}])


def test_every_difference_makes_another_row():
    rows = [STEP, {**STEP, "job": "a"}, {**STEP, "step": 8}, {**STEP, "cluster": "c2"}]
    assert len(set(ids("steps", rows))) == 4
