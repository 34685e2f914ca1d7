"""Failures of nodes over hand-made health and outages: how many, and how far apart."""

from small_fleets import CLUSTER, TWO_NODES

HEALTH = """
    cluster  node_uid  pool   gpu  started_ms  ended_ms  node_state  in_service  ok_closed  ok_open  planned
    c        n1        train  0    00:00       100:00    available   true        true       true     false
    c        n2        train  0    00:00       100:00    available   true        true       true     false
"""  # noqa: E501


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
    model.given("rollups.clusters", CLUSTER)
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
