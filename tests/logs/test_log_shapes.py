"""Lines that differ only in digits are read together, and say what they say one by one."""

import io
import random
import re
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goodput.logs import LogHints, plans, read_log, scan, summarise
from goodput.logs.formats import load_formats
from goodput.logs.regex import Regex
from goodput.logs.signatures import load_signatures
from goodput.logs.step_lines import digest, digests

STEPS = [
    example["line"]
    for log_format in load_formats()
    for pattern in log_format.patterns
    if pattern.event == "step"
    for example in pattern.examples
]
ERRORS = [signature.example for signature in load_signatures().signatures]
WRAPPINGS = (
    "{}",
    "[default3]:{}",
    "2026-03-02T{clock}.123456789Z stdout F 7: {}",
    "[2026-03-02 {clock},441] \x1b[32m{}\x1b[0m",
    "2026-03-02 {clock}+02:00 {}",
    "Mon Mar  2 {clock} UTC 2026 {}",
    "I0302 {clock}.123456 139 a.py:150] {}",
    '{{"log":"{}\\\\n","stream":"stdout","time":"2026-03-02T{clock}.123456789Z"}}',
    '{{"time": "2026-03-02T{clock}.123Z", "level": 3, "msg": "[rank2]: {}"}}',
    '[rank5]: {{"message":"{}"}}',
    '[rank5]: {{"ts":"2026-03-02T{clock}Z","k3":"a","msg":"{}"}}',
)
# Dates and clocks stay as they are: others may be none.
_DIGIT = re.compile(r"\S*\d[:-]\d\S*|\d")


def _read(text, **hints):
    result = read_log(io.BytesIO(text.encode()), LogHints(path="x.log", **hints))
    tables = {name: list(rows) for name, rows in result.tables.items()}
    return tables, result.quarantine, result.step_lines, result.records


def _one_by_one(monkeypatch):
    monkeypatch.setattr(plans, "_LONG_LINE", 0)


@pytest.mark.parametrize(
    ("pattern", "alike"),
    [
        (r"step: (\d+) loss: [-\d.naif]+", True),
        (r"step: [^\d]+[0-9a-f]+\b|\w", True),
        ("rank 0 step", False),
        ("exit code: [1-9]", False),
        ("(?:a|b(?:x7)?)+", False),
        (r"[^3]\d{4}", False),
    ],
)
def test_what_treats_digits_alike(pattern, alike):
    assert Regex(pattern).treats_digits_alike is alike


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("tz", [None, "Europe/Berlin"])
def test_step_lines_read_together_say_what_they_say_one_by_one(monkeypatch, wrapping, tz):
    rng = random.Random(f"{wrapping}{tz}")

    def varied(found):
        keeps = len(found[0]) > 1 or rng.random() < 0.7
        return found[0] if keeps else rng.choice("0123456789")

    text = "\n".join(
        wrapping.format(_DIGIT.sub(varied, step), clock=f"10:{i // 6 % 60:02}:{i * 10 % 60:02}")
        for i, step in enumerate(step for step in STEPS for _ in range(12))
    )
    together = _read(text, tz=tz)
    assert together[2].total() >= len(STEPS)
    _one_by_one(monkeypatch)
    assert _read(text, tz=tz) == together


def test_lines_are_read_together_in_parts(monkeypatch):
    text = "".join(
        f"[2026-03-02 10:{i // 60:02}:{i % 60:02}] step: {i} loss: 1.{i}\n"
        + "global rank 3 says hello\n" * (i % 3)
        + f"completed step: {i}, seconds: 0.{i}\n"
        for i in range(1, 300)
    )
    whole = _read(text)
    monkeypatch.setattr(scan, "_WAITING_LINES", 7)
    assert _read(text) == whole
    _one_by_one(monkeypatch)
    assert _read(text) == whole


def test_of_a_shape_those_lines_have_no_time_whose_time_is_none():
    times = ("10:00:00", "10:00:10", "25:00:20", "10:00:30")
    text = "".join(
        f"2026-03-02 {time} completed step: {step}, seconds: 10.0\n"
        for step, time in enumerate(times, 1)
    )
    rows = _read(text)[0]["log_steps"]
    assert [(row["last"], row["basis"]) for row in rows] == [
        (1, "line"),
        (2, "line"),
        (3, "elapsed"),
        (4, "line"),
    ]
    assert [f"{row['ended_at']:%S}" for row in rows] == ["00", "10", "20", "30"]


