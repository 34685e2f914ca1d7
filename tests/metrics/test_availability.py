"""Availability, failures and repairs of nodes over hand-made health and outages."""

import pytest

ONE_NODE = """
    cluster  node_uid  pool   gpus  ready_at
    c        n1        train  2     00:00
"""


def test_a_node_is_fit_only_while_all_its_devices_are(model):
    # One device of two is lost from 400 s on, as in the standard's 5.2 [S41] with eight.
    model.given(
        "ledger.device_health",
        """
        cluster  node_uid  pool   gpu  started_ms  ended_ms  node_state  in_service  ok_closed  ok_open  planned
        c        n1        train  0    00:00       00:16:40  available   true        true       true     false
        c        n1        train  1    00:00       00:06:40  available   true        true       true     false
        c        n1        train  1    00:06:40    00:16:40  unhealthy   true        false      false    false
        """,  # noqa: E501
    )
    model.given("staged.nodes", ONE_NODE)
    model.expect(
        "metrics.availability",
        """
        metric                       value  numerator  denominator  event_count
        node_availability_closed     0.4    400        1000         1
        node_availability_open       0.4    400        1000         1
        node_availability_sched      0.4    400        1000         1
        node_availability_unplanned  0.4    400        1000         1
        device_availability_closed   0.7    1400       2000         1
        device_availability_open     0.7    1400       2000         1
        """,
        where="scope = 'fleet' and metric not like '%budget%'",
    )


def test_silence_of_a_check_breaks_closed_but_not_open(model):
    # The standard's 5.2 [S22]: closed 10240 of 16000, open all of it.
    model.given(
        "ledger.device_health",
        """
        cluster  node_uid  pool   gpu  started_ms  ended_ms  node_state  in_service  ok_closed  ok_open  planned
        c        n1        train  0    00:00       00:42:40  available   true        true       true     false
        c        n1        train  0    00:42:40    01:06:40  stale       true        false      true     false
        """,  # noqa: E501
    )
    model.given("staged.nodes", ONE_NODE)
    model.expect(
        "metrics.availability",
        """
        metric                    scope  scope_value  value  numerator  denominator
        node_availability_closed  fleet  ''           0.64   2560       4000
        node_availability_open    fleet  ''           1      4000       4000
        node_availability_sched   fleet  ''           0.64   2560       4000
        node_availability_closed  pool   train        0.64   2560       4000
        node_availability_open    pool   train        1      4000       4000
        node_availability_sched   pool   train        0.64   2560       4000
        node_availability_closed  node   n1           0.64   2560       4000
        node_availability_open    node   n1           1      4000       4000
        node_availability_sched   node   n1           0.64   2560       4000
        """,
        where="metric in "
        "('node_availability_closed', 'node_availability_open', 'node_availability_sched')",
    )


def test_cordon_and_drain_break_neither_but_planned_work_has_its_own_ratio(model):
    model.given(
        "ledger.device_health",
        """
        cluster  node_uid  pool   gpu  started_ms  ended_ms  node_state     in_service  ok_closed  ok_open  planned
        c        n1        train  0    00:00       00:01     provisioning   false       false      false    false
        c        n1        train  0    00:01       01:01     available      true        true       true     false
        c        n1        train  0    01:01       01:11     draining       true        true       true     true
        c        n1        train  0    01:11       01:41     repair.reboot  true        false      false    true
        c        n1        train  0    01:41       02:01     unhealthy      true        false      false    false
        """,  # noqa: E501
    )
    model.given("staged.nodes", ONE_NODE)
    model.expect(
        "metrics.availability",
        """
        metric                       value  numerator  denominator
        node_availability_closed     70/120  4200      7200
        node_availability_open       70/120  4200      7200
        node_availability_sched      60/120  3600      7200
        node_availability_unplanned  60/80   3600      4800
        """,
        where="scope = 'fleet' and metric like 'node%'",
    )


def test_one_nine_hour_outage_breaks_the_weekly_budget_of_a_hundred_nodes(model):
    # The standard's 5.2: 99.95 % allows 8.4 node-hours a week for 100 nodes.
    nodes = "\n".join(f"c  n{i}  train  1  00:00" for i in range(100))
    model.given("staged.nodes", f"cluster  node_uid  pool  gpus  ready_at\n{nodes}")
    rows = "\n".join(
        f"c  n{i}  train  0  00:00  168:00  available  true  true  true  false"
        for i in range(1, 100)
    )
    model.given(
        "ledger.device_health",
        "cluster  node_uid  pool  gpu  started_ms  ended_ms  node_state  in_service  ok_closed"
        f"  ok_open  planned\n{rows}\n"
        "c  n0  train  0  00:00  09:00  not_ready  true  false  false  false\n"
        "c  n0  train  0  09:00  168:00  available  true  true  true  false",
    )
    model.expect(
        "metrics.availability",
        """
        metric                     value        numerator  denominator  unit
        availability_budget_hours  8.4          -          -            node-hours
        availability_budget_burnt  90/84        9          8.4          ratio
        node_availability_closed   16791/16800  60447600   60480000     ratio
        """,
        where="scope = 'fleet' and (metric like '%budget%' or metric = 'node_availability_closed')",
    )


