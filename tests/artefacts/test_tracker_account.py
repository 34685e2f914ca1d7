"""What recorder events mean: attempts, steps, checkpoints, made-up nodes, and the two views."""

import json

import pytest
from artefact_account import EPOCH, account, at, merged, publish, seconds, stream

from goodput.lake import Lake
from goodput.sources import trackers


def resiliency(case, *events):
    """Events as (seconds, kind) or (seconds, kind, rank or step)."""
    lines = []
    for second, kind, *number in events:
        key = "node_rank" if kind.startswith("job_") else "step"
        stamp = at(second).replace(tzinfo=None).isoformat()
        entry = {"job_name": "j", "event_type": kind, "timestamp": stamp}
        lines.append(json.dumps(entry | ({key: float(number[0])} if number else {})))
    return trackers.read(stream("\n".join(lines)), {"cluster": case, "file": case, "gpus": "2"})


def start(at):
    return {"job_start_time": EPOCH + at}


def steps(*pairs):
    return [{"step_count": step, "step_start_time": EPOCH + at} for step, at in pairs]


def span(what, begin, end):
    return [{f"{what}_start_time": EPOCH + begin}, {f"{what}_end_time": EPOCH + end}]


def custom(kind, begin, end):
    return [
        {"custom_badput_event_type": kind, f"custom_badput_event_{edge}_time": EPOCH + second}
        for edge, second in (("start", begin), ("end", end))
    ]


def save(step, at, duration, *, synchronous=True, waited=0.0):
    return {
        "step": step,
        "event_type": "save",
        "directory": "gs://b/run",
        "synchronous": synchronous,
        "wait_for_prev_start_time": EPOCH + at,
        "wait_for_prev_duration_secs": waited,
        "checkpoint_manager_blocking_start_time": EPOCH + at,
        "checkpoint_manager_blocking_duration_secs": duration,
    }


def library(case, *parts):
    entries = []
    for part in parts:
        entries += part if isinstance(part, list) else [part]
    text = "\n".join(json.dumps({"job_name": "j", **entry}) for entry in entries)
    return trackers.read(stream(text), {"cluster": case, "file": case, "gpus": "1"})


def end(at):
    return {"job_end_time": EPOCH + at}


CASES = merged(
    # The example of the recorder's guide, in minutes: load 25 at 5, save 50 at 60, crash at 100,
    # restart at 115, load 50 at 120, save 75 at 200.
    resiliency(
        "guide",
        (0, "job_started", 0),
        (300, "checkpoint_loaded", 25),
        (3600, "checkpoint_saved", 50),
        (6900, "job_started", 0),
        (7200, "checkpoint_loaded", 50),
        (12000, "checkpoint_saved", 75),
        (12000, "user_terminated"),
    ),
    # Two nodes. The second gang starts while nothing else was logged; the third loses a node.
    resiliency(
        "gangs",
        (0, "job_started", 0),
        (4, "job_started", 1),
        (100, "job_started", 1),
        (102, "job_started", 0),
        (150, "checkpoint_loaded", 10),
        (250, "checkpoint_saved", 20),
        (300, "job_started", 0),
        (330, "checkpoint_loaded", 20),
        (400, "job_terminated", 0),
    ),
    # No load at all: the first save counts from nothing, the next attempt's from the save before.
    resiliency(
        "scratch",
        (0, "user_scheduled"),
        (10, "job_started", 0),
        (110, "checkpoint_saved", 10),
        (150, "job_started", 0),
        (250, "checkpoint_saved", 20),
    ),
    library("plain", start(0), steps((0, 5), (1, 8), (2, 11), (3, 14), (4, 17)), end(20)),
    library(
        "compiled",
        start(0),
        span("tpu_init", 0, 1),
        span("data_loading", 1, 3),
        steps((0, 5), (1, 13), (2, 16)),
        span("data_loading", 17, 18),
        steps((3, 19), (4, 22)),
        start(30),
        steps((2, 35), (3, 43), (4, 46)),
        end(49),
    ),
    library(
        "resumed",
        start(0),
        steps((0, 5), (1, 8), (2, 11)),
        start(1000),
        steps((3, 1120), (4, 1123)),
        end(1126),
    ),
    library("sparse", start(0), steps((0, 0), (10, 30), (20, 60)), end(90)),
    library(
        "twice",
        start(0),
        steps((0, 0), (1, 3), (2, 6), (3, 9)),
        start(100),
        span("tpu_init", 100, 130),
        start(200),
        steps((2, 230), (3, 233)),
        end(236),
    ),
    library(
        "saved",
        start(0),
        steps((0, 0), (1, 10)),
        save(0, 12, 4),
        save(0, 12.5, 2),
        steps((2, 20), (3, 30)),
        save(2, 32, 1, synchronous=False),
        steps((4, 40)),
        save(4, 45, 1, synchronous=False, waited=2),
        end(50),
    ),
    library(
        "custom", start(0), steps((0, 0), (1, 10)), custom("eval", 12, 16), steps((2, 24)), end(34)
    ),
    library("tail", start(0), steps((0, 0), (1, 3), (2, 6)), end(15)),
    library("running", start(0), steps((0, 0), (1, 3)), start(40), steps((0, 50))),
)


