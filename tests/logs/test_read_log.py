"""What small logs say besides their steps: attempts, evidence, whose they are."""

import io
import json
from datetime import UTC, datetime, timedelta

import pytest
from small_logs import megatron_line, read, seconds

from goodput.errors import UsageError
from goodput.logs import LogHints, read_log, reading


def test_attempts_appended_to_one_file_are_told_apart():
    result = read(
        "\n".join(
            [
                "using world size: 8, data-parallel-size: 8",
                megatron_line("01:00.000000", 1, 1000.0),
                megatron_line("01:01.000000", 2, 1000.0),
                "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
                "using world size: 8, data-parallel-size: 8",
                " loading checkpoint from /ckpt at iteration 1",
                "  successfully loaded checkpoint from /ckpt at iteration 1",
                megatron_line("09:00.000000", 2, 1000.0),
                "error: *** JOB 7 ON n1 CANCELLED AT 2026-01-05T00:10:00 DUE TO TIME LIMIT ***",
                "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-05T00:10:00 ***",
            ]
        )
    )
    first, second = result.segments
    assert (first.first_line, first.last_line, first.outcome, first.outcome_line) == (
        1,
        4,
        "failed",
        4,
    )
    assert (first.end_ms, seconds(second.start_ms)) == (first.steps[-1].end_ms, 539.0)
    assert (second.resume_step, second.outcome, second.last_line) == (1, "timeout", 10)
    assert [(s.first, s.last) for s in second.steps] == [(2, 2)]
    evidence = result.tables["log_evidence"]
    assert [(e["signature"], e["segment"], e["rank"]) for e in evidence] == [
        ("a.cuda_oom", 0, 3),
        ("p.time_limit", 1, None),
        ("p.cancel", 1, None),
    ]


@pytest.mark.parametrize(("last", "outcome"), [(4, "failed"), (5, None)])
def test_an_exception_that_training_survives_is_no_end(last, outcome):
    result = read(
        "\n".join(
            [
                megatron_line("01:00.000000", 1, 1000.0),
                "ValueError: bad sample, skipped",
                *(megatron_line(f"01:0{step - 1}.000000", step, 1000.0) for step in range(2, last)),
            ]
        )
    )
    assert [s.outcome for s in result.segments] == [outcome]


def test_a_restart_in_the_process_stays_in_the_attempt():
    result = read(
        """\
2026-01-05T00:00:01Z completed step: 8, seconds: 1.0
2026-01-05T00:00:02Z completed step: 9, seconds: 1.0
2026-01-05T00:00:30Z Restoring checkpoint from gs://b/checkpoints/8.
2026-01-05T00:00:31Z completed step: 9, seconds: 1.0, again
"""
    )
    (segment,) = result.segments
    assert [s.last for s in segment.steps] == [8, 9]
    result = read(
        """\
2026-01-05T00:00:01Z completed step: 8, seconds: 1.0
2026-01-05T00:00:02Z completed step: 9, seconds: 1.0
2026-01-05T00:00:30Z Restoring checkpoint from gs://b/checkpoints/7.
2026-01-05T00:00:31Z completed step: 8, seconds: 1.0, again
"""
    )
    (segment,) = result.segments
    assert [s.last for s in segment.steps] == [8, 9, 8]
    assert result.tables["log_restores"][0]["in_process"]
    assert result.tables["log_restores"][0]["step"] == 7


def test_a_storm_of_errors_is_bounded_and_counted():
    storm = "RuntimeError: expected scalar type Half but found Float\n" * 1000
    (row, *rest) = read(storm).tables["log_evidence"]
    assert len(rest) == 49
    assert row["repeats"] == 950


def test_evidence_is_redacted_and_short_and_says_where_it_stands():
    text = "x\n[rank2]: RuntimeError: 401 for hf_abcdefghijklmnopqrstuvwxyz " + "y" * 900
    (row,) = read(text).tables["log_evidence"]
    assert row["text"].startswith("RuntimeError: 401 for [token] yyy")
    assert len(row["text"]) <= 500
    assert (row["line"], row["byte_offset"], row["rank"]) == (2, 2, 2)


