"""docs/collector-facts.md: each fact has tests, and they exist."""

import re

import pytest
from fenced import ROOT

PAGE = (ROOT / "docs" / "collector-facts.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith(("| what happens", "| reported"))
]
TESTS = {
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
}


def test_every_test_that_is_named_exists():
    assert sorted(set(re.findall(r"`(test_\w+)`", PAGE)) - TESTS) == []


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:60] for row in ROWS])
def test_every_fact_has_a_test_or_says_why_it_has_none(row):
    assert re.match(r"`test_\w+`|none: \w", row[-1])


def test_every_report_stands_there_once():
    reported = [row[0] for row in ROWS if len(row) == 3]
    numbers = re.findall(r"#\d+|pull \d+", " ".join(reported))
    assert len(numbers) == 76
