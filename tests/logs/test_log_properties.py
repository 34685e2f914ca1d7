"""Whatever a log holds: it is read without an error, and the same however it is cut into blocks."""

import io

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goodput.logs import LogHints, read_log, reading
from goodput.logs.formats import load_formats
from goodput.sources.checked import check_rows
from goodput.warehouse.connection import connect

EXAMPLES = sorted({e["line"] for f in load_formats() for p in f.patterns for e in p.examples})
NUMBERS = st.sampled_from(
    ["0", "1", "2", "7", "10", "99", "1e9", "9" * 30, "inf", "nan", "-1", "1:2:3"]
)
TIMES = st.sampled_from(
    ["", "2026-01-05T00:00:0{}Z ", "[2026-01-05 00:00:0{},5] ", "2026-99-99 99:99:9{} ", "9{}: "]
)


@st.composite
def lines(draw):
    """Lines of all formats with their numbers replaced, in any order, some of them damaged."""
    text = draw(st.sampled_from(EXAMPLES))
    number = draw(NUMBERS)
    text = "".join(number if c.isdigit() and draw(st.integers(0, 20)) == 0 else c for c in text)
    return draw(TIMES).format(draw(st.integers(0, 9))) + text[: draw(st.integers(0, len(text)))]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(lines(), max_size=12), st.sampled_from(["\n", "\r\n", "\r", "\x00\n"]))
def test_hostile_lines_give_rows_that_fit_the_contract(some, end):
    result = read_log(io.BytesIO(end.join(some).encode()), LogHints(path="x.log"))
    with connect() as con:
        for table, rows in {**result.tables, "quarantine": result.quarantine}.items():
            if rows:
                assert check_rows(con, table, rows) == []
    for step in result.steps:
        assert step.first <= step.last
        assert step.start_ms is None or step.start_ms <= step.end_ms


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read(data):
    result = read_log(io.BytesIO(b"x" + data))
    assert result.tables["log_files"][0]["bytes"] == len(data) + 1


@pytest.mark.parametrize("size", [64, 333, 4096])
def test_the_cut_into_blocks_changes_nothing(size, monkeypatch):
    text = "[before the start of training step] datetime: 2026-01-05 00:00:00\n"
    for n in range(1, 60):
        text += f"[2026-01-05 00:{n:02d}:00,000] [INFO] [logging.py:96] time (ms) | step: 1.5\n"
        text += f" iteration {n}/ 99 | elapsed time per iteration (ms): 60000.0 | lm loss: 1 |\n"
        if n % 9 == 0:
            text += f"saving checkpoint at iteration {n} to /c\nValueError: in rank {n}\n"

    def tables():
        return read_log(io.BytesIO(text.encode()), LogHints(path="x.log")).tables

    whole = tables()
    monkeypatch.setattr(reading, "BLOCK_BYTES", size)
    assert tables() == whole
    assert len(whole["log_steps"]) == 59
    assert {row["basis"] for row in whole["log_steps"]} == {"above"}
