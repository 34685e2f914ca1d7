"""What small logs of each kind say: steps in time, checkpoints, phases, attempts, evidence."""

import io
from datetime import UTC, datetime

import pytest

from goodput.errors import UsageError
from goodput.logs import LogHints, read_log, summarise


def _read(text, **hints):
    return read_log(io.BytesIO(text.encode()), LogHints(**{"path": "run/x.log", **hints}))


def _steps(result):
    """first..last, seconds of the day of start and end."""
    return [(s.first, s.last, _seconds(s.start_ms), _seconds(s.end_ms)) for s in result.steps]


def _seconds(ms):
    return None if ms is None else (ms % 86_400_000) / 1000


def _checkpoints(result):
    return [
        (c.step, _seconds(c.start_ms), _seconds(c.end_ms), c.complete)
        for s in result.segments
        for c in s.checkpoints
    ]


def _phases(result):
    return [
        (p.kind, _seconds(p.start_ms), _seconds(p.end_ms))
        for s in result.segments
        for p in s.phases
    ]


def _megatron(stamp, step, ms):
    return (
        f" [2026-01-05 00:{stamp}] iteration {step:8d}/    1000 | consumed samples: {step * 8:8d} |"
        f" elapsed time per iteration (ms): {ms} | lm loss: 1.0E+00 |"
    )


def test_megatron_logs_every_k_iterations_with_the_mean_time():
    result = _read(
        "\n".join(
            [
                "[before the start of training step] datetime: 2026-01-05 00:00:30 ",
                _megatron("02:10.000000", 10, 10000.0),
                _megatron("03:50.500000", 20, 10000.0),
                "saving checkpoint at iteration      20 to /ckpt",
                "  successfully saved checkpoint from iteration      20 to /ckpt",
                "    evaluate .......................................: (4000.0, 4000.0)",
                _megatron("05:40.500000", 30, 10000.0),
            ]
        )
    )
    assert result.format == "megatron"
    assert _steps(result) == [
        (1, 10, 30.0, 130.0),
        (11, 20, 130.5, 230.5),
        (21, 30, 240.5, 340.5),
    ]
    assert _checkpoints(result) == [(20, 230.5, 230.5, True)]
    assert _phases(result) == [("eval", 230.5, 234.5)]
    assert result.steps[0].samples == 80
    assert result.steps[0].total == 1000


def test_steps_without_times_are_placed_by_elapsed_time_after_an_anchor():
    lines = "\n".join(
        f" iteration {i}/ 1000 | elapsed time per iteration (s): 5.00 | lm loss: 1 |"
        for i in (1, 2, 3)
    )
    result = _read("[before the start of training step] datetime: 2026-01-05 00:01:00\n" + lines)
    assert _steps(result) == [(1, 1, 60, 65), (2, 2, 65, 70), (3, 3, 70, 75)]
    assert {s.basis for s in result.steps} == {"elapsed"}


def test_steps_without_any_time_are_counted_and_quarantined_with_a_remedy():
    result = _read("iter 0: loss 4.1, time 90.1ms\niter 10: loss 4.0, time 50.0ms\n")
    assert result.format == "nanogpt"
    assert result.tables["log_steps"] == []
    file = result.tables["log_files"][0]
    assert (file["step_records"], file["placed_records"]) == (2, 0)
    assert (file["first_step"], file["last_step"]) == (0, 10)
    (row,) = result.quarantine
    assert (row["row_number"], row["value"]) == (1, "2 steps, 0 to 10")
    assert "kubectl logs --timestamps" in row["reason"]


def test_whole_second_stamps_leave_no_gaps_between_steps():
    text = "".join(
        f"2026-01-05T00:00:{s:02d}Z completed step: {i}, seconds: 8.4, loss: 1\n"
        for i, s in ((0, 8), (1, 17), (2, 25), (3, 34))
    )
    assert [(s[2], s[3]) for s in _steps(_read(text))] == [
        (-0.4 % 86400, 8),
        (8, 17),
        (17, 25),
        (25, 34),
    ]


def test_a_time_just_above_a_step_is_its_end():
    text = """\
[before the start of training step] datetime: 2026-01-05 09:36:07
[2026-01-05 09:36:28,430] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | step: 2564.02
 iteration 1/ 9 | elapsed time per iteration (ms): 21133.8 | lm loss: 1 |
"""
    assert _steps(_read(text)) == [(1, 1, 34567.296, 34588.43)]


