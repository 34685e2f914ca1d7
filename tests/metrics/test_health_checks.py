"""What checks cover, which failures escape them, and what warnings are worth."""

import pytest
from small_fleets import CLUSTER

from goodput.estimates import rate_ratio
from goodput.warehouse.estimates import fill_intervals


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
