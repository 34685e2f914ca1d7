"""Disruption budgets, checks, warnings, repair ladder and projections, over hand-made nodes.

The projections are rows of the accounting standard's mttf_projection.csv (RSC-1 and RSC-2 rates, as
quoted from the Meta RSC paper): 16,384 GPUs at 6.5 failures per 1000 node-days last 1.80 h.
"""

import pytest

from goodput.estimates import rate_ratio
from goodput.warehouse.estimates import fill_intervals

CLUSTER = "cluster  member\nc  c"


def test_a_disruption_budget_is_kept_or_broken(model):
    # Five nodes: one may be out, as 20 % rounded up.
    pieces = ["cluster  node_uid  pool   profile  node_state  started_ms  ended_ms"]
    pieces += [f"c  n{n}  train  -1  available  00:00  100:00" for n in (4, 5)]
    pieces += [
        "c  n1  train  -1  repair.reboot  00:00  10:00",
        "c  n1  train  -1  available  10:00  100:00",
        "c  n2  train  -1  available  00:00  04:00",
        "c  n2  train  -1  draining  04:00  05:00",
        "c  n2  train  -1  not_ready  05:00  06:00",
        "c  n2  train  -1  available  06:00  100:00",
        # waits while the budget is used up, and later while it is not
        "c  n3  train  -1  unhealthy  08:00  12:00",
        "c  n3  train  -1  cordoned  12:00  100:00",
        "c  n3  train  -1  available  00:00  08:00",
    ]
    model.given("ledger.node_pieces", "\n".join(pieces))
    model.given(
        "ledger.devices",
        "cluster  node_uid  profile  gpu\n" + "".join(f"c  n3  -1  {gpu}\n" for gpu in range(4)),
    )
    model.expect(
        "metrics.disruption",
        """
        metric                        scope  scope_value  value  numerator  denominator  event_count
        disruption_max_share          pool   train        0.4    2          5            2
        disruption_over_hours         pool   train        2      2          100          2
        disruption_blocked_gpu_hours  pool   train        8      -          -            2
        # nobody listed events
        repair_blocked_seconds        pool   train        -      -          -            0
        """,
    )


# One node for each way it ends: refused for long, well again, repaired, gone, never seen sick.
REFUSED_NODES = """
    cluster  node_uid  pool   profile  node_state      started_ms  ended_ms
    c        n1        train  -1       available       00:00       10:00
    c        n1        train  -1       unhealthy       10:00       168:00
    c        n2        train  -1       not_ready       20:00       20:32
    c        n2        train  -1       available       20:32       168:00
    c        n3        train  -1       unhealthy       30:00       30:35
    c        n3        train  -1       repair.replace  30:35       31:00
    c        n4        train  -1       unhealthy       40:00       40:25
    c        n5        infer  -1       available       00:00       168:00
    c        n6        other  -1       available       00:00       168:00
"""


def test_a_pool_is_blocked_from_the_first_refusal_until_it_would_have_come_again(model):
    model.given("ledger.node_pieces", REFUSED_NODES)
    model.given(
        "staged.evidence",
        """
        cluster  source  value              node_uid  observed_at  started_at  ended_at
        # three quarters of an hour apart: two spans of a quarter each
        c        event   NodeRepairBlocked  n1        11:00        -           -
        c        event   NodeRepairBlocked  n1        11:45        -           -
        # a stretch, and what follows it within the quarter: one span
        c        event   NodeRepairBlocked  n1        13:30        12:30       13:30
        c        event   NodeRepairBlocked  n1        13:40        -           -
        c        event   NodeRepairBlocked  n2        20:30        -           -
        c        event   NodeRepairBlocked  n3        30:30        -           -
        c        event   NodeRepairBlocked  n4        40:20        -           -
        c        event   NodeRepairBlocked  n5        167:50       -           -
        c        event   FailedDraining     n1        50:00        -           -
        """,
    )
    model.expect(
        "rollups.repair_refusals",
        """
        cluster  pool   started_ms  ended_ms
        c        train  11:00       11:15
        c        train  11:45       12:00
        c        train  12:30       13:55
        c        train  20:30       20:32
        c        train  30:30       30:35
        c        train  40:20       40:25
        c        infer  167:50      168:00
        """,
    )
    model.expect(
        "metrics.disruption",
        """
        scope_value  value  numerator  denominator  event_count
        train        7620   7620       -            6
        infer        600    600        -            1
        # nothing was said of it, and nobody looked
        other        -      -          -            0
        """,
        where="metric = 'repair_blocked_seconds'",
    )


