"""How repairs went, by the step that ended the outage."""

from small_fleets import CLUSTER

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
