"""Whose log it is, which log supplies the steps, and what is united: sql/05_observed/2xx."""

from datetime import UTC, datetime, timedelta

import pytest

DAY_TEXT = "2026-01-05T00:"


def _line(seconds, text):
    return f"{DAY_TEXT}{seconds // 60:02d}:{seconds % 60:02d}Z {text}\n"


def _steps(*pairs):
    return "".join(_line(at, f"completed step: {n}, seconds: 10.0") for n, at in pairs)


STEPS = 'select job, attempt, first, last, start, "end" from observed.steps_log order by all'


def test_a_log_belongs_to_the_pod_of_its_uid(observed):
    uid = "6f1c2d3e-0000-4000-8000-000000000001"
    observed.pod(uid, start=0, end=100, name="train-0", namespace="ml", job="J", attempt=3, rank=2)
    observed.log(f"/var/log/pods/ml_train-0_{uid}/main/0.log", _steps((1, 20), (2, 30)))
    observed.build()
    assert observed.rows(STEPS) == [("J", 3, 1, 1, 10, 20), ("J", 3, 2, 2, 20, 30)]
    assert observed.rows("select job from observed.jobs_log") == []
    assert observed.rows("select job from observed.attempts_log") == []


def test_pods_that_took_turns_under_one_name_are_told_apart_by_time(observed):
    observed.pod("a", start=0, end=100, name="train-0", namespace="ml", job="J", attempt=1)
    observed.pod("b", start=100, end=None, name="train-0", namespace="ml", job="J", attempt=2)
    observed.log("dump/train-0.log", _steps((5, 150)))
    observed.log("old/train-0.log", _steps((4, 50)))
    observed.build()
    assert observed.rows(STEPS) == [("J", 1, 4, 4, 40, 50), ("J", 2, 5, 5, 140, 150)]


def test_a_log_over_restarts_of_a_container_is_cut_by_the_pods_attempts(observed):
    name = {"name": "train-0", "namespace": "ml", "job": "J"}
    observed.pod("u", start=0, end=100, attempt=1, **name)
    observed.pod("u#1", start=100, end=200, attempt=2, **name)
    text = _steps((1, 50)) + _line(90, "ValueError: x") + "using world size: 8\n" + _steps((1, 150))
    observed.log("logs/ml_train-0_main.log", text)
    observed.build()
    assert observed.rows(STEPS) == [("J", 1, 1, 1, 40, 50), ("J", 2, 1, 1, 140, 150)]


def test_a_pod_of_another_namespace_is_not_taken(observed):
    observed.pod("a", start=0, end=100, name="train-0", namespace="other", job="J", attempt=1)
    observed.log("logs/ml_train-0_main.log", _steps((1, 50)))
    observed.build()
    assert observed.rows("select job, state from observed.jobs_log") == [
        ("logs/ml_train-0_main.log", "running")
    ]


def test_what_the_user_says_beats_the_pods(observed):
    observed.pod("a", start=0, end=100, name="train-0", namespace="ml", job="J", attempt=1)
    observed.log("dump/train-0.log", _steps((1, 50)), job="K", attempt=7)
    observed.build()
    assert observed.rows(STEPS) == [("K", 7, 1, 1, 40, 50)]


@pytest.mark.parametrize(
    ("path", "hints"),
    [
        ("logs/x.log", {"job": "run7"}),
        ("logs/x.log", {"job": "u-run7"}),
        ("run7/attempt_2/rank-0.log", {}),
        ("dump/run7.log", {"attempt": 2}),
    ],
)
def test_a_known_job_is_met_by_its_key_or_its_name(observed, path, hints):
    observed.job("u-run7", name="run7", starts=[0])
    observed.job("u-other", name="other", starts=[0])
    observed.log(path, _steps((1, 50)), **hints)
    observed.build()
    assert observed.rows("select job, given_attempt from observed.log_owners") == [
        ("u-run7", hints.get("attempt", 2 if "attempt_2" in path else None))
    ]
    assert observed.rows("select job from observed.jobs_log") == []


