"""What was collected over several runs is accounted for once."""

import gzip
import shutil
from datetime import timedelta

import duckdb
import pytest
from collector_runs import DAY, put

from goodput.warehouse.build import build
from goodput.window import Window


def stamp(at):
    return f"2026-03-02T00:{at // 60:02d}:{at % 60:02d}Z"


def steps(first, last, later=0):
    return "".join(
        f"{stamp(n * 10 + later)} completed step: {n}, seconds: 10.0\n"
        for n in range(first, last + 1)
    )


def bars(first, last):
    return "".join(
        f"{stamp(n * 10)} {n}%|#| {n}/100 [00:{n * 10:02d}<10:00, 10.00s/it]\n"
        for n in range(first, last + 1)
    )


def built(runs, *, until=3600):
    window = Window(DAY, DAY + timedelta(seconds=until))
    result = build(runs.lake, window, window.end)
    assert [check for check in result.checks if check.failed] == []
    return duckdb.connect(str(result.database), read_only=True)


def seconds(rows):
    return [
        tuple(
            value.timestamp() - DAY.timestamp() if hasattr(value, "hour") else value
            for value in row
        )
        for row in rows
    ]


@pytest.fixture
def account(runs, tmp_path):
    """A log that grew and rotated twice, one read too early, and checkpoints of which one went."""
    log = put(tmp_path / "logs/llama/rank-0.log", steps(1, 2), at=20)
    early = put(tmp_path / "logs/mistral/rank-0.log", bars(1, 2), at=20)
    for step in (2, 4):
        put(tmp_path / f"ckpt/llama/checkpoint-{step}/trainer_state.json", "{}", at=step * 10)
        put(tmp_path / f"ckpt/llama/checkpoint-{step}/model.safetensors", "x" * 4000, at=step * 10)
    # Begun anew at an earlier step, in a new file of the same name: another attempt.
    put(tmp_path / "logs/phi/rank-0.log.1", steps(1, 4), at=40)
    put(tmp_path / "logs/phi/rank-0.log", steps(3, 4, later=20), at=60)
    runs.logs(tmp_path / "logs", at=100)
    runs.checkpoints(tmp_path / "ckpt", at=150)
    put(log, steps(1, 3), at=30).rename(log.with_name("rank-0.log.1"))
    put(log, steps(4, 5), at=50)
    put(early, bars(1, 2) + steps(3, 4), at=40)
    runs.logs(tmp_path / "logs", at=200)
    put(tmp_path / "logs/llama/rank-0.log.2.gz", gzip.compress(steps(1, 3).encode()), at=30)
    log.rename(log.with_name("rank-0.log.1"))
    put(log, steps(6, 6), at=60)
    runs.logs(tmp_path / "logs", at=300)
    shutil.rmtree(tmp_path / "ckpt/llama/checkpoint-2")
    runs.checkpoints(tmp_path / "ckpt", at=350)
    return built(runs)


def test_the_parts_of_a_rotated_log_are_one_attempt_and_each_step_counts_once(account):
    assert seconds(
        account.sql(
            'select job, attempt, first, last, "end" from observed.steps_log'
            " order by job, first, attempt"
        ).fetchall()
    ) == [
        ("llama", 1, 1, 1, 10),
        ("llama", 1, 2, 2, 20),
        ("llama", 1, 3, 3, 30),
        ("llama", 1, 4, 4, 40),
        ("llama", 1, 5, 5, 50),
        ("llama", 1, 6, 6, 60),
        # What was read of it first took bars for steps; that reading no longer counts.
        ("mistral", 1, 3, 3, 30),
        ("mistral", 1, 4, 4, 40),
        ("phi", 1, 1, 1, 10),
        ("phi", 1, 2, 2, 20),
        ("phi", 1, 3, 3, 30),
        ("phi", 2, 3, 3, 50),
        ("phi", 1, 4, 4, 40),
        ("phi", 2, 4, 4, 60),
    ]
    assert account.sql(
        "select job, attempt, outcome from observed.attempts_log order by job, attempt"
    ).fetchall() == [
        ("llama", 1, "running"),
        ("mistral", 1, "running"),
        ("phi", 1, "failed"),
        ("phi", 2, "running"),
    ]


def test_a_deleted_checkpoint_was_committed_all_the_same(account):
    assert seconds(
        account.sql(
            "select job, attempt, step, committed_at, deleted_at from staged.checkpoints"
            " order by step"
        ).fetchall()
    ) == [("llama", 1, 2, 20, 350), ("llama", 1, 4, 40, None)]
