"""The half day of conftest.py, replayed: what each change moves, to the GPU-minute."""

import json
import math
from datetime import UTC, datetime

import pytest

from goodput.errors import UsageError
from goodput.lake import Lake
from goodput.warehouse.build import build
from goodput.warehouse.connection import connect
from goodput.warehouse.whatif import Change, _spares, replay
from goodput.window import Window

GPU_MINUTE = 5040 * 60_000
PAID = 3 * 8 * 12 * 60

BEFORE = {
    # 60 minutes of llama's first attempt were saved, all 240 of its second, 50 of flaky.
    "A.productive.committed": (60 + 240) * 16 + 50 * 8,
    "A.lost.recompute": 47 * 16,
    "A.lost.abandoned": 5 * 8,
    "A.ckpt_save": 3 * 16,
    "A.init": 20 * 16 + 5 * 8,
    "A.hang": 60 * 8,
    "A.restart_loop": 20 * 8,
    "A.other": 240 * 8,
    "I.shortfall": 60 * 8,
    "U.repair.reset": 180 * 8,
}


def minutes(states, side):
    """{state: GPU-minutes}, exactly, without idle time that nobody wanted."""
    amounts = {row.state: getattr(row, f"{side}_unit_ms") for row in states}
    assert not [amount for amount in amounts.values() if amount % GPU_MINUTE]
    return {
        state: amount // GPU_MINUTE
        for state, amount in amounts.items()
        if amount and state != "I.no_demand"
    }