def test_of_jobs_of_one_name_it_is_the_last_that_had_begun(observed):
    observed.job("u1", name="run7", starts=[0, 30])
    observed.job("u2", name="run7", starts=[100])
    observed.job("u3", name="run7", starts=[4000])
    observed.job("run7", name="namesake", starts=[], cluster="elsewhere")
    for seconds in (50, 150):
        observed.log(f"run7/{seconds}.log", _steps((1, seconds)), job="run7")
    observed.build()
    assert observed.rows("select path, job from observed.log_owners order by job") == [
        ("run7/50.log", "u1"),
        ("run7/150.log", "u2"),
    ]


def test_a_job_whose_key_it_is_comes_before_one_of_that_name(observed):
    observed.job("run7", name="old name", starts=[0])
    observed.job("u2", name="run7", starts=[10])
    observed.log("x.log", _steps((1, 50)), job="run7")
    observed.build()
    assert observed.rows("select job from observed.log_owners") == [("run7",)]


def test_of_many_ranks_one_supplies_the_steps(observed):
    for rank, steps in ((0, 2), (1, 3), (2, 3)):
        pairs = [(n, n * 10) for n in range(1, steps + 1)]
        observed.log(f"run7/attempt_1/rank-{rank}.log", _steps(*pairs) + _line(40, "KeyError: 'x'"))
    observed.build()
    assert observed.rows("select job, attempt, stream from observed.step_streams") == [
        ("run7", 1, "run7/attempt_1/rank-1.log")
    ]
    assert observed.rows("select first from observed.steps_log order by first") == [
        (1,),
        (2,),
        (3,),
    ]
    assert observed.rows("select rank, t from observed.evidence_log order by rank") == [
        (0, 40),
        (1, 40),
        (2, 40),
    ]


def test_parts_of_a_rotated_log_count_together_and_only_once(observed):
    old, new = _steps((1, 10), (2, 20)), _steps((3, 30))
    observed.log("run/rank-0.log.1", old)
    observed.log("run/rank-0.log.2", old)
    observed.log("run/rank-0.log", new)
    observed.log("run/rank-1.log", _steps((1, 10), (2, 20)))
    observed.build()
    assert observed.rows("select first from observed.steps_log order by first") == [
        (1,),
        (2,),
        (3,),
    ]


def test_a_log_that_grew_is_read_as_it_is_now(observed):
    first = _steps((1, 10), (2, 20))
    observed.log("x.log", first)
    observed.log("x.log", first + _steps((3, 30)))
    observed.build()
    assert observed.rows('select last, "end" from observed.steps_log order by 1') == [
        (1, 10),
        (2, 20),
        (3, 30),
    ]
    assert observed.rows("select count(*) from observed.log_files_latest") == [(1,)]


def test_attempts_in_a_file_of_its_own_are_its_segments(observed):
    observed.log(
        "slurm-9.out",
        "using world size: 8\n"
        + _steps((1, 20), (2, 30))
        + _line(
            40,
            "error: *** JOB 9 ON n CANCELLED AT 2026-01-05T00:00:40 DUE TO PREEMPTION ***",
        )
        + _line(90, "using world size: 8")
        + "successfully loaded checkpoint from /c at iteration 1\n"
        + _steps((2, 110))
        + _line(120, "[after training is done] datetime: 2026-01-05 00:02:00"),
    )
    observed.build()
    assert observed.rows(
        'select job, attempt, start, "end", outcome, resume_step from observed.attempts_log'
    ) == [
        ("slurm-9.out", 1, 10, 40, "preempted", None),
        ("slurm-9.out", 2, 90, 120, "succeeded", 1),
    ]
    assert observed.rows("select job, state, lineage, name from observed.jobs_log") == [
        ("slurm-9.out", "succeeded", "slurm-9", "slurm-9")
    ]
    assert observed.rows("select attempt, resume_step from observed.attempt_facts_log") == [(2, 1)]


def test_ranks_of_one_job_restart_together(observed):
    for rank in (0, 1):
        text = _line(0, "using world size: 2") + _steps((1, 20)) + _line(21, "ValueError: x")
        text += _line(60 + rank, "using world size: 2") + _steps((1, 80 + rank))
        observed.log(f"run/rank-{rank}.log", text)
    observed.build()
    assert observed.rows("select attempt, start from observed.attempts_log order by 1") == [
        (1, 0),
        (2, 60),
    ]


