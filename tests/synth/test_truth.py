"""The truth partitions what is paid, and every kind of fault occurs."""

from collections import defaultdict

import pytest

from goodput.synth.fleet import UNITS
from goodput.synth.plan import simulate
from goodput.synth.truth import ledger

FAULTS = {
    "app.code",
    "app.oom_gpu",
    "cancel",
    "corrupt",
    "ecc",
    "gsp",
    "link",
    "maintenance",
    "notready",
    "oom_host",
    "preemption",
    "rollback",
    "silent",
    "storage",
    "storage stall",
    "thermal",
    "xid79",
}
STATES = {
    "A.ckpt_save",
    "A.eval",
    "A.gang_wait",
    "A.hang",
    "A.init",
    "A.lost.abandoned",
    "A.lost.failed_start",
    "A.lost.recompute",
    "A.lost.rollback",
    "A.other",
    "A.overhead",
    "A.productive.committed",
    "A.productive.provisional",
    "A.restart_loop",
    "A.restore",
    "A.slow",
    "A.startup",
    "A.teardown",
    "I.no_demand",
    "I.sched_delay",
    "I.shortfall",
    "U.cordoned",
    "U.draining",
    "U.not_ready",
    "U.provisioning",
    "U.repair.reboot",
    "U.repair.replace",
    "U.repair.reset",
    "U.stale",
    "U.unhealthy",
    "U.unlaunched",
}


@pytest.fixture(scope="module", params=range(1, 5))
def any_fleet(week, request):
    return simulate(int(week.start.timestamp()), request.param)


def test_the_amounts_sum_to_what_is_paid(any_fleet):
    truth = ledger(any_fleet)
    assert sum(e.unit_ms for e in truth.entries) == truth.paid
    assert sum(truth.by_visible_cause().values()) == truth.paid


def test_no_device_is_booked_twice_or_not_at_all(any_fleet):
    spans = defaultdict(list)
    for e in ledger(any_fleet).entries:
        if e.node_uid:
            spans[e.node_uid, e.device].append((e.start, e.end, e.units))
    for rows in spans.values():
        change = defaultdict(int)
        for start, end, units in rows:
            change[start] += units
            change[end] -= units
        moments = sorted(change)
        held = 0
        for moment in moments[:-1]:
            held += change[moment]
            assert held == UNITS
        assert held + change[moments[-1]] == 0


def test_every_kind_of_fault_and_every_state_occurs(fleet):
    assert {kind for _, kind, _ in fleet.sim.trace.faults} == FAULTS
    assert {e.state for e in ledger(fleet).entries} == STATES


def test_the_lemon_is_hit_four_times(fleet):
    hit = [name for _, kind, name in fleet.sim.trace.faults if kind in ("xid79", "gsp")]
    assert hit.count("train-a-05") == 4


def test_jobs_end_in_every_way(fleet):
    assert {job.state for job in fleet.sim.jobs} == {"succeeded", "failed", "cancelled", "running"}


def test_the_same_seed_is_the_same_week_and_another_is_not(week, fleet):
    start = int(week.start.timestamp())
    again = ledger(simulate(start, 1)).by_cause()
    assert again == ledger(fleet).by_cause()
    assert again != ledger(simulate(start, 2)).by_cause()
