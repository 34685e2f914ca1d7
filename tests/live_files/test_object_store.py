"""The collectors against object stores of each kind: lists, patterns, growth, refusals."""

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


def save(bucket, path, **more):
    files = {"trainer_state.json": b"{}", "model.safetensors": b"x" * 4000, **more}
    for name, content in files.items():
        bucket.put(f"{path}/{name}", content)


@pytest.fixture
def name(bucket):
    """How rows name what is in the bucket."""
    return f"{bucket.scheme}://{bucket.name}"


def test_checkpoints_are_listed_by_address_and_what_goes_is_deleted(runs, bucket, name):
    save(bucket, "llama/checkpoint-100")
    save(bucket, "llama/checkpoint-200")
    bucket.put("llama/checkpoint-300/trainer_state.json", b"{}")
    bucket.put("llama-2/checkpoint-999/trainer_state.json", b"{}")
    root = bucket.url("llama")
    assert runs.checkpoints(root, at=LATER) == {"checkpoint_files": 3, "checkpoint_lists": 1}
    assert runs.checkpoints(root, at=LATER + 60) == {"checkpoint_lists": 1}
    bucket.delete("llama/checkpoint-100")
    assert runs.checkpoints(root, at=LATER + 120) == {"checkpoint_files": 1, "checkpoint_lists": 1}
    columns = ("path", "root", "origin", "step", "files", "bytes", "is_complete", "deleted_at")
    at = f"{name}/llama"
    assert runs.rows("checkpoint_files", *columns) == [
        (f"{at}/checkpoint-100", at, at, 100, 2, 4002, True, None),
        (f"{at}/checkpoint-200", at, at, 200, 2, 4002, True, None),
        (f"{at}/checkpoint-300", at, at, 300, 1, 2, False, None),
        (f"{at}/checkpoint-100", at, at, 100, 2, 4002, True, pytest.approx(LATER + 120, abs=0.001)),
    ]
    [(written,)] = set(runs.rows("checkpoint_files", "last_written_at")[:1])
    assert BEGAN - 2 < written < _now() + 2


def test_a_small_shard_is_looked_into_and_a_pointer_is_no_checkpoint(runs, bucket):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9000\n"
    bucket.put("dcp/step-100/.metadata", b"m")
    bucket.put("dcp/step-100/__0_0.distcp", pointer)
    bucket.put("dcp/step-200/.metadata", b"m")
    bucket.put("dcp/step-200/__0_0.distcp", b"x")
    runs.checkpoints(bucket.url("dcp"), at=LATER)
    assert runs.rows("checkpoint_files", "step", "is_complete") == [(100, False), (200, True)]


def test_a_root_that_was_emptied_proves_no_deletion(runs, bucket):
    save(bucket, "llama/checkpoint-100")
    runs.checkpoints(bucket.url(""), at=LATER)
    bucket.delete("llama")
    assert runs.checkpoints(bucket.url(""), at=LATER + 60) == {"checkpoint_lists": 1}
    assert runs.rows("checkpoint_lists", "is_complete", "checkpoints") == [(True, 1), (False, 0)]


def test_logs_are_read_by_pattern_and_grow(runs, bucket, name):
    bucket.put("train/run1/rank-0.log", steps(1, 2))
    bucket.put("train/run1/rank-1.log.gz", gzip.compress(steps(1, 2)))
    bucket.put("train/run1/notes.txt", b"nothing\n")
    bucket.put("train/.cache/rank-9.log", steps(1, 2))
    pattern = bucket.url("train/**/rank-*.log*")
    assert runs.logs(pattern, at=LATER) == {
        "log_files": 2,
        "log_segments": 2,
        "log_steps": 4,
        "log_reads": 2,
    }
    assert runs.logs(pattern, at=LATER + 60) == {}
    assert (runs.taken.files, runs.taken.unchanged) == (2, 2)
    bucket.put("train/run1/rank-0.log", steps(1, 3))
    assert runs.logs(pattern, at=LATER + 120)["log_steps"] == 1
    bucket.delete("train/run1/rank-0.log")
    bucket.put("train/run1/rank-0.log.1", steps(1, 3))
    assert runs.logs(pattern, at=LATER + 180) == {"log_files": 1, "log_reads": 1}
    assert runs.rows("log_files", "path", "lines") == [
        (f"{name}/train/run1/rank-0.log", 2),
        (f"{name}/train/run1/rank-1.log.gz", 2),
        (f"{name}/train/run1/rank-0.log", 3),
        (f"{name}/train/run1/rank-0.log.1", 3),
    ]