@pytest.fixture(scope="module")
def con(tmp_path_factory):
    with account(tmp_path_factory.mktemp("lake"), CASES, ideal_step_seconds="120") as built:
        yield built


@pytest.fixture
def rows(con):
    def query(sql, case):
        found = con.execute(sql, [case]).fetchall()
        return [tuple(map(seconds, row)) for row in found]

    return query


ATTEMPTS = """
    select attempt, started_at, ended_at, outcome, resume_step
    from staged.attempts where cluster = ? order by attempt
"""
STEPS = """
    select attempt, first, last, started_at, ended_at
    from staged.steps where cluster = ? order by started_at
"""
PHASES = """
    select attempt, kind, started_at, ended_at
    from staged.phases where cluster = ? order by started_at, kind
"""
CHECKPOINTS = """
    select attempt, step, write_started_at, committed_at
    from staged.checkpoints where cluster = ? order by write_started_at
"""
PODS = """
    select attempt, rank, bound_at, running_at, released_at
    from staged.pods where cluster = ? order by attempt, rank
"""


def test_between_load_and_saves_lie_the_steps_that_the_recorder_does_not_log(rows):
    assert rows(STEPS, "guide") == [(1, 26, 50, 300, 3600), (2, 51, 75, 7200, 12000)]
    assert rows(CHECKPOINTS, "guide") == [(1, 50, 3600, 3600), (2, 75, 12000, 12000)]
    assert rows(PHASES, "guide") == [(1, "restore", 0, 300), (2, "restore", 6900, 7200)]


def test_a_repeated_rank_or_an_event_in_between_begins_an_attempt(rows):
    assert rows(ATTEMPTS, "gangs") == [
        (1, 0, 100, "failed", None),
        (2, 100, 300, "failed", 10),
        (3, 300, 400, "failed", 20),
    ]


def test_a_rank_is_a_node_that_its_pods_hold_until_the_next_attempt(rows):
    assert rows(PODS, "gangs") == [
        (1, 0, 0, 0, 100),
        (1, 1, 0, 4, 100),
        (2, 0, 100, 102, 300),
        (2, 1, 100, 100, 300),
        (3, 0, 300, 300, 400),
    ]
    nodes = (
        "select node_uid, gpus, paid_from, paid_to from staged.nodes where cluster = ? order by 1"
    )
    assert rows(nodes, "gangs") == [("j/node-0", 2, 0, 400), ("j/node-1", 2, 0, 400)]


def test_a_save_without_a_load_counts_from_the_save_before(rows):
    assert rows(STEPS, "scratch") == [(1, 1, 10, 10, 110), (2, 11, 20, 150, 250)]
    jobs = "select state, ended_at, submitted_at from staged.jobs where cluster = ?"
    assert rows(jobs, "scratch") == [("running", None, 0)]


def test_a_step_lasts_until_the_next_and_the_last_one_until_the_job_ends(rows):
    assert rows(STEPS, "plain") == [
        (1, 0, 0, 5, 8),
        (1, 1, 1, 8, 11),
        (1, 2, 2, 11, 14),
        (1, 3, 3, 14, 17),
        (1, 4, 4, 17, 20),
    ]


def test_what_the_first_step_takes_beyond_the_others_is_compilation(rows):
    assert rows(PHASES, "compiled") == [
        (1, "init", 0, 1),
        (1, "init", 1, 3),
        (1, "compile", 5, 10),
        (2, "compile", 35, 40),
    ]
    assert rows(STEPS, "compiled")[0] == (1, 0, 0, 10, 13)