def test_nodes_that_are_refused_at_once_block_their_pool_once(model):
    model.window("00:00", "168:00", as_of="11:20")
    model.given("ledger.node_pieces", REFUSED_NODES + "c  n7  train  -1  unhealthy  10:00  168:00")
    model.given(
        "staged.evidence",
        """
        cluster  source  value              node_uid  observed_at
        c        event   NodeRepairBlocked  n1        11:00
        c        event   NodeRepairBlocked  n7        11:10
        """,
    )
    model.expect(
        "rollups.repair_refusals",
        """
        cluster  pool   started_ms  ended_ms
        c        train  11:00       11:20
        """,
    )


def test_no_refusal_is_nothing_only_where_events_were_listed(model):
    model.window("10:00", "20:00")
    model.given("ledger.node_pieces", REFUSED_NODES)
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "staged.event_looks",
        """
        cluster  looked_at
        # shows half an hour of the window, then three hours of which two were lost, then the rest
        c        10:30
        c        13:30
        c        14:00
        c        14:30
        """,
    )
    model.expect(
        "metrics.disruption",
        """
        scope_value  value  numerator  denominator  event_count
        train        0      0          9000         0
        infer        0      0          9000         0
        other        0      0          9000         0
        """,
        where="metric = 'repair_blocked_seconds'",
    )
    model.expect(
        "report.data_quality",
        """
        basis   observed  whole  coverage  is_below  reason
        events  2.5       10     0.25      true      Kubernetes events were not listed for too long
        """,
        where="metric = 'repair_blocked_seconds'",
    )


def test_checks_cover_what_they_watch(model):
    model.window("00:00", "100:00")
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "rollups.node_health",
        """
        cluster  node_uid  pool   service_ms   ok_closed_ms  ok_open_ms
        c        n1        train  360_000_000  324_000_000   360_000_000
        c        n2        train  360_000_000  360_000_000   360_000_000
        """,
    )
    model.given("staged.health_check_beats", "cluster  node_uid  check_name\nc  n1  dcgm")
    model.given(
        "staged.nodes", "cluster  node_uid  deleted_at  paid_to\nc  n1  -  -\nc  n3  60:00  61:00"
    )
    model.given(
        "intervals.stale_spans",
        """
        cluster  node_uid  check_name  started_ms  ended_ms
        c        n1        dcgm        10:00       20:00
        # gone after that hour, and before this one
        c        n3        dcgm        50:00       200:00
        c        n3        dcgm        70:00       200:00
        """,
    )
    model.expect(
        "metrics.health_checks",
        """
        metric                   scope  scope_value  value  numerator  denominator  event_count
        check_coverage           fleet  ''           0.45   324000     720000       2
        check_coverage           pool   train        0.45   324000     720000       2
        check_silence_p95_hours  check  dcgm         10     -          -            2
        escape_rate              fleet  ''           -      0          0            0
        """,
    )


FAILURES = """
    cluster  job  attempt  at     domain  node_uid  lost_gpu_ms
    c        A    1        10:30  infra   n1        3_600_000
    c        A    2        20:00  infra   n2        7_200_000
    # no node, or not its fault
    c        B    1        21:00  infra   -         3_600_000
    c        B    2        21:00  app     n1        3_600_000
"""


def test_failures_that_no_condition_told_of_escape(model):
    model.given("rollups.clusters", CLUSTER)
    model.given("ledger.interruptions", FAILURES)
    model.given(
        "intervals.condition_repairs",
        """
        cluster  node_uid  is_blocking  started_ms  ended_ms
        c        n1        true         10:20       11:00
        # only after the end
        c        n2        true         20:01       21:00
        """,
    )
    model.expect(
        "metrics.health_checks",
        """
        metric       value  numerator  denominator  event_count
        escape_rate  1/2    1          2            2
        """,
        where="metric = 'escape_rate'",
    )


