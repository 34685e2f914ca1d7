"""The geometry of the fleet timeline."""

import pytest

from goodput.report.timeline import duration, make_timeline, runs, ticks


def test_runs_leave_out_what_was_not_paid():
    assert list(runs("..ppx.p")) == [("p", 2, 2), ("x", 4, 1), ("p", 6, 1)]


@pytest.mark.parametrize(
    ("ms", "text"),
    [(900_000, "15 minutes"), (44_742_858, "12.4 hours"), (4465, "4.5 seconds")],
)
def test_step_in_words(ms, text):
    assert duration(ms) == text


def test_ticks_stand_on_round_times():
    week = {"start": "2026-11-23T00:00:00.000Z", "hours": 168.0}
    places = list(ticks(week, 168 * 3_600_000))
    assert len(places) == 7
    assert places[1] == (pytest.approx(100 / 7), "2026-11-24T00:00:00+00:00")


def test_a_path_for_each_state_that_occurs():
    groups = [{"code": "p", "label": "Productive"}, {"code": "x", "label": "Out"}]
    row = {"bucket_ms": 60_000, "cells": "ppp."}
    timeline = make_timeline(
        {
            "state_groups": groups,
            "window": {"start": "2026-11-23T00:00:00Z", "hours": 4 / 60},
        },
        [row, row | {"cells": "xx.p"}],
        row_height=16,
        bar_height=13,
    )
    assert (timeline["width"], timeline["height"]) == (4, 29)
    assert [(path["group"]["code"], path["d"]) for path in timeline["paths"]] == [
        ("p", "M0 0h3v13h-3zM3 16h1v13h-1z"),
        ("x", "M0 16h2v13h-2z"),
    ]