@pytest.mark.parametrize(
    ("start", "ended", "started"),
    [("2026-01-05T00:40:00Z ", 30, 40), ("", 3, 30)],
    ids=["of its own", "from above"],
)
def test_a_run_was_alive_until_the_last_time_above_the_time_of_the_next(start, ended, started):
    first, second = read(
        megatron_line("03:00", 3, 1000.0)
        + "\n2026-01-05T00:30:00Z still waiting\n"
        + f"{start}using world size: 8, data-parallel-size: 8\n"
        + megatron_line("41:00", 1, 1000.0)
    ).tables["log_segments"]
    assert first["ended_at"].minute == ended
    assert second["started_at"].minute == started


INNER = '{"message": "ValueError: x", "time": "2026-01-05T00:00:02Z"}'


@pytest.mark.parametrize(
    ("line", "second"),
    [
        ({"msg": "ValueError: x", "ts": 1767571202.25}, 2.25),
        ({"msg": "ValueError: x", "time": 1767571202250}, 2.25),
        ({"msg": "ValueError: x", "timestamp": 1767571202250000000}, 2.25),
        ({"msg": "ValueError: x", "ts": 12.5}, None),
        ({"msg": "ValueError: x", "ts": 10**400}, None),
        ({"msg": "ValueError: x", "ts": True, "time": "2026-01-05T00:00:02Z"}, 2),
        ({"log": INNER + "\n", "time": "2026-01-05T00:00:09Z"}, 2),
        ({"log": "ValueError: x\n", "time": "2026-01-05T00:00:09Z"}, 9),
        ({"jsonPayload": {"message": "ValueError: x"}, "timestamp": "2026-01-05T00:00:02Z"}, 2),
    ],
)
@pytest.mark.parametrize("opening", ["{", "{ "])
def test_lines_of_json_are_read_however_deep_and_with_times_as_numbers(line, second, opening):
    result = read_log(io.BytesIO((opening + json.dumps(line)[1:] + "\n").encode()))
    (row,) = result.tables["log_evidence"]
    assert row["text"] == "ValueError: x"
    midnight = datetime(2026, 1, 5, tzinfo=UTC)
    since = row["observed_at"] and row["observed_at"] - midnight
    assert since == (None if second is None else timedelta(seconds=second))


def test_the_rank_above_is_found_in_the_block_before(monkeypatch):
    text = b"  rank      : 9 (local_rank: 1)\n  exitcode  : -9 (pid: 8811)\n"
    monkeypatch.setattr(reading, "BLOCK_BYTES", 40)
    result = read_log(io.BytesIO(text))
    assert [row["rank"] for row in result.tables["log_evidence"]] == [9]


@pytest.mark.parametrize(
    ("lines", "rank"),
    [
        ("[rank7]: RuntimeError: CUDA error: uncorrectable ECC error encountered", 7),
        ("RuntimeError: Rank 37, node h-117, device 5, iteration 9: Unexpected result nan", 37),
        ("[rank2]: RuntimeError: Rank 37, node h-117, device 5: Unexpected result nan", 2),
        ("ERROR: composer.cli.launcher: Rank 3 crashed with exit code -11.", 3),
        ("mpirun noticed that process rank 4 with PID 0 on node n1 exited on signal 6", 4),
        ("srun: error: n1: task 5: Out Of Memory", None),
        ("  rank      : 9 (local_rank: 1)\n  exitcode  : -9 (pid: 8811)", 9),
        ("3:   rank      : 9 (local_rank: 1)\n3:   exitcode  : -9 (pid: 8811)", 9),
        ("  rank      : 9 (local_rank: 1)\n  host : n\n  exitcode  : -9 (pid: 8811)", None),
        ("  rank      : 9 (local_rank: 1)\nRuntimeError: exitcode -9", None),
        ("2025-10-31 03:11:02,475 - acme - INFO - [rank7]: ValueError: it is", 7),
    ],
)
def test_evidence_is_of_the_rank_that_its_line_tells_of(lines, rank):
    result = read_log(io.BytesIO(f"{lines}\n".encode()))
    assert [row["rank"] for row in result.tables["log_evidence"]] == [rank]


def test_an_xid_is_evidence_by_its_code():
    text = (
        "2026-01-05T00:00:01Z NVRM: Xid (PCI:0000:4e:00): 79, pid=1, GPU has fallen off the bus.\n"
    )
    (row,) = read(text).tables["log_evidence"]
    assert (row["source"], row["value"]) == ("xid", "79")
    assert row["observed_at"] == datetime(2026, 1, 5, 0, 0, 1, tzinfo=UTC)