def test_warnings_are_judged_by_what_follows(model):
    model.window("00:00", "100:00", as_of="200:00")
    model.given("rollups.clusters", CLUSTER)
    model.given("ledger.interruptions", FAILURES)
    model.given(
        "intervals.condition_repairs",
        """
        cluster  node_uid  class        is_blocking  is_in_repair  started_ms
        c        n1        gpu.thermal  false        false         10:00
        # again within the hour: the same warning
        c        n1        gpu.thermal  false        false         10:20
        c        n1        gpu.thermal  false        false         40:00
        c        n2        gpu.thermal  false        false         15:00
        c        n3        gpu.thermal  false        false         15:00
        c        n4        gpu.thermal  false        false         15:00
        # a failure and no warning, a consequence, and one of too few
        c        n2        gpu.lost     true         false         19:59
        c        n2        gpu.thermal  false        true          19:58
        c        n5        host.disk    false        false         15:00
        """,
    )
    model.given(
        "rollups.node_health",
        "cluster  node_uid  service_ms\n"
        + "".join(f"c  n{i}  {100 * 3_600_000}\n" for i in range(1, 6)),
    )
    # Half an hour is not enough to save in.
    model.given(
        "staged.checkpoints",
        "cluster  job  write_started_at  committed_at\nc  A  01:00  01:40\nc  A  02:00  -",
    )
    model.expect(
        "metrics.early_warning",
        """
        metric                     scope        scope_value  value  numerator  denominator  event_count
        warning_precision          warning_1h   gpu.thermal  1/5    1          5            5
        warning_precision          warning_24h  gpu.thermal  2/5    2          5            5
        # one in 5 hours after a warning, one in the other 495
        warning_lift               warning_1h   gpu.thermal  99     4800       24000/495    1
        warning_lift               warning_24h  gpu.thermal  -      400        0            2
        warning_recall             warning_1h   ''           1/2    1          2            2
        warning_recall             warning_24h  ''           1      2          2            2
        warning_lead_median_hours  warning_1h   ''           0.5    -          -            1
        warning_lead_median_hours  warning_24h  ''           2.75   -          -            2
        warning_caught_gpu_hours   warning_1h   ''           0      -          -            0
        warning_caught_gpu_hours   warning_24h  ''           2      -          -            1
        """,  # noqa: E501
    )

    fill_intervals(model.con)
    rows = model.con.sql(
        "select low, high from metrics.early_warning where metric = 'warning_lift' order by scope"
    ).fetchall()
    within_an_hour, within_a_day = (
        rate_ratio(1, 495, 1, 5).interval,
        rate_ratio(0, 380, 2, 120).interval,
    )
    assert rows == [
        (pytest.approx(within_an_hour.low), pytest.approx(within_an_hour.high)),
        (pytest.approx(within_a_day.low), None),
    ]


STAGES = """
    cluster  node_uid  started_ms  back_ms  class     step    is_unplanned
    c        n1        10:00       11:00    gpu.lost  reset   true
    c        n1        20:00       22:00    gpu.lost  reboot  true
    c        n2        30:00       31:00    host.lost  none   true
    # too young to be judged, planned, and not over
    c        n2        90:00       91:00    gpu.mem   reset   true
    c        n3        40:00       41:00    plat.maint  reboot  false
    c        n3        50:00       -        gpu.mem   none    true
"""


def test_repairs_are_counted_by_the_step_that_ended_the_outage(model):
    model.window("00:00", "100:00")
    model.given("rollups.clusters", CLUSTER)
    model.given("rollups.repair_stages", STAGES)
    model.given(
        "rollups.node_outages",
        "cluster  node_uid  started_ms  class\nc  n1  10:00  gpu.lost\nc  n1  20:00  gpu.lost",
    )
    model.expect(
        "metrics.repair_ladder",
        """
        metric                 scope   scope_value  value  numerator  denominator
        repair_ladder_share    action  none         1/4    1          4
        repair_ladder_share    action  reboot       1/4    1          4
        repair_ladder_share    action  reset        1/2    2          4
        # the same fault came back nine hours after the reset
        repair_success         action  reset        0      0          1
        repair_success         action  reboot       1      1          1
        jobs_spared_by_cordon  fleet   ''           0      -          -
        """,
    )


