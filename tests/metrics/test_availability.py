"""Availability of nodes over hand-made health."""

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