def test_an_attempt_ends_with_its_last_sign_of_progress(rows):
    assert rows(ATTEMPTS, "compiled") == [
        (1, 0, 22, "failed", None),
        (2, 30, 49, "succeeded", None),
    ]


def test_a_step_after_which_the_next_attempt_goes_on_was_done(rows):
    assert rows(ATTEMPTS, "resumed")[0] == (1, 0, 14, "failed", None)
    assert rows(STEPS, "resumed")[2:4] == [(1, 2, 2, 11, 14), (2, 3, 3, 1120, 1123)]


def test_a_job_that_logs_every_tenth_step_does_them_all(rows):
    assert rows(STEPS, "sparse") == [(1, 0, 9, 0, 30), (1, 10, 19, 30, 60), (1, 20, 29, 60, 90)]


def test_an_attempt_without_steps_is_over_when_the_next_starts(rows):
    assert rows(ATTEMPTS, "twice") == [
        (1, 0, 9, "failed", None),
        (2, 100, 200, "failed", None),
        (3, 200, 236, "succeeded", None),
    ]


def test_hosts_that_log_one_save_are_one_save_and_an_asynchronous_one_commits_later(rows):
    assert rows(PHASES, "saved") == [
        (1, "ckpt_save", 12, 15),
        (1, "ckpt_save", 32, 33),
        (1, "ckpt_save", 45, 46),
    ]
    assert rows(CHECKPOINTS, "saved") == [(1, 0, 12, 15), (1, 2, 32, 47), (1, 4, 45, None)]


def test_a_silent_tail_is_no_step(rows):
    assert rows(STEPS, "tail")[-1] == (1, 2, 2, 6, 9)


RESILIENCY = "select numerator, denominator, value from views.resiliency_goodput where cluster = ?"


def test_the_recorders_own_number_is_a_view(rows):
    # 50 steps of 2 minutes in 200 minutes.
    assert rows(RESILIENCY, "guide") == [(6000, 12000, 0.5)]


LIBRARY = "select numerator, denominator, value from views.ml_goodput where cluster = ?"


@pytest.mark.parametrize(
    ("case", "numerator", "denominator"),
    [
        ("plain", 15, 20),
        # Attempt 1: steps 0 and 1 without the compilation, 6; attempt 2: 9.
        ("compiled", 15, 49),
        # The library sees no restart and books the outage as step 2.
        ("resumed", 1121, 1126),
        # Only the last step counts where numbers do not follow each other.
        ("sparse", 30, 90),
        ("twice", 12, 236),
        # 50 s of steps less saves of 3, 1 and 1 s.
        ("saved", 45, 50),
        ("custom", 30, 34),
        ("tail", 15, 15),
        ("running", 0, 86400),
    ],
)
def test_the_librarys_own_number_is_a_view(rows, case, numerator, denominator):
    assert rows(LIBRARY, case) == [
        (numerator, denominator, pytest.approx(numerator / denominator, rel=1e-12))
    ]


LEDGER = """
    select state, sum(unit_ms) / 5040 / 1000 from ledger.gpu_time
    where cluster = ? group by state order by state
"""


def test_the_ledger_tells_an_outage_from_work(rows):
    assert rows(LEDGER, "resumed") == [
        ("A.init", 5 + 120),
        ("A.productive.committed", 9 + 6),
        ("A.teardown", 1000 - 14),
    ]


def test_a_job_that_kubernetes_knows_keeps_its_nodes_and_attempts(tmp_path):
    lake = Lake.open(str(tmp_path), create=True)
    known = {
        "nodes": [{"cluster": "guide", "node_uid": "n", "gpus": 2, "registered_at": at(0)}],
        "jobs": [{"cluster": "guide", "job": "uid-1", "name": "j", "state": "running"}],
        "attempts": [
            {"cluster": "guide", "job": "uid-1", "attempt": 7, "start": at(0), "end": at(6800)},
            {"cluster": "guide", "job": "uid-1", "attempt": 8, "start": at(6850)},
        ],
    }
    publish(lake, known)
    guide = {"tracker_events": [r for r in CASES["tracker_events"] if r["cluster"] == "guide"]}
    with account(tmp_path, guide) as con:
        steps_found = con.execute("select job, attempt, first, last from staged.steps order by 3")
        assert steps_found.fetchall() == [("uid-1", 7, 26, 50), ("uid-1", 8, 51, 75)]
        assert con.execute("select node_uid from staged.nodes").fetchall() == [("n",)]
        assert con.execute("select count(*) from staged.attempts").fetchall() == [(2,)]