def test_a_cordon_spares_the_jobs_that_end_well_on_its_node(model):
    model.window("00:00", "100:00")
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "staged.node_admin",
        """
        cluster  node_uid  kind    started_at  ended_at
        c        n1        cordon  10:00       20:00
        c        n2        cordon  10:00       20:00
        c        n2        drain   10:05       10:10
        """,
    )
    model.given(
        "staged.pods",
        """
        cluster  pod_uid  job  attempt  node_uid  bound_at  released_at
        c        p1       A    1        n1        09:00     12:00
        # failed, drained, already gone
        c        p2       B    1        n1        09:00     12:00
        c        p3       C    1        n2        09:00     12:00
        c        p4       D    1        n1        08:00     09:00
        """,
    )
    model.given(
        "intervals.lineage_attempts",
        """
        cluster  job  attempt  outcome    ended_ms
        c        A    1        succeeded  12:00
        c        B    1        failed     12:00
        c        C    1        succeeded  12:00
        c        D    1        succeeded  09:00
        """,
    )
    model.expect(
        "metrics.repair_ladder",
        """
        metric                 value
        jobs_spared_by_cordon  1
        """,
    )


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


def test_time_goes_by_hardware(model):
    model.given(
        "staged.nodes", "cluster  node_uid  gpus  instance_type  gpu_model\nc  n1  1  p5  H100"
    )
    model.given(
        "ledger.gpu_time",
        """
        cluster  node_uid  pool   job  attempt  state                   cause     unit_ms
        c        n1        train  A    1        A.productive.committed  -         3600 gs
        c        n1        train  A    1        A.lost.recompute        gpu.lost  3600 gs
        c        n1        train  -    -        I.no_demand             -         7200 gs
        """,
    )
    model.expect(
        "metrics.hardware",
        """
        metric             scope          scope_value  value  numerator  denominator
        goodput_paid       instance_type  p5           1/4    3600       14400
        goodput_allocated  instance_type  p5           1/2    3600       7200
        gpu_hours          instance_type  p5           4      -          -
        lost_gpu_hours     instance_type  p5           1      -          -
        goodput_paid       gpu_model      H100         1/4    3600       14400
        goodput_allocated  gpu_model      H100         1/2    3600       7200
        gpu_hours          gpu_model      H100         4      -          -
        lost_gpu_hours     gpu_model      H100         1      -          -
        """,
    )


def test_shares_are_held_at_their_size(model):
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "ledger.gpu_time",
        """
        cluster  node_uid  pool   gpu  pod_uid  state        cause  unit_ms
        c        n1        serve  0    p1       A.other      -      1800 gs
        c        n1        serve  0    -        I.no_demand  -      1800 gs
        c        n1        serve  1    p2       A.other      -      3600 gs
        """,
    )
    model.con.execute("update staged.pods set is_shared = (pod_uid = 'p1')")
    model.expect(
        "metrics.shared_gpus",
        """
        metric            scope  scope_value  value  numerator  denominator
        shared_gpu_hours  fleet  ''           0.5    -          -
        shared_gpu_hours  pool   serve        0.5    -          -
        shared_use        fleet  ''           0.5    1800       3600
        shared_use        pool   serve        0.5    1800       3600
        """,
    )


def test_the_success_budget_is_burnt_by_class(model):
    model.given("rollups.clusters", CLUSTER)
    rows = "\n".join(f"c  j{n}  -  true  false" for n in range(198))
    model.given(
        "rollups.ended_jobs",
        f"cluster  job  class  is_success  is_failure\n{rows}\nc  x  gpu.lost  false  true\n"
        "c  y  -  false  true\nc  z  user.cancel  false  false",
    )
    model.expect(
        "metrics.success_budget",
        """
        metric                scope  scope_value  value  numerator  denominator  event_count
        success_budget_jobs   fleet  ''           1      -          -            -
        success_budget_burnt  fleet  ''           2      2          1            2
        success_budget_burnt  class  gpu.lost     1      1          1            1
        success_budget_burnt  class  unk.none     1      1          1            1
        """,
    )