@pytest.mark.parametrize(
    ("objective", "hours"),
    [(0.99, 168), (0.995, 84), (0.999, 16.8), (0.9995, 8.4), (0.9999, 1.68)],
)
def test_an_objective_allows_a_hundred_nodes_so_much_in_a_week(model, objective, hours):
    # Rows of the accounting standard's availability_budget.csv.
    model.con.execute(
        "update catalog.objectives set objective = ? where metric = 'node_availability_closed'",
        [objective],
    )
    model.given("rollups.clusters", "cluster  member\nc  c")
    model.given(
        "rollups.node_health",
        "cluster  node_uid  service_ms  ok_closed_ms\n"
        + "".join(f"c  n{i}  {168 * 3_600_000}  {168 * 3_600_000}\n" for i in range(100)),
    )
    model.expect(
        "metrics.availability",
        f"scope  value\nfleet  {hours}",
        where="metric = 'availability_budget_hours'",
    )


def test_the_budget_is_burnt_by_class(model):
    # Two devices of n1 are out one after the other and together: six hours. A cordon burns nothing.
    model.given(
        "ledger.node_pieces",
        """
        cluster  node_uid  pool   profile  started_ms  ended_ms  node_state   in_service  ok_closed  ok_open  is_planned
        c        n1        train  0        00:00       10:00     available    true        true       true     false
        c        n1        train  0        10:00       14:00     unhealthy    true        false      false    false
        c        n1        train  0        14:00       100:00    available    true        true       true     false
        c        n1        train  1        00:00       12:00     available    true        true       true     false
        c        n1        train  1        12:00       16:00     repair.diag  true        false      false    false
        c        n1        train  1        16:00       20:00     cordoned     true        true       true     false
        c        n1        train  1        20:00       100:00    available    true        true       true     false
        c        n2        train  -1       00:00       30:00     available    true        true       true     false
        c        n2        train  -1       30:00       31:00     stale        true        false      true     false
        c        n2        train  -1       31:00       100:00    available    true        true       true     false
        """,  # noqa: E501
    )
    model.given(
        "ledger.devices",
        "cluster  node_uid  profile  gpu\nc  n1  0  0\nc  n1  1  1\nc  n2  -1  0",
    )
    model.given(
        "rollups.node_outages",
        """
        cluster  node_uid  started_ms  ended_ms  class
        c        n1        10:00       20:00     gpu.mem
        c        n2        30:00       31:00     unk.stale
        """,
    )
    model.given("rollups.clusters", "cluster  member\nc  c")
    model.expect(
        "metrics.availability",
        """
        scope  scope_value  value  numerator  denominator  event_count
        fleet  ''           70     7          0.1          2
        pool   train        70     7          0.1          2
        class  gpu.mem      60     6          0.1          1
        class  unk.stale    10     1          0.1          1
        """,
        where="metric = 'availability_budget_burnt'",
    )


def test_without_service_there_is_no_availability(model):
    model.given(
        "ledger.device_health",
        """
        cluster  node_uid  pool   gpu  started_ms  ended_ms  node_state    in_service  ok_closed  ok_open  planned
        c        n1        train  0    00:00       00:10     provisioning  false       false      false    false
        """,  # noqa: E501
    )
    model.given("staged.nodes", ONE_NODE)
    model.expect(
        "metrics.availability",
        """
        metric                    value  numerator  denominator
        node_availability_closed  -      0          0
        """,
        where="scope = 'fleet' and metric = 'node_availability_closed'",
    )


HEALTH = """
    cluster  node_uid  pool   gpu  started_ms  ended_ms  node_state  in_service  ok_closed  ok_open  planned
    c        n1        train  0    00:00       100:00    available   true        true       true     false
    c        n2        train  0    00:00       100:00    available   true        true       true     false
"""  # noqa: E501

TWO_NODES = """
    cluster  node_uid  pool   gpus  ready_at
    c        n1        train  2     00:00
    c        n2        train  2     00:00
"""