def test_the_zone_of_naive_times_is_a_hint_else_utc_is_assumed_and_said():
    text = "2026-01-05 01:00:00,000 - root - INFO - step: 1  loss:  3.4  tps: 6,785\n"
    file = read(text).tables["log_files"][0]
    assert (file["tz_assumed"], file["first_at"].hour) == (True, 1)
    file = read(text, tz="Asia/Tokyo").tables["log_files"][0]
    assert (file["tz_assumed"], file["first_at"].hour, file["tz"]) == (False, 16, "Asia/Tokyo")
    with pytest.raises(UsageError):
        read(text, tz="Nowhere")


def test_a_log_keeps_its_identity_when_it_grows_and_when_it_is_rotated():
    first, second = (
        "2026-01-05T00:00:01Z completed step: 1\n",
        "2026-01-05T00:00:02Z completed step: 2\n",
    )

    def identity(text, path):
        return read(text, path=path).tables["log_files"][0]["log_id"]

    whole = identity(first + second, "a/x.log")
    assert whole == identity(first, "a/x.log") == identity(first + second, "a/x.log.1")
    assert whole != identity(second, "a/x.log")
    assert whole != identity(first, "b/x.log")


def test_the_path_and_the_hints_say_whose_log_it_is():
    path = "/var/log/pods/ml_train-0_6f1c2d3e-0000-4000-8000-000000000001/main/0.log"
    file = read("x", path=path, rank=5).tables["log_files"][0]
    assert (file["namespace"], file["pod"], file["container"], file["rank"]) == (
        "ml",
        "train-0",
        "main",
        5,
    )
    assert file["pod_uid"] == "6f1c2d3e-0000-4000-8000-000000000001"
    file = read("x", path="llama/attempt_2/rank-3.log").tables["log_files"][0]
    assert (file["path_job"], file["path_attempt"], file["rank"], file["pod"]) == (
        "llama",
        2,
        3,
        None,
    )


def test_structure_beats_a_bar_and_one_stray_line_does_not_name_a_log():
    bars = "".join(
        f"2026-01-05T00:00:{n:02d}Z {n}%|# | {n}/60 [00:{n:02d}<00:00, 1.0it/s]\n"
        for n in range(1, 60)
    )
    megatron = megatron_line("01:00.000000", 1, 1000.0) + "\n"
    assert read(bars).format == "tqdm"
    assert read(bars + megatron).format == "megatron"
    steps = "".join(megatron_line(f"01:{n:02d}.000000", n, 1000.0) + "\n" for n in range(1, 60))
    assert read(steps + "completed step: 1, seconds: 1.0\n").format == "megatron"


def test_a_log_that_says_nothing_is_generic():
    result = read("hello\nworld\n")
    assert not result.is_known_text
    assert (result.format, result.steps, result.evidence, result.quarantine) == (
        "generic",
        [],
        [],
        [],
    )


def test_lines_that_look_like_errors_and_that_no_signature_knows_are_counted_by_kind():
    lines = [
        "2026-01-05T00:00:01Z step=1 loss=2",
        "[ERROR] flux capacitor 7 out of phase",
        "[ERROR] flux capacitor 8 out of phase",
        "[ERROR] tachyons",
        "acme.FluxFailure: it went",
    ]
    evidence = read("\n".join(lines)).tables["log_evidence"]
    assert [(e["signature"], e["line"], e["text"], e["repeats"]) for e in evidence] == [
        ("unknown", 2, "[ERROR] flux capacitor 7 out of phase", 1),
        ("unknown", 4, "[ERROR] tachyons", 0),
    ]


def test_kinds_beyond_many_are_counted_together():
    names = ["".join(chr(97 + int(digit)) for digit in str(n)) for n in range(400)]
    evidence = read("\n".join(f"[ERROR] {name}" for name in names)).tables["log_evidence"]
    assert len(evidence) == 301
    assert sum(1 + e["repeats"] for e in evidence) == 400


def test_one_long_line_of_another_format_does_not_take_the_steps():
    steps = b"".join(
        b"[2026-03-02 10:00:%02d] iteration %8d/ 311541 | elapsed time per iteration (s): 22.3"
        b" | loss: 1.0\n" % (n, 29_000 + 10 * n)
        for n in range(1, 16)
    )
    other = b'2026-03-02 11:00:00 | INFO | train_inner | {"num_updates": "1", "note": "%s"}\n' % (
        b"x" * 1000
    )
    result = read_log(io.BytesIO(steps + other), LogHints(path="x.log"))
    assert len(result.tables["log_steps"]) == 15
