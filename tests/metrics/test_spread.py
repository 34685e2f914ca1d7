"""Intervals of ratios of sums: the delete-one jackknife in SQL beside the one in Python."""

import pytest
from small_fleets import CLUSTER

from goodput.estimates import standard_error_of_ratio

# STANDARD 5.12, and one job more, since four are too few for an interval.
JOBS = [(40, 50), (90, 100), (0, 30), (70, 80), (15, 60)]


def goodput(model, jobs, idle=0):
    """Value, low and high of the fleet's goodput of paid time, with so many hours per job."""
    rows = [
        f"c  c  train  j{n}  {state}  {paid}  true  true  {hours} gs"
        for n, (productive, whole) in enumerate(jobs)
        for state, paid, hours in (
            ("A.productive.committed", "true", productive),
            ("A.lost.recompute", "false", whole - productive),
        )
    ]
    rows.append(f"c  c  train  -  I.no_demand  false  false  true  {idle} gs")
    model.given(
        "rollups.gpu_time",
        "cluster  member  pool  job  state  is_productive  is_allocated  is_available  unit_ms\n"
        + "\n".join(rows),
    )
    model.rebuild("metrics.goodput")
    [found] = model.con.sql(
        "select value, low, high from metrics.goodput"
        " where metric = 'goodput_paid' and scope = 'fleet'"
    ).fetchall()
    return found


@pytest.mark.parametrize("idle", [0, 500])
def test_goodput_varies_as_its_jobs_do(model, idle):
    value, low, high = goodput(model, JOBS, idle)

    error = standard_error_of_ratio(JOBS, (0, idle))
    assert value == pytest.approx(215 / (320 + idle))
    assert low == pytest.approx(max(0, value - 1.959963984540054 * error), rel=1e-12)
    assert high == pytest.approx(min(1, value + 1.959963984540054 * error), rel=1e-12)


@pytest.mark.parametrize("jobs", [JOBS[:4], [(10, 20)] * 8])
def test_few_jobs_and_jobs_that_are_all_alike_tell_of_no_spread(model, jobs):
    assert goodput(model, jobs)[1:] == (None, None)


def test_availability_varies_as_its_nodes_do(model):
    nodes = [(90, 100), (100, 100), (100, 100), (40, 50), (100, 100), (99, 100)]
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "rollups.node_health",
        "cluster  node_uid  pool  service_ms  ok_closed_ms\n"
        + "\n".join(f"c  n{i}  train  {whole}  {part}" for i, (part, whole) in enumerate(nodes)),
    )
    model.rebuild("metrics.availability")
    [(low, high, single)] = model.con.sql(
        "select any_value(low) filter (scope = 'pool'), any_value(high) filter (scope = 'pool'),"
        " count(low) filter (scope = 'node') from metrics.availability"
        " where metric = 'node_availability_closed'"
    ).fetchall()

    error = standard_error_of_ratio(nodes)
    assert low == pytest.approx(529 / 550 - 1.959963984540054 * error, rel=1e-12)
    assert high == 1
    assert single == 0
