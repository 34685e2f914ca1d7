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
    settings, *sections = [textwrap.dedent(s) for s in example.strip().split("\n\n")]
    tables = dict(section.split("\n", 1) for section in sections)
    answers = [name for name in tables if name.startswith(("ledger", "views."))]
    expected = {name: tables.pop(name) for name in answers}
    bench.settings(settings)
    for name, table in tables.items():
        bench.given(name, table)

    assert bench.ledger() == bench.parse_expected(expected.pop("ledger"))
    assert bench.broken_checks() == []
    for name, table in expected.items():
        model.expect(name, table)


def test_page_sums_by_hand():
    """The page's figures of the first two examples add up to 2 × 600 and 1 × 720 GPU-seconds."""
    sums = [
        sum(
            Fraction(line.split()[-1])
            for line in block.split("gpu_seconds\n")[1].split("\n\n")[0].splitlines()
        )
        for block in re.findall(r"```goodput\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    ]
    assert sums[:2] == [1200, 720]