def moved(con, **change):
    """{state: GPU-minutes more than before}, where it moved; both sides sum to what is paid."""
    states = replay(con, Change(**change))
    sums = [sum(getattr(row, f"{side}_unit_ms") for row in states) for side in ("before", "after")]
    spares = change.get("spares", 0)
    assert sums == [PAID * GPU_MINUTE, (PAID + spares * 8 * 12 * 60) * GPU_MINUTE]
    deltas = {row.state: row.after_unit_ms - row.before_unit_ms for row in states}
    assert not [delta for delta in deltas.values() if delta % GPU_MINUTE]
    return {state: delta // GPU_MINUTE for state, delta in deltas.items() if delta}


def test_before_is_the_ledger_as_it_was_booked(small):
    states = replay(small, Change(restart_s=600))

    assert minutes(states, "before") == BEFORE


def test_a_restart_that_takes_as_long_as_it_did_changes_nothing(small):
    assert moved(small, restart_s=600) == {}


def test_checkpoints_more_often_lose_less_and_cost_more(small):
    # llama saves for a minute (3 minutes, 3 checkpoints). Its first attempt works for 110 minutes:
    # three rounds of 29 + 1, then 20 are lost. Its second ends well after 240: eight saves.
    llama = {
        "A.lost.recompute": (20 - 47) * 16,
        "A.ckpt_save": (11 - 3) * 16,
        "A.productive.committed": (87 + 232 - 300) * 16,
    }
    assert moved(small, checkpoint_interval_s=29 * 60, job="llama") == llama
    # flaky saves at no cost and dies in its 55th minute, 26 after the last save.
    assert moved(small, checkpoint_interval_s=29 * 60) == {
        **llama,
        "A.lost.abandoned": (26 - 5) * 8,
        "A.productive.committed": llama["A.productive.committed"] - (26 - 5) * 8,
    }


def test_an_attempt_that_never_gets_to_save_loses_all_its_work(small):
    found = moved(small, checkpoint_interval_s=3 * 3600, job="j-1")

    # 110 minutes without a save; the second attempt saves once in 240 minutes.
    assert found["A.lost.recompute"] == (110 - 47) * 16
    assert found["A.ckpt_save"] == (1 - 3) * 16


def test_a_shorter_restart_becomes_work(small):
    assert moved(small, restart_s=300) == {
        "A.init": -5 * 16,
        "A.productive.committed": 5 * 16,
    }


def test_a_longer_restart_takes_work_but_no_more_than_there_was(small):
    assert moved(small, restart_s=1200) == {
        "A.init": 10 * 16,
        "A.productive.committed": -10 * 16,
    }
    assert moved(small, restart_s=10 * 3600) == {
        "A.init": 240 * 16,
        "A.productive.committed": -240 * 16,
    }


def test_a_spare_stands_in_while_the_job_would_have_waited(small):
    # gpu-2 stood idle for the hour, the spare takes the place of gpu-1; it is paid all day.
    assert moved(small, spares=1) == {
        "I.shortfall": -60 * 8,
        "A.productive.committed": 60 * 16,
        "A.standby": (12 * 60 - 60) * 8,
    }
    assert moved(small, spares=2)["A.standby"] == (2 * 12 * 60 - 60) * 8


def test_as_many_spares_as_there_may_be_are_counted_to_the_unit(small):
    assert moved(small, spares=100_000)["A.standby"] == (100_000 * 12 * 60 - 60) * 8


def test_a_spare_is_taken_until_the_failed_node_is_back(model):
    model.given(
        "staged.nodes",
        """
        cluster  node_uid  pool   gpus
        c        n-1       train  8
        """,
    )
    model.given(
        "intervals.attribution",
        """
        cluster  job  attempt  node_uid  class
        c        J1   1        n-1       gpu.lost
        c        J2   1        n-1       gpu.lost
        c        J3   1        n-1       gpu.lost
        """,
    )
    model.given(
        "intervals.lineage_attempts",
        """
        cluster  job  attempt  ended_ms  next_started_ms
        c        J1   1        1000      3000
        c        J2   1        2000      4000
        c        J3   1        3000      5000
        """,
    )
    model.con.execute("set variable window_start_ms = 0")
    model.con.execute("set variable window_end_ms = 9000")
    model.con.execute("set variable healed_nodes = []::varchar[]")

    taken = [[use["job"] for use in _spares(model.con, count)[0]] for count in (1, 2)]
    assert taken == [["J1", "J3"], ["J1", "J2", "J3"]]


def test_without_a_node_its_failures_never_happen(small):
    # What was lost and the second init become work, and so does the hour on both nodes of the gang;
    # for the rest of its repair gpu-1 would have been free.
    assert moved(small, without_nodes=["gpu-1"]) == {
        "A.lost.recompute": -47 * 16,
        "A.init": -10 * 16,
        "I.shortfall": -60 * 8,
        "U.repair.reset": -180 * 8,
        "A.productive.committed": (47 + 10 + 60) * 16,
        "I.no_demand": 120 * 8,
    }
    assert moved(small, without_nodes=["gpu-2", "n-3"]) == {}


def test_changes_add_up_in_one_replay(small):
    # Without its failure llama is one run, of 110 + 60 + 10 + 240 minutes, that ends well: fourteen
    # rounds of 29 + 1 and nothing lost.
    found = moved(small, without_nodes=["gpu-1"], checkpoint_interval_s=29 * 60, job="llama")

    assert found["A.lost.recompute"] == -47 * 16
    assert found["A.ckpt_save"] == (14 - 3) * 16
    assert found["A.productive.committed"] == (420 - 14 - 300) * 16


def test_where_only_success_counts_no_work_of_a_failed_job_does(small_lake, tmp_path):
    window = Window(datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 2, 12, tzinfo=UTC))
    target = tmp_path / "strict.duckdb"
    build(Lake.open(small_lake), window, params={"credit": "success_only"}, target=target)

    with connect(target, read_only=True) as con:
        # flaky is worth nothing however often it saves; the hang of an hour stays one.
        assert moved(con, checkpoint_interval_s=60, job="flaky") == {}
        assert moved(con, restart_s=300, job="llama") == {
            "A.init": -5 * 16,
            "A.productive.committed": 5 * 16,
        }


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "nothing is changed"),
        ({"job": "llama"}, "nothing is changed"),
        *[
            (
                {"checkpoint_interval_s": value},
                f"a checkpoint interval is 1 to 1000000000 seconds, not {value}$",
            )
            for value in (0, math.nan, math.inf)
        ],
        ({"restart_s": -1}, "a restart takes 0 to 1000000000 seconds, not -1$"),
        ({"restart_s": math.nan}, "a restart takes 0 to 1000000000 seconds, not nan$"),
        ({"spares": -1}, "a pool has 0 to 100000 spares, not -1$"),
        ({"spares": 10**9}, "a pool has 0 to 100000 spares, not 1000000000$"),
        ({"without_nodes": ["gpu-9"]}, "there is no node 'gpu-9' in this build"),
        ({"restart_s": 5, "job": "gpt"}, "there is no job 'gpt' in this build; known are"),
        ({"restart_s": 5, "job": "lama"}, "no job 'lama' in this build; did you mean llama"),
    ],
)
def test_what_cannot_be_replayed_is_refused(small, change, words):
    with pytest.raises(UsageError, match=words):
        replay(small, Change(**change))


def test_the_verb_prints_the_states_and_the_sums(goodput):
    result = goodput("what-if", "--without-node", "gpu-1", "-o", "json")

    assert result.exit_code == 0
    rows = {row["state"]: row for row in json.loads(result.stdout)}
    assert rows["A.productive.committed"]["delta_gpu_hours"] == 117 * 16 / 60
    assert rows["U.repair.reset"]["after_unit_ms"] == 0
    assert "paid 288.0 GPU-hours before, 288.0 after" in result.stderr
    assert "goodput 30.09% before, 40.93% after" in result.stderr


def test_the_verb_refuses_what_it_cannot_replay(goodput):
    result = goodput("what-if", "--spares", "300000")

    assert result.exit_code == 2
    assert result.stderr == "error: a pool has 0 to 100000 spares, not 300000\n"

    result = goodput("what-if", "--without-node", "gpu-9")

    assert result.exit_code == 2
    assert result.stderr == (
        "error: there is no node 'gpu-9' in this build;"
        " did you mean gpu-3 (n-3), gpu-2 (n-2), gpu-1 (n-1)\n"
    )
