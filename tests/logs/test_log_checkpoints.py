"""Checkpoints, restores and other pauses of small logs."""

from small_logs import checkpoints, megatron_line, phases, read, steps


def test_an_asynchronous_save_blocks_only_until_the_next_step_begins():
    result = read(
        "\n".join(
            [
                megatron_line("01:00.000000", 10, 1000.0),
                "2026-01-05T00:01:00Z saving checkpoint at iteration      10 to /c",
                megatron_line("01:13.000000", 20, 1000.0),
                "2026-01-05T00:01:20Z   successfully saved checkpoint from iteration      10 to /c",
            ]
        )
    )
    assert checkpoints(result) == [(10, 60, 80, True)]
    assert phases(result) == [("ckpt_save", 60, 63)]


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
    result = read("\n".join(titan.format(at=at, text=text) for at, text in said))
    assert result.format == "torchtitan"
    assert result.segments[0].resume_step == 500
    assert steps(result) == [(501, 510, 21, 31), (511, 520, 31, 41), (521, 530, 44, 54)]
    assert phases(result) == [("restore", 10, 20), ("ckpt_save", 41, 44)]
    assert checkpoints(result) == [(520, 41, 44, True)]


def test_checkpoints_cover_positions_as_the_steps_are_counted():
    result = read(
        "2026-01-05T00:00:08Z Training epoch 0, iteration 9/19 | lr: 1 | global_step: 9 | "
        "reduced_train_loss: 11 | train_step_timing in s: 8.0\n"
        "2026-01-05T00:00:30Z Async checkpoint save for step 10 finalized successfully.\n"
    )
    (row,) = result.tables["log_checkpoints"]
    assert (row["step"], row["position"]) == (10, 9)


def test_a_restore_is_a_phase_and_says_where_training_goes_on():
    result = read(
        """\
2026-01-05T00:00:10Z Restoring checkpoint from gs://b/checkpoints/100.
2026-01-05T00:00:22Z Finished restoring checkpoint in 12.0 seconds from gs://b/checkpoints/100.
2026-01-05T00:00:30Z completed step: 101, seconds: 5.0
2026-01-05T00:00:50Z Finished async_save (blocking + background) in 9.0 seconds. At /checkpoints/101
"""
    )
    assert phases(result) == [("restore", 10, 22)]
    assert result.segments[0].resume_step == 100
    assert [r.step for r in result.segments[0].restores] == [100]
    assert steps(result) == [(101, 101, 25, 30)]
    assert checkpoints(result) == [(101, 41, 50, True)]


def test_a_step_that_is_not_measured_begins_after_the_pause_before_it():
    line = "[titan] 2026-01-05 00:00:{at},000 - root - INFO - {text}"
    said = [
        ("10", "step: 1  loss:  7.1  tps: 12"),
        ("20", "step: 2  loss:  7.1  tps: 12"),
        ("20", "Saving the checkpoint at step 2"),
        ("25", "Finished saving the checkpoint in 5.00 seconds."),
        ("35", "step: 3  loss:  7.1  tps: 12"),
    ]
    result = read("\n".join(line.format(at=at, text=text) for at, text in said))
    assert steps(result) == [(1, 1, 0, 10), (2, 2, 10, 20), (3, 3, 25, 35)]
    assert phases(result) == [("ckpt_save", 20, 25)]