def test_checkpoints_of_all_ranks_are_united(observed):
    for rank, begin, end in ((0, 10, 31), (1, 11, 30)):
        observed.log(
            f"run/rank-{rank}.log",
            _line(begin, "saving checkpoint at iteration 5 to /c")
            + _line(end, "successfully saved checkpoint from iteration 5 to /c")
            + _line(end + 5, "saving checkpoint at iteration 6 to /c"),
        )
    observed.build()
    assert observed.rows(
        "select step, write_start, committed_at from observed.checkpoints_log order by 1"
    ) == [(5, 10, 30), (6, 35, None)]


def test_a_restart_in_place_leaves_a_marker_with_its_cause(observed):
    observed.pod("a", start=0, end=300, name="train-0", namespace="ml", job="J", attempt=1)
    observed.log(
        "train-0.log",
        _line(0, "using world size: 2")
        + _steps((1, 20), (2, 30))
        + _line(40, "RuntimeError: CUDA error: uncorrectable ECC error encountered")
        + _line(60, "using world size: 2")
        + _steps((2, 80)),
    )
    observed.build()
    assert observed.rows("select job, attempt, t, kind, cause from observed.markers_log") == [
        ("J", 1, 60, "restart", "gpu.mem")
    ]
    assert observed.rows("select attempt, last from observed.steps_log order by all") == [
        (1, 1),
        (1, 2),
        (1, 2),
    ]


def test_a_text_without_steps_or_end_is_no_job(observed):
    observed.log("notes.log", _line(5, "hello"))
    observed.build()
    assert observed.rows("select * from observed.attempts_log") == []
    assert observed.rows("select * from observed.jobs_log") == []


def test_evidence_without_a_time_is_placed_at_the_end_of_its_pod(observed):
    observed.pod("a", start=0, end=300, name="train-0", namespace="ml", job="J", attempt=1)
    observed.log("train-0.log", "KeyError: 'x'\n")
    observed.build()
    assert observed.rows("select t, pod_uid, value from observed.evidence_log") == [
        (300, "a", "KeyError: 'x'")
    ]


def test_what_was_learned_later_is_the_newest_version(observed):
    day = datetime(2026, 1, 5, tzinfo=UTC)
    observed.log("x.log", _steps((1, 10)), known_at=day)
    observed.log("x.log", _steps((1, 10)), tz="UTC", job="K", known_at=day + timedelta(hours=1))
    observed.build()
    assert observed.rows("select job from observed.steps_log") == [("K",)]


def test_a_checkpoint_that_does_not_load_is_bad_from_then_on(observed):
    name = {"namespace": "ml", "job": "J"}
    observed.pod("a", start=0, end=100, name="train-a", attempt=1, **name)
    observed.pod("b", start=100, end=200, name="train-b", attempt=2, **name)
    observed.pod("c", start=100, end=200, name="train-c", attempt=2, rank=1, **name)
    save = (
        "saving checkpoint at iteration 5 to /c\n",
        "successfully saved checkpoint from iteration 5",
    )
    observed.log("train-a.log", _steps((5, 50)) + _line(60, save[0]) + _line(70, save[1]))
    observed.log("train-b.log", _line(110, "loading checkpoint from /c at iteration 5"))
    observed.log("train-c.log", _line(120, "RuntimeError: PytorchStreamReader failed reading zip"))
    observed.build()
    assert observed.rows(
        "select attempt, step, write_start, committed_at, invalid_at from observed.checkpoints_log"
    ) == [(1, 5, 60, 70, 120)]


def test_a_log_without_times_is_the_first_attempt(observed):
    observed.log("x.log", "iter 0: loss 4.1, time 90.1ms\n")
    observed.build()
    assert observed.rows("select attempt from observed.log_attempts") == [(1,)]


