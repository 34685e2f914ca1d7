"""Outages of nodes: when they end, what was done, how long it took."""

import pytest
from small_fleets import CLUSTER, TWO_NODES


def test_a_first_start_is_no_failure_even_when_it_replaces_a_failed_node(model):
    model.given(
        "staged.nodes",
        """
        cluster  node_uid  pool   gpus  paid_from  ready_at
        c        n1        train  2     01:00      01:10
        """,
    )
    model.given(
        "ledger.outages",
        """
        cluster  node_uid  gpu  started_ms  ended_ms  class     planned  action
        c        n1        0    01:00       01:10     gpu.lost  false    -
        """,
    )
    model.expect(
        "rollups.node_outages",
        """
        node_uid  started_ms  is_birth  is_failure
        n1        01:00       true      false
        """,
    )


def test_a_node_is_back_once_it_stays_fit_for_ten_minutes(model):
    model.window("00:00", "100:00")
    model.given("staged.nodes", TWO_NODES)
    model.given(
        "ledger.outages",
        """
        cluster  node_uid  gpu  started_ms  ended_ms  class       planned  action  incident
        # two lulls of nine minutes, and then ten
        c        n1        -    10:00       10:20     gpu.lost    false    reset   first
        c        n1        -    10:29       10:40     host.lost   false    -       second
        c        n1        -    10:49       11:00     gpu.mem     false    reboot  third
        c        n1        -    11:10       11:20     gpu.mem     false    -       fourth
        # a plan is no part of the failure after it
        c        n2        -    20:00       20:20     plat.maint  true     -       -
        c        n2        -    20:25       20:40     gpu.mem     false    -       fifth
        """,
    )
    model.expect(
        "rollups.node_outages",
        """
        node_uid  started_ms  ended_ms  class       incident  action  is_failure
        n1        10:00       11:00     gpu.lost    first     reboot  true
        n1        11:10       11:20     gpu.mem     fourth    -       true
        n2        20:00       20:20     plat.maint  -         -       false
        n2        20:25       20:40     gpu.mem     fifth     -       true
        """,
    )


def test_an_end_of_five_minutes_ago_may_be_a_lull(model):
    model.window("00:00", "100:00", as_of="50:00")
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "rollups.node_outages",
        """
        cluster  node_uid  started_ms  ended_ms  class     domain  planned  is_birth
        c        n1        10:00       49:50     gpu.lost  infra   false    false
        c        n2        10:00       49:55     gpu.lost  infra   false    false
        """,
    )
    model.expect(
        "metrics.time_to_repair",
        """
        metric        scope  value        event_count
        mttr_hours    fleet  39.8333333333333333  1
        open_outages  fleet  1            1
        """,
        where="scope = 'fleet' and metric in ('mttr_hours', 'open_outages')",
    )


def test_an_outage_ends_when_its_node_is_taken_away(model):
    model.given(
        "staged.nodes",
        """
        cluster  node_uid  pool   gpus  ready_at  deleted_at  paid_to
        c        n1        train  2     00:00     12:00       12:10
        """,
    )
    model.given(
        "ledger.outages",
        """
        cluster  node_uid  gpu  started_ms  ended_ms  class          planned  action
        c        n1        -    10:00       -         gpu.lost       false    reboot
        # nobody's
        c        n1        0    12:10       -         base.overhead  false    -
        """,
    )
    model.expect(
        "rollups.node_outages",
        """
        node_uid  started_ms  ended_ms  class     action   is_failure
        n1        10:00       12:10     gpu.lost  replace  true
        """,
    )


@pytest.mark.parametrize(
    ("kinds", "step"), [(["cordon", "drain"], "drain"), (["cordon"], "cordon"), ([], "none")]
)
def test_what_was_done_to_a_node_is_the_step(model, kinds, step):
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "rollups.node_outages",
        """
        cluster  node_uid  started_ms  ended_ms  class     domain  planned  is_birth
        c        n1        10:00       12:00     gpu.lost  infra   false    false
        """,
    )
    model.given(
        "staged.node_admin",
        "cluster  node_uid  kind  started_at  ended_at\n"
        + "".join(f"c  n1  {kind}  10:05  12:00\n" for kind in kinds),
    )
    model.expect("rollups.repair_stages", f"node_uid  step\nn1  {step}")
    model.rebuild("metrics.time_to_repair")
    actions = model.con.sql(
        "select scope_value, value from metrics.time_to_repair"
        " where metric = 'mttr_hours' and scope = 'action'"
    ).fetchall()
    assert actions == [(step, 2)] * (step != "none")


def test_repairs_are_averaged_over_the_outages_that_ended(model):
    model.window("01:00", "168:00")
    model.given("staged.nodes", TWO_NODES)
    model.given(
        "ledger.outages",
        """
        cluster  node_uid  gpu  started_ms  ended_ms  class       planned  action
        c        n1        0    10:00       11:00     gpu.lost    false    reboot
        c        n1        1    10:30       12:00     gpu.lost    false    replace
        c        n1        0    20:00       20:30     gpu.mem     false    reset
        c        n2        0    30:00       39:30     gpu.mem     false    replace
        c        n2        0    50:00       54:00     plat.maint  true     reboot
        # still open, and one that ends only after the window
        c        n1        0    100:00      -         gpu.lost    false    replace
        c        n2        0    160:00      170:00    gpu.mem     false    reset
        # ended before the window
        c        n2        0    00:10       00:20     gpu.mem     false    reset
        """,
    )
    model.expect(
        "metrics.time_to_repair",
        """
        metric             scope   scope_value  value  numerator  denominator  event_count
        mttr_hours         fleet   ''           4      12         3            3
        # of five, two are known to take longer than all but one
        mttr_median_hours  fleet   ''           9.5    -          -            3
        mttr_p90_hours     fleet   ''           -      -          -            3
        open_outages       fleet   ''           2      -          -            2
        mttr_hours         action  replace      5.75   11.5       2            2
        mttr_median_hours  action  replace      9.5    -          -            2
        mttr_p90_hours     action  replace      -      -          -            2
        open_outages       action  replace      1      -          -            1
        mttr_hours         action  reset        0.5    0.5        1            1
        mttr_median_hours  action  reset        0.5    -          -            1
        mttr_p90_hours     action  reset        -      -          -            1
        open_outages       action  reset        1      -          -            1
        """,
        where="scope in ('fleet', 'action')",
    )
    model.expect(
        "metrics.time_to_repair",
        """
        scope_value  value  numerator  denominator
        gpu.lost     2      2          1
        gpu.mem      5      10         2
        plat.maint   4      4          1
        """,
        where="scope = 'class' and metric = 'mttr_hours'",
    )


def test_a_fleet_without_outages_has_nothing_to_repair(model):
    model.given("staged.nodes", TWO_NODES)
    model.expect(
        "metrics.time_to_repair",
        """
        metric             scope  value  numerator  denominator  event_count
        mttr_hours         fleet  -      0          0            0
        mttr_median_hours  fleet  -      -          -            0
        mttr_p90_hours     fleet  -      -          -            0
        open_outages       fleet  0      -          -            0
        """,
    )
