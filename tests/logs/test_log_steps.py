"""Steps of small logs of each kind: which, and when."""

import io

from small_logs import checkpoints, megatron_line, phases, read, steps

from goodput.logs import summarise


def test_megatron_logs_every_k_iterations_with_the_mean_time():
    result = read(
        "\n".join(
            [
                "[before the start of training step] datetime: 2026-01-05 00:00:30 ",
                megatron_line("02:10.000000", 10, 10000.0),
                megatron_line("03:50.500000", 20, 10000.0),
                "saving checkpoint at iteration      20 to /ckpt",
                "  successfully saved checkpoint from iteration      20 to /ckpt",
                "    evaluate .......................................: (4000.0, 4000.0)",
                megatron_line("05:40.500000", 30, 10000.0),
            ]
        )
    )
    assert result.format == "megatron"
    assert steps(result) == [
        (1, 10, 30.0, 130.0),
        (11, 20, 130.5, 230.5),
        (21, 30, 240.5, 340.5),
    ]
    assert checkpoints(result) == [(20, 230.5, 230.5, True)]
    assert phases(result) == [("eval", 230.5, 234.5)]
    assert result.steps[0].samples == 80
    assert result.steps[0].total == 1000


def test_steps_without_times_are_placed_by_elapsed_time_after_an_anchor():
    lines = "\n".join(
        f" iteration {i}/ 1000 | elapsed time per iteration (s): 5.00 | lm loss: 1 |"
        for i in (1, 2, 3)
    )
    result = read("[before the start of training step] datetime: 2026-01-05 00:01:00\n" + lines)
    assert steps(result) == [(1, 1, 60, 65), (2, 2, 65, 70), (3, 3, 70, 75)]
    assert {s.basis for s in result.steps} == {"elapsed"}


def test_steps_without_any_time_are_counted_and_quarantined_with_a_remedy():
    result = read("iter 0: loss 4.1, time 90.1ms\niter 10: loss 4.0, time 50.0ms\n")
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
    assert [(s[2], s[3]) for s in steps(read(text))] == [
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
    assert steps(read(text)) == [(1, 1, 34567.296, 34588.43)]


def test_lost_lines_do_not_stretch_a_step():
    text = "".join(
        megatron_line(f"0{m}:00.000000", n, 6000.0) + "\n" for m, n in ((1, 10), (2, 20), (4, 40))
    )
    assert steps(read(text)) == [(1, 10, 0, 60), (11, 20, 60, 120), (31, 40, 180, 240)]


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
    assert [s.last for s in read(text).steps] == [1, 2, 3]


def test_nemo_counts_from_zero_and_names_checkpoints_by_the_last_step():
    step = (
        "2026-01-05T00:00:{at:02d}Z Training epoch 0, iteration {n}/19 | lr: 1 | global_step: {n} |"
        " reduced_train_loss: 11 | train_step_timing in s: 8.0"
    )
    file = "/c/x--val_loss=0.00-step=1-consumed_samples=2.0-last.ckpt"
    save = "[NeMo I 2026-01-05 00:00:{at} model_checkpoint:1]"
    result = read(
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
    assert steps(result) == [(0, 0, 0, 8), (1, 1, 8, 16)]
    assert checkpoints(result) == [(2, 17, 30, True)]
    assert phases(result) == []
    assert result.segments[0].outcome == "succeeded"


def test_mlperf_times_are_in_the_records():
    def event(ms, key, extra=""):
        return (
            f':::MLLOG {{"namespace": "", "time_ms": {1767571200000 + ms}, "event_type": "X",'
            f' "key": "{key}", "value": null, "metadata": {{"lineno": 1{extra}}}}}'
        )

    result = read(
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
    assert steps(result) == [(1, 1, 10, 20), (2, 2, 25, 35)]
    assert [s.samples for s in result.steps] == [64, 128]
    assert sorted(phases(result)) == [("eval", 20, 25), ("init", 1, 10)]
    assert [s.outcome for s in result.segments] == ["succeeded"]


def test_hugging_face_steps_are_read_from_the_bar_of_the_run():
    bars = "\r".join(f" {n}%|#  | {n}/100 [00:{n * 2:02d}<03:00,  2.0s/it]" for n in (1, 2, 3, 5))
    result = read(
        "Map: 100%|####| 5000/5000 [09:00<00:00, 99.0 examples/s]\n"
        "[INFO|trainer.py:2519] 2026-01-05 00:01:00,000 >> ***** Running training *****\n"
        f"{bars}{{'loss': 2.6, 'grad_norm': 1.8, 'learning_rate': 5e-07, 'epoch': 0.1}}\n"
        "2026-01-05 00:01:11,000 >> Saving model checkpoint to o/checkpoint-5\n"
        "\r 6%|#  | 6/100 [00:16<03:00,  2.0s/it]\n"
    )
    assert result.format == "hf-trainer"
    assert result.records["hf-trainer"] == 1
    assert steps(result) == [
        (1, 1, 60, 62),  # nothing says when it began: as long as the others
        (2, 2, 62, 64),
        (3, 3, 64, 66),
        (4, 5, 66, 70),
        (6, 6, 70, 76),
    ]
    assert checkpoints(result) == [(5, 71, 76, True)]


def test_a_bar_per_epoch_counts_on():
    text = "".join(
        f"2026-01-05T00:0{e}:{n:02d}Z Epoch {e}:  {n}%|# | {n}/20 [00:{n:02d}<00:00, 1.0it/s]\n"
        for e in (0, 1, 2)
        for n in (10, 20)
    )
    assert [(s.first, s.last) for s in read(text).steps] == [
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
    result = read("2026-01-05 00:00:00 start\n" + text)
    assert [(s.first, s.last) for s in result.steps] == [(1, 3), (4, 5), (6, 6)]
    assert result.step_lines["tqdm"] == 4  # redrawn ones are not even read


def test_bars_that_do_something_else_than_train_are_no_steps():
    loading = "Loading checkpoint shards: 100%|##########| 3/3 [09:11<00:00, 183.82s/it]\n"
    assert steps(read(loading + "RuntimeError: boom\n")) == []
    result = read(loading + "2026-01-05T00:00:10Z  1%|# | 1/60 [00:02<02:00, 2.0s/it]\n")
    assert [(s.first, s.last) for s in result.steps] == [(1, 1)]


def test_batches_of_epochs_count_on_by_the_size_of_the_epoch():
    text = "".join(
        f"2026-01-05 00:00:{5 * i:02d} Epoch: [{e}]  [{n:3d}/20]  eta: 0:01  loss: {i}\n"
        for i, (e, n) in enumerate([(0, 0), (0, 10), (1, 0), (1, 10)])
    )
    result = read(text)
    assert result.format == "epoch-log"
    assert [(s.first, s.last) for s in result.steps] == [(0, 0), (1, 10), (11, 20), (21, 30)]


def test_steps_without_a_number_count_on_from_the_step_resumed():
    result = read(
        """\
2026-01-05 00:00:00,000 => loaded checkpoint 'x/checkpoint_40.pth.tar' (epoch 40)
2026-01-05 00:00:01,000 epoch 40 lr 2.9e-03
2026-01-05 00:01:01,000 train_acc 99.1 | train_obj 0.1
2026-01-05 00:02:01,000 epoch 41 lr 2.9e-03
2026-01-05 00:03:01,000 train_acc 99.2 | train_obj 0.1
"""
    )
    assert steps(result) == [(41, 41, 1, 61), (42, 42, 121, 181)]
    assert result.segments[0].resume_step == 40