def test_lost_lines_do_not_stretch_a_step():
    text = "".join(
        _megatron(f"0{m}:00.000000", n, 6000.0) + "\n" for m, n in ((1, 10), (2, 20), (4, 40))
    )
    assert _steps(_read(text)) == [(1, 10, 0, 60), (11, 20, 60, 120), (31, 40, 180, 240)]


def test_ranks_that_print_the_same_step_count_once():
    line = (
        "{rank}: 2026-01-05 00:00:{s:02d},000 - root - INFO - step: {n}  loss:  3.4  tps: 6,785\n"
    )
    text = "".join(line.format(rank=r, s=n * 5, n=n) for n in (1, 2, 3) for r in (1, 0, 0, 3))
    summary = summarise(io.BytesIO(text.encode()))
    assert summary.format == "torchtitan"
    assert (summary.step_count, summary.step_lines["torchtitan"]) == (3, 12)
    assert (summary.first_step, summary.last_step, summary.median_seconds) == (1, 3, 5.0)


def test_two_nodes_with_the_same_local_rank_count_once():
    text = "".join(
        f"[default7]: iteration {n}/ 9 | elapsed time per iteration (s): 1.0 | lm loss: {n} |\n"
        for n in (1, 1, 2, 3, 2, 3)
    )
    assert [s.last for s in _read(text).steps] == [1, 2, 3]


def test_nemo_counts_from_zero_and_names_checkpoints_by_the_last_step():
    step = (
        "2026-01-05T00:00:{at:02d}Z Training epoch 0, iteration {n}/19 | lr: 1 | global_step: {n} |"
        " reduced_train_loss: 11 | train_step_timing in s: 8.0"
    )
    file = "/c/x--val_loss=0.00-step=1-consumed_samples=2.0-last.ckpt"
    save = "[NeMo I 2026-01-05 00:00:{at} model_checkpoint:1]"
    result = _read(
        "\n".join(
            [
                step.format(at=8, n=0),
                step.format(at=16, n=1),
                save.format(at=17) + f" Scheduled async checkpoint save for {file}",
                save.format(at=30)
                + f" Async checkpoint save for step 2 ({file}) finalized successfully.",
                "`Trainer.fit` stopped: `max_steps=2` reached.",
            ]
        )
    )
    assert result.format == "nemo"
    assert _steps(result) == [(0, 0, 0, 8), (1, 1, 8, 16)]
    assert _checkpoints(result) == [(2, 17, 30, True)]
    assert _phases(result) == []
    assert result.segments[0].outcome == "succeeded"


def test_mlperf_times_are_in_the_records():
    def event(ms, key, extra=""):
        return (
            f':::MLLOG {{"namespace": "", "time_ms": {1767571200000 + ms}, "event_type": "X",'
            f' "key": "{key}", "value": null, "metadata": {{"lineno": 1{extra}}}}}'
        )

    result = _read(
        "\n".join(
            [
                event(0, "cache_clear"),
                event(1000, "init_start"),
                event(9000, "init_stop"),
                event(10000, "run_start"),
                event(10000, "block_start"),
                event(20000, "block_stop", ', "samples_count": 64'),
                event(20000, "eval_start"),
                event(25000, "eval_stop"),
                event(25000, "block_start"),
                event(35000, "block_stop", ', "samples_count": 128'),
                event(40000, "run_stop", ', "status": "success"'),
                "srun: error: node-1: task 0: Terminated",
                "RuntimeError: of a worker that shuts down",
            ]
        )
    )
    assert result.format == "mlperf"
    assert _steps(result) == [(1, 1, 10, 20), (2, 2, 25, 35)]
    assert [s.samples for s in result.steps] == [64, 128]
    assert sorted(_phases(result)) == [("eval", 20, 25), ("init", 1, 10)]
    assert [s.outcome for s in result.segments] == ["succeeded"]


