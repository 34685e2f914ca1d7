"""The examples in the other catalogue files that logs are read with."""

import tomllib
from contextlib import closing
from datetime import UTC, datetime

import pytest

from goodput._resources import catalog_dir
from goodput.lake import Lake
from goodput.logs.clock import LogClock, timestamp_shapes
from goodput.logs.lines import read_line
from goodput.logs.paths import facts_of_path, stem_of_path, stream_of_path
from goodput.logs.redact import redact, redactions
from goodput.logs.regex import Regex
from goodput.sources.publisher import Publisher


def _toml(name):
    return tomllib.loads((catalog_dir() / name).read_text(encoding="utf-8"))


SHAPES = _toml("log_lines.toml")["timestamp"]
TIMES = [pytest.param(e, id=f"{t['name']}-{i}") for t in SHAPES for i, e in enumerate(t["example"])]


@pytest.mark.parametrize("example", TIMES)
def test_times_are_read_as_their_examples_say(example):
    clock = LogClock(year=example.get("year"))
    stamp = clock.read(example["line"].encode())
    if "gives" not in example:
        assert stamp is None
        return
    expected = datetime.fromisoformat(example["gives"])
    assert clock.assumed_utc == (expected.tzinfo is None)
    assert stamp.ms == round(expected.replace(tzinfo=UTC).timestamp() * 1000)


def test_every_time_shape_has_an_example():
    assert len(timestamp_shapes()) == len([t for t in SHAPES if t["example"]])


@pytest.mark.parametrize("redaction", redactions(), ids=lambda r: r.label)
def test_secrets_are_taken_out(redaction):
    assert redaction.examples
    for example in redaction.examples:
        assert redact(example["line"]) == example["gives"]


PATHS = [e for p in _toml("log_paths.toml")["path"] for e in p["example"]]


@pytest.mark.parametrize("example", PATHS, ids=lambda e: e["path"])
def test_paths_say_who_wrote_the_log(example):
    assert facts_of_path(example["path"]) == example["gives"]


@pytest.mark.parametrize(
    ("path", "stream", "stem"),
    [
        ("a/train.log", "a/train.log", "train"),
        ("a/train.log.2.gz", "a/train.log", "train"),
        (
            "pods/n_p_6f1c2d3e-0000-4000-8000-000000000001/c/1.log.20260105-101112.gz",
            "pods/n_p_6f1c2d3e-0000-4000-8000-000000000001/c",
            "c",
        ),
        ("slurm-77.out", "slurm-77.out", "slurm-77"),
    ],
)
def test_parts_of_one_stream_share_a_name(path, stream, stem):
    assert (stream_of_path(path), stem_of_path(path)) == (stream, stem)


@pytest.mark.parametrize(
    ("raw", "body", "rank"),
    [
        ("plain", "plain", None),
        ("[rank3]: text", "text", 3),
        ("[default7]:text", "text", 7),
        ("  2: [default0]:text", "text", 0),
        ("2026-01-02T03:04:05.000000006Z stdout F [rank1]: text", "text", 1),
        ("[pod/train-0-abc/main] text", "text", None),
        ("(pretraining, pid=4112) text", "text", None),
        ("\x1b[36mstep: 1\x1b[39m", "step: 1", None),
        ("\x1b]8;id=1;file:///a\x1b\\link\x1b]8;;\x1b\\", "link", None),
        ("3/10 [00:01<00:02]", "3/10 [00:01<00:02]", None),
        ('{"log": "[rank3]: a\\tb\\n", "stream": "stderr", "time": "-"}', "a\tb", 3),
        ('[rank5]: {"msg": "text", "level": "INFO"}', "text", 5),
        ('{"msg": "x failed: Traceback (most recent call last)\\n  File\\nE: y\\n"}', "E: y", None),
        ('{"message": {"message": "text"}}', '{"message": {"message": "text"}}', None),
        (
            '{"event": "failed", "exception": "Traceback (most recent call last)\\n  File\\nE: y"}',
            "E: y (failed)",
            None,
        ),
        ('{"msg": "cut off', '{"msg": "cut off', None),
    ],
)
def test_what_wraps_a_line_is_taken_off(raw, body, rank):
    line = read_line(raw.encode())
    assert (line.body, line.rank) == (body.encode(), rank)


@pytest.mark.parametrize("redaction", redactions(), ids=lambda r: r.label)
def test_what_is_published_is_redacted_alike(redaction, tmp_path):
    lines = [example["line"] for example in redaction.examples]
    lake = Lake.open(tmp_path / "lake", create=True)
    with closing(Publisher(lake, "a test", lambda: None, cluster="c")) as publisher:
        numbers = list(range(len(lines)))
        publisher.take_columns("quarantine", {"row_number": numbers, "value": lines})
        publisher.flush()
    found = lake.ask("quarantine", "select value from raw.quarantine order by row_number")
    assert [row["value"] for row in found] == [redact(line) for line in lines]


def test_what_looks_like_an_error_is_told_by_its_examples():
    unknown = _toml("log_lines.toml")["unknown"]
    regex = Regex(unknown["regex"])
    assert [line for line in unknown["example"] if not regex.search(line.encode())] == []
    assert [line for line in unknown["not_example"] if regex.search(line.encode())] == []
