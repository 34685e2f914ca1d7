"""Whole logs of many frameworks: how they ended, why, and which line says so."""

import io
import tomllib
from pathlib import Path

import pytest

from goodput.logs import LogHints
from goodput.logs.classify import classify_log

LOGS = tomllib.loads(Path(__file__).with_name("told.toml").read_text(encoding="utf-8"))["log"]


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log["name"])
def test_a_log_is_judged_as_a_reader_would(log):
    last = classify_log(io.BytesIO(log["text"].encode()), LogHints(path="train.log")).last
    root = None if last.root is None else last.root.evidence.signature.id
    expected = (log["outcome"], log.get("class"), log.get("root"))
    assert (last.outcome, last.failure_class, root) == expected
