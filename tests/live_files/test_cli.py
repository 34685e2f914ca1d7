"""The two verbs on the command line: what they say, and how they end."""

import pytest
from click.testing import CliRunner
from collector_runs import put

from goodput.cli import main

STEP = "2026-03-02T00:00:10Z completed step: 1, seconds: 10.0\n"


@pytest.fixture
def collect(tmp_path_factory):
    lake = tmp_path_factory.mktemp("lake")

    def run(*words):
        result = CliRunner().invoke(main, ["--lake", str(lake), "collect", *map(str, words)])
        return result.exit_code, result.stdout, result.stderr.splitlines()

    return run


def test_logs(collect, tmp_path):
    log = put(tmp_path / "run7/rank-3.log", STEP, at=10)
    assert collect("logs", log, "--job", "J", "--attempt", "2", "--tz", "Europe/Berlin") == (
        0,
        "",
        [
            f"{log}: maxtext: 1 log_segments, 1 log_steps",
            "log_files: 1 new row",
            "log_lists: 1 new row",
            "log_reads: 1 new row",
            "log_segments: 1 new row",
            "log_steps: 1 new row",
            "1 file, 0 of them as they were",
        ],
    )
    assert collect("logs", log, "--job", "J", "--attempt", "2", "--tz", "Europe/Berlin") == (
        0,
        "",
        ["log_lists: 1 new row", "1 file, 1 of them as they were"],
    )


def test_checkpoints(collect, tmp_path):
    put(tmp_path / "checkpoint-100/trainer_state.json", "{}", at=10)
    put(tmp_path / "checkpoint-100/model.safetensors", "x" * 4000, at=10)
    assert collect("checkpoints", tmp_path, "--job", "J") == (
        0,
        "",
        [
            f"{tmp_path}: 1 checkpoint, 1 whole; 1 new or changed, 0 deleted",
            "checkpoint_files: 1 new row",
            "checkpoint_lists: 1 new row",
        ],
    )


@pytest.mark.parametrize("verb", ["logs", "checkpoints"])
def test_how_they_fail(collect, tmp_path, verb, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret")
    code, _, said = collect(verb, tmp_path / "none")
    sentence = f"there is no file or folder {tmp_path}/none; check the path"
    assert (code, said[0], said[-1]) == (4, sentence, f"error: {sentence}")
    assert collect(verb, tmp_path)[0] == 4
    code, _, said = collect(verb, "s4://bucket/prefix")
    assert code == 2
    code, _, said = collect(verb, "s3://bucket/x?endpoint_override=127.0.0.1:9&scheme=http")
    assert code == 5
    assert said[0].startswith("s3://bucket/x cannot be listed: ")


def test_an_unknown_zone_is_a_mistake_of_the_caller(collect, tmp_path):
    log = put(tmp_path / "rank-3.log", STEP, at=10)
    code, _, said = collect("logs", log, "--tz", "Nowhere")
    assert code == 2
    assert "Nowhere" in said[-1]


def test_a_folder_without_files_is_said_to_have_none(collect, tmp_path):
    empty, other = tmp_path / "empty", tmp_path / "other"
    (empty / "below").mkdir(parents=True)
    other.mkdir()
    lists = "log_lists: 1 new row"
    none = "0 files, 0 of them as they were"
    sentence = f"error: there is no file below {empty}; check the path"
    said = [f"{empty}: nothing is there", lists, none, sentence]
    assert collect("logs", empty) == (4, "", said)
    assert collect("logs", empty, other)[2][-1] == (
        f"error: there is no file below {empty}, {other}; check the path"
    )
    put(other / "rank-3.log", STEP, at=10)
    code, _, said = collect("logs", empty, other, "--job", "J")
    assert code == 0
    assert f"{empty}: nothing is there" in said
    assert f"{other}: nothing is there" not in said