def test_a_failure_of_a_node_counts_once_however_many_devices_and_jobs_it_takes_down(model):
    model.window("01:00", "168:00")
    model.given("staged.nodes", TWO_NODES)
    model.given("ledger.device_health", HEALTH)
    model.given(
        "ledger.outages",
        """
        cluster  node_uid  gpu  started_ms  ended_ms  class       planned  action  incident
        # both devices of one node, one of them longer: one failure
        c        n1        0    10:00       11:00     gpu.lost    false    reset   first
        c        n1        1    10:00       12:00     gpu.lost    false    reboot  first
        # began before the window
        c        n1        0    00:30       02:00     gpu.mem     false    -       -
        # neither plans, nor silent checks, nor overheads are failures
        c        n1        0    20:00       21:00     plat.maint  true     reboot  -
        c        n2        0    22:00       23:00     unk.stale   false    -       -
        """,
    )
    model.given(
        "ledger.interruptions",
        """
        cluster  job  attempt  at     outcome  class       domain  node_uid  incident
        # the jobs that the outage took down
        c        A    1        09:56  failed   gpu.lost    infra   n1        first
        c        B    1        10:01  failed   gpu.lost    infra   n1        first
        # a node that stayed schedulable took down two jobs, then a third much later
        c        C    1        30:00  failed   net.fabric  infra   n2        second
        c        D    1        30:02  failed   net.fabric  infra   n2        second
        c        E    1        40:00  failed   net.fabric  infra   n2        third
        # no node, and not the node's fault
        c        F    1        50:00  failed   sto.fs      infra   -         -
        c        G    1        51:00  failed   app.code    app     n2        -
        """,
    )
    model.expect(
        "rollups.node_failures",
        """
        cluster  node_uid  occurred_ms  class
        c        n1        10:00        gpu.lost
        c        n2        30:00        net.fabric
        c        n2        40:00        net.fabric
        """,
    )
    model.expect(
        "metrics.time_between_failures",
        """
        metric                       scope  scope_value  value  numerator  denominator  event_count
        mtbf_hours                   fleet  ''           200/3  200        3            3
        mtbf_hours                   pool   train        200/3  200        3            3
        failures_per_1000_node_days  fleet  ''           360    3          1/120        3
        failures_per_1000_node_days  pool   train        360    3          1/120        3
        failures_per_1000_node_days  class  gpu.lost     120    1          1/120        1
        failures_per_1000_node_days  class  net.fabric   240    2          1/120        2
        """,
        where="metric <> 'mttf_hours'",
    )


def test_what_fails_on_several_nodes_at_once_is_one_incident(model):
    model.given("staged.nodes", TWO_NODES)
    model.given("ledger.device_health", HEALTH)
    model.given(
        "ledger.outages",
        """
        cluster  node_uid  gpu  started_ms  ended_ms  class       planned  incident
        c        n1        -    10:00       11:00     net.fabric  false    switch
        c        n2        -    10:00       11:00     net.fabric  false    switch
        c        n2        -    20:00       21:00     gpu.mem     false    memory
        """,
    )
    model.expect(
        "metrics.time_between_failures",
        """
        metric                       scope  scope_value  value  numerator  denominator  event_count
        mtbf_hours                   fleet  ''           100    200        2            2
        mtbf_hours                   pool   train        100    200        2            2
        failures_per_1000_node_days  fleet  ''           240    2          1/120        2
        failures_per_1000_node_days  pool   train        240    2          1/120        2
        failures_per_1000_node_days  class  net.fabric   120    1          1/120        1
        failures_per_1000_node_days  class  gpu.mem      120    1          1/120        1
        """,
        where="metric <> 'mttf_hours'",
    )


def test_failures_go_by_hardware(model):
    model.given("rollups.clusters", "cluster  member\nc  c")
    model.given(
        "staged.nodes",
        "cluster  node_uid  instance_type  gpu_model\nc  n1  p5  H100\nc  n2  p4  -",
    )
    model.given(
        "rollups.node_health",
        "cluster  node_uid  pool  service_ms\nc  n1  a  36_000_000\nc  n2  a  36_000_000",
    )
    model.given(
        "rollups.node_failures",
        "cluster  node_uid  class  incident\nc  n1  gpu.mem  x\nc  n1  gpu.mem  y",
    )
    model.expect(
        "metrics.time_between_failures",
        """
        scope          scope_value  value  numerator  denominator
        fleet          ''           10     20         2
        pool           a            10     20         2
        instance_type  p5           5      10         2
        instance_type  p4           -      10         0
        gpu_model      H100         5      10         2
        """,
        where="metric = 'mtbf_hours'",
    )


def test_without_failures_there_is_no_mean_time_but_a_rate_of_zero(model):
    model.given("staged.nodes", TWO_NODES)
    model.given("ledger.device_health", HEALTH)
    model.expect(
        "metrics.time_between_failures",
        """
        metric                       value  numerator  denominator  event_count
        mtbf_hours                   -      200        0            0
        failures_per_1000_node_days  0      0          1/120        0
        """,
        where="scope = 'fleet' and metric <> 'mttf_hours'",
    )


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
    model.given("rollups.clusters", "cluster  member\nc  c")
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
    model.given("rollups.clusters", "cluster  member\nc  c")
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
