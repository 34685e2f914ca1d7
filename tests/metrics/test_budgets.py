"""Error budgets: what an objective allows, and what burnt it."""

import pytest
from small_fleets import CLUSTER


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
    model.given("rollups.clusters", CLUSTER)
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
    model.given("rollups.clusters", CLUSTER)
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
