"""How numbers, times and texts of the cluster are written."""

import shlex

import pytest

from goodput.report import words


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.744, 1, "74.4%"),
        (1.0, 2, "100.00%"),
        (0.99996, 2, "99.99%"),  # what is not whole is not written as whole
        (None, 1, "–"),
    ],
)
def test_percent(value, digits, text):
    assert words.percent(value, digits) == text


def test_a_small_share_is_not_nothing():
    assert words.share(0.0001) == "<0.1%"
    assert words.share(0.0) == "0.0%"


def test_period_names_a_date_once():
    assert words.span("2026-03-02T00:00:00Z", "2026-03-02T00:50:00Z") == "2 Mar 2026, 00:00–00:50"
    assert words.span("2026-03-02T00:00:00Z", "2026-03-09T00:00:00Z") == "2 Mar 2026 – 9 Mar 2026"
    assert (
        words.span("2026-03-02T06:00:00Z", "2026-03-03T07:00:00Z")
        == "2 Mar 2026 06:00 – 3 Mar 2026 07:00"
    )


def test_a_window_is_told_from_one_instant_however_short_it_is():
    day = "2026-03-02T"
    assert words.span(f"{day}09:59:30Z", f"{day}10:00:00Z") == "2 Mar 2026, 09:59:30–10:00:00"
    assert (
        words.span(f"{day}09:59:59.999Z", f"{day}10:00:00Z")
        == "2 Mar 2026, 09:59:59.999–10:00:00.000"
    )
    assert (
        words.span(f"{day}23:59:59Z", "2026-03-03T00:00:00Z")
        == "2 Mar 2026 23:59:59 – 3 Mar 2026 00:00:00"
    )
    assert words.exact_instant(f"{day}09:59:59.999Z") == "2026-03-02 09:59:59.999 UTC"
    assert words.exact_instant(f"{day}09:59:00Z") == "2026-03-02 09:59 UTC"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0, "0.0"),
        (1234.56, "1,234.6"),
        (0.084, "0.1"),
        (0.01, "0.01"),
        (0.0042, "0.004"),
        (1e-9, "<0.001"),
    ],
)
def test_an_amount_that_is_something_is_not_nothing(value, text):
    assert words.amount(value) == text


def test_control_characters_show_and_long_names_end():
    assert words.clean("a\x00b\u202ec\n") == "a\\x00b\\x202ec\\x0a"
    assert words.clean("x" * 500) == "x" * 159 + "…"
    assert words.clean(None) == "–"


def test_commands_quote_what_the_cluster_says():
    name = "'; rm -rf ~ #$(id)"
    assert shlex.split(words.explain(name, 3)) == ["goodput", "explain", f"{name}/3"]
    sql = f"select 1 where x = {words.literal(name)}"
    assert shlex.split(words.query(sql)) == ["goodput", "query", sql]


def test_no_command_for_a_name_that_cannot_be_pasted():
    assert words.explain("a\nrm -rf ~") is None


def test_markdown_of_the_cluster_is_text():
    assert words.markdown("a|b<c>*d*") == "a\\|b\\<c\\>\\*d\\*"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 retries"), (1, "1 retry"), (2, "2 retries"), (1024, "1,024 retries")],
)
def test_a_number_agrees_with_its_noun(number, text):
    assert words.counted(number, "retry", "retries") == text
    assert words.counted(number, "node").removesuffix("s") == f"{number:,} node"