def test_hugging_face_steps_are_read_from_the_bar_of_the_run():
    bars = "\r".join(f" {n}%|#  | {n}/100 [00:{n * 2:02d}<03:00,  2.0s/it]" for n in (1, 2, 3, 5))
    result = _read(
        "Map: 100%|####| 5000/5000 [09:00<00:00, 99.0 examples/s]\n"
        "[INFO|trainer.py:2519] 2026-01-05 00:01:00,000 >> ***** Running training *****\n"
        f"{bars}{{'loss': 2.6, 'grad_norm': 1.8, 'learning_rate': 5e-07, 'epoch': 0.1}}\n"
        "2026-01-05 00:01:11,000 >> Saving model checkpoint to o/checkpoint-5\n"
        "\r 6%|#  | 6/100 [00:16<03:00,  2.0s/it]\n"
    )
    assert result.format == "hf-trainer"
    assert result.records["hf-trainer"] == 1
    assert _steps(result) == [
        (1, 1, 60, 62),  # nothing says when it began: as long as the others
        (2, 2, 62, 64),
        (3, 3, 64, 66),
        (4, 5, 66, 70),
        (6, 6, 70, 76),
    ]
    assert _checkpoints(result) == [(5, 71, 76, True)]


def test_a_bar_per_epoch_counts_on():
    text = "".join(
        f"2026-01-05T00:0{e}:{n:02d}Z Epoch {e}:  {n}%|# | {n}/20 [00:{n:02d}<00:00, 1.0it/s]\n"
        for e in (0, 1, 2)
        for n in (10, 20)
    )
    assert [(s.first, s.last) for s in _read(text).steps] == [
        (1, 10),
        (11, 20),
        (21, 30),
        (31, 40),
        (41, 50),
        (51, 60),
    ]


