"""The collectors against a real S3 server: lists, patterns, growth, deletion, refusals."""

import gzip
from datetime import UTC, datetime, timedelta

import pytest
from collector_runs import DAY

from goodput.errors import NoData, SourceUnreachable


def _now():
    return (datetime.now(UTC) - DAY) / timedelta(seconds=1)


# Objects are written now, whatever the instants of the test; an hour later they are quiet.
BEGAN = _now()
LATER = BEGAN + 3600


def steps(first, last):
    return "".join(
        f"2026-03-02T00:{n * 10 // 60:02d}:{n * 10 % 60:02d}Z completed step: {n}, seconds: 10.0\n"
        for n in range(first, last + 1)
    ).encode()


def save(s3, path, **more):
    files = {"trainer_state.json": b"{}", "model.safetensors": b"x" * 4000, **more}
    for name, content in files.items():
        s3.put(f"{path}/{name}", content)


def test_checkpoints_are_listed_by_address_and_what_goes_is_deleted(runs, s3):
    save(s3, "models/llama/checkpoint-100")
    save(s3, "models/llama/checkpoint-200")
    s3.put("models/llama/checkpoint-300/trainer_state.json", b"{}")
    s3.put("models/other/checkpoint-999/trainer_state.json", b"{}")
    root = s3.url("models/llama")
    assert runs.checkpoints(root, at=LATER) == {"checkpoint_files": 3, "checkpoint_lists": 1}
    assert runs.checkpoints(root, at=LATER + 60) == {"checkpoint_lists": 1}
    s3.filesystem().delete_dir("models/llama/checkpoint-100")
    assert runs.checkpoints(root, at=LATER + 120) == {"checkpoint_files": 1, "checkpoint_lists": 1}
    columns = ("path", "root", "origin", "step", "files", "bytes", "is_complete", "deleted_at")
    at = "s3://models/llama"
    assert runs.rows("checkpoint_files", *columns) == [
        (f"{at}/checkpoint-100", at, at, 100, 2, 4002, True, None),
        (f"{at}/checkpoint-200", at, at, 200, 2, 4002, True, None),
        (f"{at}/checkpoint-300", at, at, 300, 1, 2, False, None),
        (f"{at}/checkpoint-100", at, at, 100, 2, 4002, True, pytest.approx(LATER + 120, abs=0.001)),
    ]
    [(written,)] = set(runs.rows("checkpoint_files", "last_written_at")[:1])
    assert BEGAN - 2 < written < _now() + 2


def test_logs_are_read_by_pattern_and_grow(runs, s3):
    s3.put("logs/train/run1/rank-0.log", steps(1, 2))
    s3.put("logs/train/run1/rank-1.log.gz", gzip.compress(steps(1, 2)))
    s3.put("logs/train/run1/notes.txt", b"nothing\n")
    s3.put("logs/train/.cache/rank-9.log", steps(1, 2))
    pattern = s3.url("logs/train/**/rank-*.log*")
    assert runs.logs(pattern, at=LATER) == {
        "log_files": 2,
        "log_segments": 2,
        "log_steps": 4,
        "log_reads": 2,
    }
    assert runs.logs(pattern, at=LATER + 60) == {}
    assert (runs.taken.files, runs.taken.unchanged) == (2, 2)
    s3.put("logs/train/run1/rank-0.log", steps(1, 3))
    assert runs.logs(pattern, at=LATER + 120)["log_steps"] == 1
    s3.filesystem().move("logs/train/run1/rank-0.log", "logs/train/run1/rank-0.log.1")
    assert runs.logs(pattern, at=LATER + 180) == {"log_files": 1, "log_reads": 1}
    assert runs.rows("log_files", "path", "lines") == [
        ("s3://logs/train/run1/rank-0.log", 2),
        ("s3://logs/train/run1/rank-1.log.gz", 2),
        ("s3://logs/train/run1/rank-0.log", 3),
        ("s3://logs/train/run1/rank-0.log.1", 3),
    ]


def test_a_file_of_the_store_may_be_named_itself(runs, s3):
    s3.put("logs/one/rank-0.log", steps(1, 2))
    assert runs.logs(s3.url("logs/one/rank-0.log"), at=LATER)["log_steps"] == 2


def test_a_line_of_a_young_object_that_is_not_whole_waits(runs, s3):
    s3.put("logs/young/rank-0.log", steps(1, 2)[:-5])
    assert runs.logs(s3.url("logs/young"), at=BEGAN)["log_steps"] == 1
    assert runs.logs(s3.url("logs/young"), at=LATER)["log_steps"] == 1


def test_what_is_not_there_and_what_is_refused(runs, s3):
    runs.checkpoints(s3.url("models/nothing"), at=LATER)
    [error] = runs.taken.errors
    assert (type(error), str(error)) == (
        NoData,
        "there is no file or folder s3://models/nothing; check the path",
    )
    wrong = s3.url("models/llama").replace("not-a-secret", "a-wrong-one")
    runs.logs(wrong, at=LATER)
    [error] = runs.taken.errors
    assert isinstance(error, SourceUnreachable)
    assert str(error).startswith("s3://models/llama cannot be listed: ")
    assert "a-wrong-one" not in str(error)


def test_keys_stay_out_of_the_lake_and_of_what_is_said(runs, s3):
    save(s3, "secret/llama/checkpoint-100")
    s3.put("secret/logs/rank-0.log", steps(1, 1))
    runs.checkpoints(s3.url("secret/llama"), at=LATER)
    runs.logs(s3.url("secret/logs"), at=LATER)
    for table in ("checkpoint_files", "checkpoint_lists", "log_files", "log_reads", "log_steps"):
        for column in ("ingested_from", "run_id"):
            assert "not-a-secret" not in str(runs.rows(table, column))
    assert "not-a-secret" not in "".join(runs.said)