def _timers(clock, times):
    ranks = "".join(f"     rank {rank:2d}: {ms:.2f}\n" for rank, ms in enumerate(times))
    step = int(clock[:2])
    return (
        f" [2026-01-05 00:{clock}] iteration {step}/ 100 | elapsed time per iteration (ms): 1.0 |\n"
        f"times across ranks (ms):\n  forward-compute:\n{ranks}  forward-backward:\n"
        f"     rank  0: 9000.00\n"
    )


def test_the_rank_that_is_slowest_in_most_reports_of_timers_is_evidence(observed):
    slow, even = [100, 101, 140, 100], [100, 101, 100, 100]
    text = "[before the start of training step] datetime: 2026-01-05 00:00:30 \n" + "".join(
        _timers(f"0{n}:00", slow) for n in range(1, 5)
    )
    observed.log("run/x.log", text + _timers("05:00", even), job="j", attempt=1)
    observed.build()
    query = 'select value, rank, node_uid, "from", "to" from observed.evidence_ranks order by 4'
    assert observed.rows(query) == [
        ("rank 2", 2, None, 30, 60),
        ("rank 2", 2, None, 60, 120),
        ("rank 2", 2, None, 120, 180),
        ("rank 2", 2, None, 180, 240),
    ]


def test_a_rank_that_is_slowest_now_and_then_is_none(observed):
    times = ([100, 140, 100], [140, 100, 100], [100, 100, 140], [100, 140, 100])
    text = "".join(_timers(f"0{n}:00", slow) for n, slow in enumerate(times, 1))
    observed.log("run/x.log", text, job="j", attempt=1)
    observed.build()
    assert observed.rows("select count(*) from observed.evidence_ranks") == [(0,)]


def test_ranks_that_a_straggler_detector_names_are_evidence_on_their_pods_node(observed):
    text = """\
2026-01-05T00:00:10Z step=1 loss=2
2026-01-05T00:01:00Z GPU relative performance:
2026-01-05T00:01:00Z Rank=5 Node=train-1 Score=0.60
2026-01-05T00:02:00Z GPU relative performance:
2026-01-05T00:02:00Z STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. \
Affected ranks: {StragglerId(rank=5, node='train-1'), StragglerId(rank=9, node='other')}
"""
    observed.pod("u-0", start=0, end=200, job="j", attempt=1, name="train-0", node_uid="n0")
    observed.pod("u-1", start=0, end=200, job="j", attempt=1, name="train-1", node_uid="n1")
    observed.log("run/x.log", text, job="j", attempt=1)
    observed.build()
    query = 'select value, rank, node_uid, pod_uid, "from", "to" from observed.evidence_ranks'
    assert sorted(observed.rows(query)) == [
        ("rank 5 on train-1", 5, "n1", "u-1", 60, 120),
        ("rank 9 on other", 9, None, None, 60, 120),
    ]


def _rank_logs(observed, seconds_by_rank, steps):
    """A log of each rank, on a node of its own, that measures the rank's own work."""
    for rank, seconds in enumerate(seconds_by_rank):
        uid, end = f"u-{rank}", steps * 10 + 10
        node = {"node_uid": f"n{rank}", "rank": rank}
        observed.pod(uid, start=0, end=end, job="j", attempt=1, name=uid, **node)
        text = "".join(
            _line(n * 10, f"completed step: {n}, seconds: {seconds}") for n in range(1, steps + 1)
        )
        observed.log(f"logs/{uid}.log", text, pod_uid=uid)
    observed.build()


def test_a_rank_whose_own_log_shows_longer_steps_is_evidence_on_its_node(observed):
    _rank_logs(observed, [5.0, 5.1, 7.5, 5.0], 6)
    query = 'select value, rank, node_uid, "from", "to" from observed.evidence_paces'
    assert observed.rows(query) == [("rank 2", 2, "n2", 2.5, 60)]


def test_ranks_in_lock_step_name_none(observed):
    _rank_logs(observed, [5.0, 5.1, 5.2, 5.0], 6)
    assert observed.rows("select count(*) from observed.evidence_paces") == [(0,)]


def test_few_steps_or_ranks_are_too_little_to_compare(observed):
    _rank_logs(observed, [5.0, 5.1, 7.5], 4)
    assert observed.rows("select count(*) from observed.evidence_paces") == [(0,)]