def test_of_the_updates_of_a_bar_in_one_second_the_last_counts():
    bars = ((0, 0), (1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (6, 2))
    text = "\r".join(f" {n}%|# | {n}/60 [00:0{s}<00:20, 3.0it/s]" for n, s in bars)
    result = _read("2026-01-05 00:00:00 start\n" + text)
    assert [(s.first, s.last) for s in result.steps] == [(1, 3), (4, 5), (6, 6)]
    assert result.step_lines["tqdm"] == 4  # redrawn ones are not even read


def test_batches_of_epochs_count_on_by_the_size_of_the_epoch():
    text = "".join(
        f"2026-01-05 00:00:{5 * i:02d} Epoch: [{e}]  [{n:3d}/20]  eta: 0:01  loss: {i}\n"
        for i, (e, n) in enumerate([(0, 0), (0, 10), (1, 0), (1, 10)])
    )
    result = _read(text)
    assert result.format == "epoch-log"
    assert [(s.first, s.last) for s in result.steps] == [(0, 0), (1, 10), (11, 20), (21, 30)]


def test_steps_without_a_number_count_on_from_the_step_resumed():
    result = _read(
        """\
2026-01-05 00:00:00,000 => loaded checkpoint 'x/checkpoint_40.pth.tar' (epoch 40)
2026-01-05 00:00:01,000 epoch 40 lr 2.9e-03
2026-01-05 00:01:01,000 train_acc 99.1 | train_obj 0.1
2026-01-05 00:02:01,000 epoch 41 lr 2.9e-03
2026-01-05 00:03:01,000 train_acc 99.2 | train_obj 0.1
"""
    )
    assert _steps(result) == [(41, 41, 1, 61), (42, 42, 121, 181)]
    assert result.segments[0].resume_step == 40


def test_attempts_appended_to_one_file_are_told_apart():
    result = _read(
        "\n".join(
            [
                "using world size: 8, data-parallel-size: 8",
                _megatron("01:00.000000", 1, 1000.0),
                _megatron("01:01.000000", 2, 1000.0),
                "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
                "using world size: 8, data-parallel-size: 8",
                " loading checkpoint from /ckpt at iteration 1",
                "  successfully loaded checkpoint from /ckpt at iteration 1",
                _megatron("09:00.000000", 2, 1000.0),
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
    assert (first.end_ms, _seconds(second.start_ms)) == (first.steps[-1].end_ms, 539.0)
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
    result = _read(
        "\n".join(
            [
                _megatron("01:00.000000", 1, 1000.0),
                "ValueError: bad sample, skipped",
                *(_megatron(f"01:0{step - 1}.000000", step, 1000.0) for step in range(2, last)),
            ]
        )
    )
    assert [s.outcome for s in result.segments] == [outcome]


def test_a_restart_in_the_process_stays_in_the_attempt():
    result = _read(
        """\
2026-01-05T00:00:01Z completed step: 8, seconds: 1.0
2026-01-05T00:00:02Z completed step: 9, seconds: 1.0
2026-01-05T00:00:30Z Restoring checkpoint from gs://b/checkpoints/8.
2026-01-05T00:00:31Z completed step: 9, seconds: 1.0, again
"""
    )
    (segment,) = result.segments
    assert [s.last for s in segment.steps] == [8, 9]
    result = _read(
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
    (row, *rest) = _read(storm).tables["log_evidence"]
    assert len(rest) == 49
    assert row["repeats"] == 950


def test_evidence_is_redacted_and_short_and_says_where_it_stands():
    text = "x\n[rank2]: RuntimeError: 401 for hf_abcdefghijklmnopqrstuvwxyz " + "y" * 900
    (row,) = _read(text).tables["log_evidence"]
    assert row["text"].startswith("RuntimeError: 401 for [token] yyy")
    assert len(row["text"]) <= 500
    assert (row["line"], row["byte_offset"], row["rank"]) == (2, 2, 2)


def test_an_xid_is_evidence_by_its_code():
    text = (
        "2026-01-05T00:00:01Z NVRM: Xid (PCI:0000:4e:00): 79, pid=1, GPU has fallen off the bus.\n"
    )
    (row,) = _read(text).tables["log_evidence"]
    assert (row["source"], row["value"]) == ("xid", "79")
    assert row["observed_at"] == datetime(2026, 1, 5, 0, 0, 1, tzinfo=UTC)


def test_the_zone_of_naive_times_is_a_hint_else_utc_is_assumed_and_said():
    text = "2026-01-05 01:00:00,000 - root - INFO - step: 1  loss:  3.4  tps: 6,785\n"
    file = _read(text).tables["log_files"][0]
    assert (file["tz_assumed"], file["first_at"].hour) == (True, 1)
    file = _read(text, tz="Asia/Tokyo").tables["log_files"][0]
    assert (file["tz_assumed"], file["first_at"].hour, file["tz"]) == (False, 16, "Asia/Tokyo")
    with pytest.raises(UsageError):
        _read(text, tz="Nowhere")


def test_a_log_keeps_its_identity_when_it_grows_and_when_it_is_rotated():
    first, second = (
        "2026-01-05T00:00:01Z completed step: 1\n",
        "2026-01-05T00:00:02Z completed step: 2\n",
    )

    def identity(text, path):
        return _read(text, path=path).tables["log_files"][0]["log_id"]

    whole = identity(first + second, "a/x.log")
    assert whole == identity(first, "a/x.log") == identity(first + second, "a/x.log.1")
    assert whole != identity(second, "a/x.log")
    assert whole != identity(first, "b/x.log")


def test_the_path_and_the_hints_say_whose_log_it_is():
    path = "/var/log/pods/ml_train-0_6f1c2d3e-0000-4000-8000-000000000001/main/0.log"
    file = _read("x", path=path, rank=5).tables["log_files"][0]
    assert (file["namespace"], file["pod"], file["container"], file["rank"]) == (
        "ml",
        "train-0",
        "main",
        5,
    )
    assert file["pod_uid"] == "6f1c2d3e-0000-4000-8000-000000000001"
    file = _read("x", path="llama/attempt_2/rank-3.log").tables["log_files"][0]
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
    megatron = _megatron("01:00.000000", 1, 1000.0) + "\n"
    assert _read(bars).format == "tqdm"
    assert _read(bars + megatron).format == "megatron"
    steps = "".join(_megatron(f"01:{n:02d}.000000", n, 1000.0) + "\n" for n in range(1, 60))
    assert _read(steps + "completed step: 1, seconds: 1.0\n").format == "megatron"


def test_a_log_that_says_nothing_is_generic():
    result = _read("hello\nworld\n")
    assert not result.is_known_text
    assert (result.format, result.steps, result.evidence, result.quarantine) == (
        "generic",
        [],
        [],
        [],
    )


def test_an_asynchronous_save_blocks_only_until_the_next_step_begins():
    result = _read(
        "\n".join(
            [
                _megatron("01:00.000000", 10, 1000.0),
                "2026-01-05T00:01:00Z saving checkpoint at iteration      10 to /c",
                _megatron("01:13.000000", 20, 1000.0),
                "2026-01-05T00:01:20Z   successfully saved checkpoint from iteration      10 to /c",
            ]
        )
    )
    assert _checkpoints(result) == [(10, 60, 80, True)]
    assert _phases(result) == [("ckpt_save", 60, 63)]


def test_torchtitan_says_when_training_starts_and_when_a_save_is_finished():
    titan = "[titan] 2026-01-05 00:{at},000 - root - INFO - {text}"
    step = (
        "\x1b[31mstep: {n}  \x1b[32mloss:  7.1  \x1b[38;2;180;60;0mgrad_norm:  1.5  \x1b[34mtps: 12"
    )
    said = [
        ("00:10", "Loading the checkpoint from /c/step-500."),
        ("00:20", "Finished loading the checkpoint in 10.00 seconds."),
        ("00:21", "Training starts at step 501."),
        ("00:31", step.format(n=510)),
        ("00:41", step.format(n=520)),
        ("00:41", "Saving the checkpoint at step 520"),
        (
            "00:44",
            "Finished saving the checkpoint (or staging if async is enabled)in 3.00 seconds.",
        ),
        ("00:54", step.format(n=530)),
    ]
    result = _read("\n".join(titan.format(at=at, text=text) for at, text in said))
    assert result.format == "torchtitan"
    assert result.segments[0].resume_step == 500
    assert _steps(result) == [(501, 510, 21, 31), (511, 520, 31, 41), (521, 530, 44, 54)]
    assert _phases(result) == [("restore", 10, 20), ("ckpt_save", 41, 44)]
    assert _checkpoints(result) == [(520, 41, 44, True)]


def test_checkpoints_cover_positions_as_the_steps_are_counted():
    result = _read(
        "2026-01-05T00:00:08Z Training epoch 0, iteration 9/19 | lr: 1 | global_step: 9 | "
        "reduced_train_loss: 11 | train_step_timing in s: 8.0\n"
        "2026-01-05T00:00:30Z Async checkpoint save for step 10 finalized successfully.\n"
    )
    (row,) = result.tables["log_checkpoints"]
    assert (row["step"], row["position"]) == (10, 9)


def test_a_restore_is_a_phase_and_says_where_training_goes_on():
    result = _read(
        """\
2026-01-05T00:00:10Z Restoring checkpoint from gs://b/checkpoints/100.
2026-01-05T00:00:22Z Finished restoring checkpoint in 12.0 seconds from gs://b/checkpoints/100.
2026-01-05T00:00:30Z completed step: 101, seconds: 5.0
2026-01-05T00:00:50Z Finished async_save (blocking + background) in 9.0 seconds. At /checkpoints/101
"""
    )
    assert _phases(result) == [("restore", 10, 22)]
    assert result.segments[0].resume_step == 100
    assert [r.step for r in result.segments[0].restores] == [100]
    assert _steps(result) == [(101, 101, 25, 30)]
    assert _checkpoints(result) == [(101, 41, 50, True)]


def test_a_step_that_is_not_measured_begins_after_the_pause_before_it():
    line = "[titan] 2026-01-05 00:00:{at},000 - root - INFO - {text}"
    said = [
        ("10", "step: 1  loss:  7.1  tps: 12"),
        ("20", "step: 2  loss:  7.1  tps: 12"),
        ("20", "Saving the checkpoint at step 2"),
        ("25", "Finished saving the checkpoint in 5.00 seconds."),
        ("35", "step: 3  loss:  7.1  tps: 12"),
    ]
    result = _read("\n".join(line.format(at=at, text=text) for at, text in said))
    assert _steps(result) == [(1, 1, 0, 10), (2, 2, 10, 20), (3, 3, 25, 35)]
    assert _phases(result) == [("ckpt_save", 20, 25)]


def test_lines_that_look_like_errors_and_that_no_signature_knows_are_counted_by_kind():
    lines = [
        "2026-01-05T00:00:01Z step=1 loss=2",
        "[ERROR] flux capacitor 7 out of phase",
        "[ERROR] flux capacitor 8 out of phase",
        "[ERROR] tachyons",
        "acme.FluxFailure: it went",
    ]
    evidence = _read("\n".join(lines)).tables["log_evidence"]
    assert [(e["signature"], e["line"], e["text"], e["repeats"]) for e in evidence] == [
        ("unknown", 2, "[ERROR] flux capacitor 7 out of phase", 1),
        ("unknown", 4, "[ERROR] tachyons", 0),
    ]


def test_kinds_beyond_many_are_counted_together():
    names = ["".join(chr(97 + int(digit)) for digit in str(n)) for n in range(400)]
    evidence = _read("\n".join(f"[ERROR] {name}" for name in names)).tables["log_evidence"]
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
