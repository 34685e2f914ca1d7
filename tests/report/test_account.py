"""Rounding and the sums that must hold on the page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goodput.report.account import make_account
from goodput.report.rounding import UNITS_PER_GPU_HOUR, apportion, decimals_for, ticks_of

HOUR = UNITS_PER_GPU_HOUR
GROUPS = [
    {"state_group": "hang", "label": "Hanging", "kind": "loss"},
    {"state_group": "slow", "label": "Slow", "kind": "loss"},
    {"state_group": "overhead", "label": "Overhead", "kind": "overhead"},
    {"state_group": "productive", "label": "Productive", "kind": "productive"},
]


def state(name, group, unit_ms):
    return {
        "state": name,
        "state_label": name,
        "state_group": group,
        "unit_ms": unit_ms,
        "gpu_hours": unit_ms / HOUR,
    }


def test_largest_remainders_round_up():
    assert apportion([1, 1, 1], 10) == [4, 3, 3]
    assert apportion([148, 271], 10) == [4, 6]
    assert apportion([0, 5], 3) == [0, 3]
    assert apportion([0, 0], 0) == [0, 0]


@given(st.lists(st.integers(0, 10**18), min_size=1, max_size=30), st.integers(0, 10**6))
def test_parts_sum_to_the_total_and_are_off_by_less_than_one(amounts, total):
    parts = apportion(amounts, total)
    whole = sum(amounts)
    assert sum(parts) == (total if whole else 0)
    assert all(
        abs(part * whole - amount * total) < whole
        for part, amount in zip(parts, amounts, strict=True)
        if whole
    )


@pytest.mark.parametrize(
    ("hours", "decimals"),
    [(0, 3), (2e-6, 9), (0.99, 4), (9.99, 3), (10, 2), (99, 2), (100, 1), (1000, 0), (1e6, 0)],
)
def test_four_digits_are_shown(hours, decimals):
    assert decimals_for(int(hours * HOUR), 0) == decimals


@pytest.mark.parametrize(
    ("lost", "decimals"), [(0, 0), (0.02, 3), (0.5, 2), (5.33, 1), (9.99, 1), (10, 0), (1000, 0)]
)
def test_two_digits_of_a_small_loss_are_shown(lost, decimals):
    assert decimals_for(2688 * HOUR, int(lost * HOUR)) == decimals


def test_ticks_round_half_up():
    assert ticks_of(HOUR * 5 // 2, 0) == 3
    assert ticks_of(HOUR * 5 // 2, 1) == 25


def test_every_table_adds_up_to_the_same_totals():
    # 3 x 333.4 hours lost and 1000.2 productive: rounded one by one they would make 1999.
    states = [
        state("A.hang", "hang", 3334 * HOUR // 10),
        state("A.slow", "slow", 3334 * HOUR // 10),
        state("A.ckpt_save", "overhead", 3334 * HOUR // 10),
        state("A.productive.committed", "productive", 10002 * HOUR // 10),
    ]
    classes = [
        {"class": "gpu.lost", "unit_ms": 3334 * HOUR // 10},
        {"class": "unk.slow", "unit_ms": 3334 * HOUR // 10},
        {"class": "base.overhead", "unit_ms": 3334 * HOUR // 10},
    ]
    mechanisms = [
        {"class": "gpu.lost", "state_group": "hang", "unit_ms": 3334 * HOUR // 10},
        {"class": "unk.slow", "state_group": "slow", "unit_ms": 3334 * HOUR // 10},
        {"class": "base.overhead", "state_group": "overhead", "unit_ms": 3334 * HOUR // 10},
    ]
    account = make_account(states, GROUPS, classes, mechanisms)
    assert account.decimals == 0
    assert account.totals == {
        "paid": 2000.4,
        "productive": 1000.2,
        "lost": 666.8,
        "overhead": 333.4,
        "unclaimed": 0,
    }
    assert account.shown == {
        "paid": 2000,
        "productive": 1000,
        "lost": 667,
        "overhead": 333,
        "unclaimed": 0,
    }
    assert [step["shown_gpu_hours"] for step in account.steps] == [334, 333, 333, 1000]
    assert sum(step["shown_percent"] for step in account.steps) == pytest.approx(100)
    assert [row["shown_gpu_hours"] for row in account.classes] == [334, 333, 333]
    assert [row["shown_gpu_hours"] for row in account.mechanisms] == [334, 333, 333]
    assert not any("unit_ms" in row for row in account.classes + account.mechanisms)


def test_the_last_step_stands_even_without_productive_time():
    account = make_account([state("A.hang", "hang", HOUR)], GROUPS, [], [])
    assert [(step["state_group"], step["shown_gpu_hours"]) for step in account.steps] == [
        ("hang", 1),
        ("productive", 0),
    ]


def test_paid_time_without_any_loss_is_all_productive():
    account = make_account([state("A.productive.committed", "productive", HOUR)], GROUPS, [], [])
    assert account.totals["paid"] == account.totals["productive"] == 1
    assert account.totals["lost"] == account.totals["unclaimed"] == 0
