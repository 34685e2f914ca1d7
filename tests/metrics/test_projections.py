"""Projections of the time between failures, and how failures bunch.

The projections are rows of the accounting standard's mttf_projection.csv (RSC-1 and RSC-2 rates, as
quoted from the Meta RSC paper): 16,384 GPUs at 6.5 failures per 1000 node-days last 1.80 h.
"""

import pytest
from small_fleets import CLUSTER

from goodput.warehouse.estimates import fill_intervals


@pytest.mark.parametrize(
    ("job_gpus", "incidents", "node_days", "hours"),
    [
        (4096, 65, 10_000, 7.211538),
        (4096, 234, 100_000, 20.032051),
        (8, 65, 10_000, 3692.307692),
    ],
)
def test_hardware_bounds_the_time_between_failures_of_a_job(
    model, job_gpus, incidents, node_days, hours
):
    model.given("rollups.clusters", CLUSTER)
    model.given("staged.nodes", "cluster  node_uid  gpus\nc  n1  8")
    model.given(
        "rollups.node_health",
        f"cluster  node_uid  service_ms\nc  n1  {node_days * 86_400_000}",
    )
    model.given("rollups.attempts", "cluster  job  attempt  gpus  running_ms\nc  A  1  1024  1")
    rows = "\n".join(f"c  n1  gpu.lost  i{n}" for n in range(incidents))
    model.given(
        "rollups.node_failures",
        # an application's fault is no hardware failure
        f"cluster  node_uid  class  incident\n{rows}\nc  n1  unk.none  other",
    )
    model.rebuild("metrics.projection")
    fill_intervals(model.con)

    [(value, low, high)] = model.con.execute(
        "select value, low, high from metrics.projection where scope_value = ?", [str(job_gpus)]
    ).fetchall()
    assert value == pytest.approx(hours, rel=1e-6)
    assert low < value < high
    # No job is projected beyond four times the largest that was seen.
    assert not model.con.sql("from metrics.projection where scope_value = '32768'").fetchall()


def test_incidents_that_come_in_bunches_are_dispersed(model):
    model.window("504:00", "672:00")
    model.given("rollups.clusters", CLUSTER)
    model.given("staged.nodes", "cluster  node_uid  paid_from\nc  n1  00:00")
    rows = [f"c  gpu.lost {n}  {hour}:00" for n, hour in enumerate((10, 20, 30, 40, 200, 640))]
    # Counted once, however many it struck; and not what its owner did.
    rows += ["c  gpu.lost 0  10:00", "c  user.cancel 1  300:00"]
    model.given(
        "intervals.incident_members",
        "cluster  incident  incident_started_ms\n" + "\n".join(rows),
    )
    # 4, 1, 0 and 1 in a week: mean 1.5, variance 3.
    model.expect(
        "metrics.projection",
        """
        metric              value  event_count
        failure_dispersion  2      6
        """,
        where="metric = 'failure_dispersion'",
    )


def test_a_week_before_the_first_node_is_no_week_without_failures(model):
    model.window("504:00", "672:00")
    model.given("rollups.clusters", CLUSTER)
    model.given("staged.nodes", "cluster  node_uid  paid_from\nc  n1  400:00")
    model.given(
        "intervals.incident_members",
        "cluster  incident  incident_started_ms\nc  gpu.lost 0  600:00",
    )
    model.expect(
        "metrics.projection",
        """
        metric              value  event_count
        failure_dispersion  -      1
        """,
        where="metric = 'failure_dispersion'",
    )
