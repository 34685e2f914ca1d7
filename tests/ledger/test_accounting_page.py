"""Every worked example of docs/accounting.md, fed through the real models."""

import re
import textwrap
from fractions import Fraction
from pathlib import Path

import pytest
from ledger_rows import LedgerBench

PAGE = Path(__file__).resolve().parents[2] / "docs" / "accounting.md"


def examples():
    """The `goodput` blocks of the page, named by the heading above each."""
    heading = ""
    for part in re.split(r"^(#+ .*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE):
        if part.startswith("#"):
            heading = part.strip("# ").lower()
        for number, block in enumerate(re.findall(r"```goodput\n(.*?)```", part, re.DOTALL)):
            yield pytest.param(block, id=f"{heading} {number}")


@pytest.mark.parametrize("example", list(examples()))
def test_example(model, example):
    """The ledger of the tables is the one the page shows, and all checks hold."""
    bench = LedgerBench(model)
    expected = {}
    settings, *sections = [textwrap.dedent(s) for s in example.strip().split("\n\n")]
    words = dict(line.split(maxsplit=1) for line in settings.splitlines())
    start, end = words["window"].split()
    for section in sections:
        name, _, table = section.partition("\n")
        if name == "ledger":
            expected = bench.parse_expected(table)
        else:
            bench.given(name, table)
    model.window(start, end, words.get("as_of"))

    assert bench.ledger() == expected
    assert bench.broken_checks() == []


def test_every_example_sums_to_what_was_paid():
    """The page's own figures add up: nodes and commitments are all it takes to check them."""
    sums = [
        sum(Fraction(line.split()[-1]) for line in block.split("gpu_seconds\n")[1].splitlines())
        for block in re.findall(r"```goodput\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    ]
    assert sums[:2] == [1200, 720]