def test_in_the_hour_that_comes_twice_lines_of_a_shape_go_on_in_time(monkeypatch):
    clocks = ("02:20:00", "02:50:00", "02:10:00", "02:40:00", "03:10:00")
    text = "".join(
        f"2026-10-25 {clock} completed step: {step}, seconds: 1800.0\n"
        for step, clock in enumerate(clocks, 1)
    )
    rows = _read(text, tz="Europe/Berlin")[0]["log_steps"]
    ended = [f"{row['ended_at']:%H:%M}" for row in rows]
    assert ended == ["00:20", "00:50", "01:10", "01:40", "02:10"]
    _one_by_one(monkeypatch)
    assert _read(text, tz="Europe/Berlin")[0]["log_steps"] == rows


def test_where_each_line_has_a_shape_of_its_own_lines_are_read_one_by_one():
    lines = (
        f"completed step: {i}, seconds: 1.0, note: {'x' * (i % 900)}\n" for i in range(1, 3000)
    )
    summary = summarise(io.BytesIO("".join(lines).encode()), LogHints(path="x.log"))
    assert (summary.step_count, summary.last_step) == (2999, 2999)


def test_a_line_of_digits_that_mean_something_is_not_taken_for_its_like(monkeypatch):
    codes = ("111", "112", "137", "113", "134")
    text = "".join(f"2026-03-02 10:00:00 worker exit code {code}: job\n" for code in codes)
    together = _read(text)
    assert len(together[0]["log_evidence"]) == 2
    _one_by_one(monkeypatch)
    assert _read(text) == together


def test_of_many_lines_of_one_length_those_with_digits_that_mean_something_are_told_apart(
    monkeypatch,
):
    text = "".join(
        f"2026-03-02 10:00:{i % 60:02} launcher: Rank 2 crashed with exit code -{i % 10}.\n"
        for i in range(200)
    )
    together = _read(text)
    _one_by_one(monkeypatch)
    alone = _read(text)
    assert alone == together
    assert len({row["signature"] for row in alone[0]["log_evidence"]}) > 1


def test_of_one_length_more_kinds_than_are_told_together_are_read(monkeypatch):
    names = "abcdefghijklmnop"
    text = "".join(
        f"2026-03-02 10:{i // 60:02}:{i % 60:02} {names[i % 16]}] step: {1000 + i} loss: 1.0\n"
        for i in range(800)
    )
    together = _read(text)
    assert [row["last"] for row in together[0]["log_steps"]] == list(range(1000, 1800))
    _one_by_one(monkeypatch)
    assert _read(text) == together


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(STEPS + ERRORS), min_size=1, max_size=4),
    st.integers(1, 60),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.randoms(use_true_random=False),
)
def test_any_mixture_of_lines_says_together_what_it_says_one_by_one(some, count, end, rng):
    def line(number):
        digits = _DIGIT.sub(
            lambda found: found[0] if len(found[0]) > 1 else rng.choice("0123456789"),
            rng.choice(some),
        )
        return f"2026-03-02 10:{number // 60:02}:{number % 60:02} {digits}{end}"

    text = "".join(map(line, range(count)))
    with patch.object(plans, "_FEW_LINES", 2):
        together = _read(text)
    with patch.object(plans, "_LONG_LINE", 0):
        assert _read(text) == together


def test_the_digests_of_many_texts_are_those_of_each_alone():
    texts = [
        b"step: 1",
        b"step: 2",
        b"step: 1 ",
        b"step: 1\0",
        b"",
        b"s",
        b"s\0",
        b"12345678",
        b"123456781",
    ]
    assert len(set(map(digest, texts))) == len(texts)
    for text in (*texts, *map(str.encode, STEPS), b"x" * 100_000):
        some = np.frombuffer(text * 3, np.uint8).reshape(3, -1)
        assert digests(some).tolist() == [digest(text)] * 3
