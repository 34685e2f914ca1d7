"""What the numbers stand on, over hand-made ledgers: a doubtful metric says why."""

from small_fleets import CLUSTER


def test_a_metric_below_its_bar_says_why(model):
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "rollups.gpu_time",
        """
        cluster  member  job  attempt  state                     is_allocated  is_productive  is_lost  is_attributed  unit_ms
        c        c       A    1        A.productive.committed    true          true           false    false          60 gs
        c        c       A    1        A.productive.provisional  true          true           false    false          20 gs
        c        c       A    1        A.unknown                 true          false          false    false          20 gs
        c        c       A    1        A.lost.recompute          true          false          true     true           90 gs
        c        c       B    1        A.hang                    true          false          true     false          10 gs
        # neither serving nor idle time needs steps
        c        c       S    1        A.other                   true          false          false    false          500 gs
        c        c       -    -        I.no_demand               false         false          false    false          500 gs
        """,  # noqa: E501
    )
    model.given("intervals.clock_suspects", "cluster  job  attempt\nc  B  1")
    model.expect(
        "report.data_quality",
        """
        metric             basis    observed  whole     coverage  is_below  reason
        goodput_allocated  steps    180/3600  200/3600  0.9       false     -
        goodput_allocated  durable  60/3600   80/3600   0.75      true      too much of the productive time may still be lost
        goodput_allocated  records  0         0         -         false     -
        goodput_allocated  logs     168       168       1         false     -
        """,  # noqa: E501
        where="metric = 'goodput_allocated'",
    )
    model.expect(
        "report.data_quality",
        """
        metric      basis        observed  whole     coverage  bar   is_below
        lost_share  attribution  90/3600   100/3600  0.9       0.85  false
        lost_share  clocks       190/3600  200/3600  0.95      0.9   false
        """,
        where="metric = 'lost_share'",
    )


def test_holes_of_one_source_are_united(model):
    model.window("00:00", "100:00")
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "staged.collector_gaps",
        """
        cluster  source_name                     started_at  ended_at
        c        kubernetes Job.batch of team-a  10:00       14:00
        c        kubernetes Pod of team-a        12:00       16:00
        c        kubernetes pods/log of node n1  20:00       30:00
        c        prometheus                      98:00       -
        c        logs                            120:00      130:00
        """,
    )
    model.expect(
        "report.data_quality",
        """
        metric                      basis       observed  whole  is_below
        node_availability_closed    kubernetes  94        100    true
        node_availability_closed    prometheus  98        100    false
        node_availability_closed    checks      0         0      false
        """,
        where="metric = 'node_availability_closed'",
    )
    model.expect(
        "report.data_quality",
        """
        basis  observed  whole  is_below
        logs   90        100    true
        """,
        where="metric = 'goodput_paid' and basis = 'logs'",
    )


def test_silent_checks_lower_the_coverage_of_nodes_that_have_any(model):
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "rollups.node_health",
        """
        cluster  node_uid  service_ms   ok_closed_ms  ok_open_ms
        c        n1        360_000_000  288_000_000   360_000_000
        # has no check that could be silent
        c        n2        360_000_000  360_000_000   360_000_000
        """,
    )
    model.given("staged.health_check_beats", "cluster  node_uid\nc  n1")
    model.expect(
        "report.data_quality",
        """
        basis   observed  whole  coverage  is_below
        checks  80        100    0.8       true
        """,
        where="metric = 'node_availability_closed' and basis = 'checks'",
    )


def test_records_that_were_filled_in_count_as_not_observed(model):
    model.window("00:00", "10:00")
    model.given("rollups.clusters", CLUSTER)
    model.given("intervals.lineage_attempts", "attempt_id  cluster  job  attempt\n7  c  A  1")
    model.given("rollups.attempts", "cluster  job  attempt  gpus\nc  A  1  8")
    model.given(
        "intervals.step_parts",
        """
        attempt_id  started_ms  ended_ms  is_synthetic
        7           01:00       04:00     false
        7           04:00       05:00     true
        # half of it lies in the window
        7           09:00       11:00     false
        """,
    )
    model.expect(
        "report.data_quality",
        """
        observed  whole
        32        40
        """,
        where="metric = 'goodput_paid' and basis = 'records'",
    )