def test_a_log_of_many_parts_is_read_whole(runs, bucket):
    bucket.put("big/rank-0.log", b"#" * 79 + b"\n" + steps(1, 1) + b"noise\n" * 3_000_000)
    runs.logs(bucket.url("big"), at=LATER)
    assert runs.rows("log_files", "lines", "bytes") == [(3_000_002, 18_000_134)]


def test_a_file_of_the_store_may_be_named_itself(runs, bucket):
    bucket.put("one/rank-0.log", steps(1, 2))
    bucket.put("one/rank-0.log.old", steps(5, 6))
    assert runs.logs(bucket.url("one/rank-0.log"), at=LATER)["log_steps"] == 2


def test_a_line_of_a_young_object_that_is_not_whole_waits(runs, bucket):
    bucket.put("young/rank-0.log", steps(1, 2)[:-5])
    assert runs.logs(bucket.url("young"), at=BEGAN)["log_steps"] == 1
    assert runs.logs(bucket.url("young"), at=LATER)["log_steps"] == 1


def test_what_is_not_there(runs, bucket, name):
    runs.checkpoints(bucket.url("nothing"), at=LATER)
    [error] = runs.taken.errors
    assert (type(error), str(error)) == (
        NoData,
        f"there is no file or folder {name}/nothing; check the path",
    )


def test_what_is_refused(runs, s3):
    wrong = s3.url("models/llama").replace("not-a-secret", "a-wrong-one")
    runs.logs(wrong, at=LATER)
    [error] = runs.taken.errors
    assert isinstance(error, SourceUnreachable)
    assert str(error).startswith("s3://models/llama cannot be listed: SignatureDoesNotMatch: ")
    assert "a-wrong-one" not in str(error)


def test_a_name_that_cannot_be_used_spoils_only_its_folder_and_proves_no_deletion(runs, s3):
    for key in ("odd/a/checkpoint-1", "odd/b/checkpoint-2"):
        s3.put(f"{key}/trainer_state.json", b"{}")
    s3.put("odd/b/bad\nname", b"x")
    runs.checkpoints(s3.url("odd"), at=LATER)
    assert runs.rows("checkpoint_files", "path") == [("s3://odd/a/checkpoint-1",)]
    assert runs.rows("checkpoint_lists", "is_complete", "reason") == [
        (False, "s3://odd: b/ holds a name with an empty part or a control character")
    ]


def test_folders_that_are_empty_objects_are_no_files(runs, s3):
    s3.put("marked/llama/checkpoint-1/trainer_state.json", b"{}")
    s3.filesystem().create_dir("marked/llama/checkpoint-1")
    s3.filesystem().create_dir("marked/llama")
    runs.checkpoints(s3.url("marked/llama"), at=LATER)
    assert runs.rows("checkpoint_files", "path", "files") == [("s3://marked/llama/checkpoint-1", 1)]


def test_keys_stay_out_of_the_lake_and_of_what_is_said(runs, s3):
    s3.put("secret/llama/checkpoint-100/trainer_state.json", b"{}")
    s3.put("secret/logs/rank-0.log", steps(1, 1))
    runs.checkpoints(s3.url("secret/llama"), at=LATER)
    runs.logs(s3.url("secret/logs"), at=LATER)
    for table in ("checkpoint_files", "checkpoint_lists", "log_files", "log_reads", "log_steps"):
        for column in ("ingested_from", "run_id"):
            assert "not-a-secret" not in str(runs.rows(table, column))
    assert "not-a-secret" not in "".join(runs.said)
