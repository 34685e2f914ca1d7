"""Disruption budgets of pools and refused repairs, over hand-made nodes."""

from small_fleets import CLUSTER


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
