from datetime import UTC, datetime

import duckdb
import pytest

from goodput.sources.checked import checked_rows
from goodput.sources.rowfiles import Problem

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def check():
    with duckdb.connect() as con:
        yield lambda table, rows: checked_rows(con, table, rows)


def test_good_rows_become_a_frame_in_the_contracts_types(check):
    frame, problems = check("pods", [{"cluster": "c", "pod_uid": "p", "devices": [1, 2]}])

    assert problems == []
    assert frame.to_dicts() == [{"cluster": "c", "pod_uid": "p", "devices": [1, 2]}]


def test_rows_need_not_have_the_same_columns(check):
    frame, problems = check(
        "jobs", [{"cluster": "c", "job": "A"}, {"cluster": "c", "job": "B", "ended_at": NOON}]
    )

    assert problems == []
    assert frame["ended_at"].to_list() == [None, NOON]


def test_a_row_that_breaks_the_contract_is_refused_and_the_others_go_on(check):
    frame, problems = check(
        "jobs",
        [
            {"cluster": "c", "job": "A", "state": "running"},
            {"cluster": "c", "state": "running"},
            {"cluster": "c", "job": "B", "state": "done"},
            {"cluster": "c", "job": "C", "ended_at": "noon"},
        ],
    )

    assert frame["job"].to_list() == ["A"]
    rule = (
        "breaks the rule ((state IS NULL) OR (state IN ('running', 'succeeded', 'failed', "
        "'cancelled')))"
    )
    assert problems == [
        Problem(3, "ended_at", "noon", "is no Datetime(time_unit='ms', time_zone='UTC')"),
        Problem(1, "job", None, "is required and missing"),
        Problem(2, "state", "done", rule),
    ]


def test_a_number_too_large_for_its_column_is_refused(check):
    frame, problems = check(
        "pods", [{"cluster": "c", "pod_uid": "p", "gpus": 2**40}, {"cluster": "c", "pod_uid": "q"}]
    )

    assert frame["pod_uid"].to_list() == ["q"]
    assert problems == [Problem(0, "gpus", str(2**40), "is no Int32")]


def test_a_row_is_refused_once_for_each_reason(check):
    frame, problems = check("attempts", [{"cluster": "c", "outcome": "lost"}])

    assert frame.height == 0
    assert [problem.column for problem in problems] == ["job"]
