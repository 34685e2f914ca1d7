"""Rows of steps come into the lake as columns, and are there what they are one by one."""

import io
from contextlib import closing
from datetime import UTC, datetime

import pytest

from goodput.lake import Lake
from goodput.logs import LogHints, read_log
from goodput.sources.publisher import Publisher

NOW = datetime(2026, 1, 6, tzinfo=UTC)
LOG = """\
2026-01-05T00:00:00.250Z start
 iteration 1/ 9 | elapsed time per iteration (ms): 1500.0
 [2026-01-05 00:00:11] iteration 2/ 9 | consumed samples: 64 | elapsed time per iteration (ms): 9.5
 [2026-01-05 00:00:14] iteration 4/ 9 | elapsed time per iteration (ms): 800.0
"""


def _step_rows():
    return read_log(io.BytesIO(LOG.encode()), LogHints(path="x.log")).tables["log_steps"]


def _published(folder, rows):
    lake = Lake.open(folder, create=True)
    publisher = Publisher(lake, "test", lambda: NOW, cluster="default")
    with closing(publisher):
        publisher.take({"log_steps": rows}, "x.log")
        publisher.flush()
    return [
        lake.ask(table, f"select * exclude (run_id) from raw.{table} order by all")
        for table in ("log_steps", "quarantine")
    ]


def test_rows_and_columns_are_the_same_in_the_lake(tmp_path):
    rows = _step_rows()
    steps, quarantine = _published(tmp_path / "columns", rows)
    assert (len(steps), quarantine) == (3, [])
    assert _published(tmp_path / "rows", list(rows)) == [steps, quarantine]


class _Spoilt:
    def __init__(self, rows):
        self._rows = rows

    def columns(self):
        columns = self._rows.columns()
        columns["last"] = columns["last"].copy()
        columns["last"][1] = 0
        return columns

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, place):
        return self._rows[place] | {"last": 0}


def test_a_row_that_breaks_a_rule_is_refused_and_the_others_are_taken(tmp_path):
    steps, [refused] = _published(tmp_path, _Spoilt(_step_rows()))
    assert [row["last"] for row in steps] == [1, 4]
    names = ("file", "table_name", "column_name", "value", "reason")
    assert [refused[name] for name in names] == [
        "x.log",
        "log_steps",
        "last",
        "0",
        "breaks the order: last is below first",
    ]


def test_rows_are_a_sequence():
    rows = _step_rows()
    assert [rows[0], *rows[1:]] == list(rows)
    assert rows[-1] == rows[2]
    assert rows == list(rows)
    with pytest.raises(IndexError):
        rows[3]
