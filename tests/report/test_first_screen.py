"""What stands beside a number of the first screen: that it is doubtful, and what changed."""

import copy
import re

import pytest

from goodput.report.render import render_html


@pytest.fixture
def said(report):
    """Takes rows of the result to change; gives the first screen."""

    def render(**sections):
        changed = copy.deepcopy(report) | sections
        return render_html(changed).partition('id="top"')[0].partition('class="first"')[2]

    return render


def quality(**row):
    return {
        "cluster": "lab",
        "metric": "job_success",
        "basis": "kubernetes",
        "observed": 84.0,
        "whole": 168.0,
        "unit": "hours",
        "coverage": 0.5,
        "bar": 0.95,
        "is_below": True,
        "reason": "the API was not looked at",
    } | row


def trend(**row):
    return {
        "metric": "job_success",
        "cluster": "lab",
        "kind": "share",
        "previous": 0.98,
        "current": 0.9,
        "previous_count": 100,
        "current_count": 100,
        "verdict": "none",
        "change": -0.08,
        "low": -0.14,
        "high": -0.02,
        "p_value": 0.03,
        "adjusted_p": 0.2,
        "detectable": 0.06,
    } | row


def test_a_doubtful_number_says_why_and_stays(said):
    page = said(data_quality=[quality()])

    assert "Doubtful: the API was not looked at (50.0% of 95% needed)" in page
    assert page.count("Doubtful") == 1
    assert "Doubtful" not in said(data_quality=[quality(is_below=False)])
    assert "Doubtful" not in said(data_quality=[quality(metric="mttr_hours")])


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (
            "none",
            "Week before 98.0%, −8.0 points: no detectable change (could have seen 6.0 points)",
        ),
        ("too_few", "Week before 98.0%: too few to compare"),
    ],
)
def test_what_chance_explains_is_no_change(said, verdict, words):
    change = None if verdict == "too_few" else -0.08
    page = said(trends=[trend(verdict=verdict, change=change)])

    assert words in page


@pytest.mark.parametrize(("verdict", "colour"), [("better", "met"), ("worse", "missed")])
def test_only_a_verdict_has_a_colour(said, verdict, colour):
    page = said(trends=[trend(verdict=verdict)])
    said_so = rf'98\.0%, −8\.0 points:\s*<span class="verdict verdict-{colour}">{verdict}</span>'

    assert re.search(said_so, page)


def test_without_a_week_before_nothing_is_said(said):
    assert "Week before" not in said()
