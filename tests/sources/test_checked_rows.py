from datetime import UTC, datetime

import pytest

from goodput.sources.artefact import Problem
from goodput.sources.checked import CHECKED, check_rows
from goodput.warehouse.connection import connect

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def check():
    """Checks rows; gives the good ones and what is wrong with the others."""
    with connect() as con:

        def run(table, rows):
            problems = check_rows(con, table, rows)
            good = con.table(f'"{CHECKED}"')
            return [dict(zip(good.columns, row, strict=True)) for row in good.fetchall()], problems

        yield run


def test_good_rows_are_in_the_contracts_types(check):
    good, problems = check("pods", [{"cluster": "c", "pod_uid": "p", "devices": [1, 2]}])

    assert problems == []
    assert good == [{"cluster": "c", "pod_uid": "p", "devices": [1, 2]}]


def test_texts_arrive_as_they_are(check):
    """Also those that mean something to JSON, in which they travel."""
    texts = ["", "null", '"', "\\", "a\tb\nc\rd", "\0", "\x7f\x1f", "é", "\U0001f600", "\u2028"]

    good, problems = check("jobs", [{"cluster": "c", "job": text} for text in texts])

    assert problems == []
    assert [row["job"] for row in good] == texts


@pytest.mark.parametrize("count", [1, 3, 2_001])
def test_what_is_the_same_in_all_rows_arrives_in_all_of_them(check, count):
    row = {"cluster": "c", "job": "A", "attempt": 1, "start": NOON, "world": None}

    good, problems = check("attempts", [row] * count)

    assert problems == []
    assert good == [row] * count


def test_a_text_that_utf8_cannot_say_is_refused_and_the_others_go_on(check):
    good, problems = check(
        "jobs", [{"cluster": "c", "job": "A"}, {"cluster": "c", "job": "B", "team": "\ud800"}]
    )

    assert [row["job"] for row in good] == ["A"]
    assert problems == [Problem(1, "team", "\ud800", "is no VARCHAR")]


@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**63, 2**127, 10**60])
def test_a_number_beyond_its_column_is_refused(check, number):
    rows = [
        {"cluster": "c", "job": "A", "attempt": 1, "start": NOON, "world": world}
        for world in (1, number, 2**31 - 1)
    ]

    for some in (rows, rows[1:2]):
        good, problems = check("attempts", some)

        assert problems == [Problem(some.index(rows[1]), "world", str(number), "is no INTEGER")]
        assert good == [row for row in some if row is not rows[1]]


def test_rows_need_not_have_the_same_columns(check):
    good, problems = check(
        "jobs", [{"cluster": "c", "job": "A"}, {"cluster": "c", "job": "B", "ended_at": NOON}]
    )

    assert problems == []
    assert [row["ended_at"] for row in good] == [None, NOON]


def test_a_row_that_breaks_the_contract_is_refused_and_the_others_go_on(check):
    good, problems = check(
        "jobs",
        [
            {"cluster": "c", "job": "A", "state": "running"},
            {"cluster": "c", "state": "running"},
            {"cluster": "c", "job": "B", "state": "done"},
            {"cluster": "c", "job": "C", "ended_at": "noon"},
        ],
    )

    assert [row["job"] for row in good] == ["A"]
    assert problems == [
        Problem(3, "ended_at", "noon", "is no TIMESTAMP WITH TIME ZONE"),
        Problem(1, "job", None, "is required and missing"),
        Problem(2, "state", "done", "is none of running, succeeded, failed, cancelled"),
    ]


def test_a_number_too_large_for_its_column_is_refused(check):
    good, problems = check(
        "pods", [{"cluster": "c", "pod_uid": "p", "gpus": 2**40}, {"cluster": "c", "pod_uid": "q"}]
    )

    assert [row["pod_uid"] for row in good] == ["q"]
    assert problems == [Problem(0, "gpus", str(2**40), "is no INTEGER")]


def test_a_row_is_refused_once_for_each_reason(check):
    good, problems = check("attempts", [{"cluster": "c", "outcome": "lost"}])

    assert good == []
    assert [problem.column for problem in problems] == ["job"]
