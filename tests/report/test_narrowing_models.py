"""The report's tables behind filters, job timelines and slow nodes: given rows, expected rows."""
# ruff: noqa: E501 - tables read better with their rows whole


def test_slices_hold_all_paid_time_and_the_class_of_what_was_lost(model):
    model.given(
        "ledger.gpu_time",
        """
        cluster  pool  gpu  started_at  ended_at  unit_ms  state                   cause     job  namespace
        a        p     0    00:00       01:00     3600 gs  A.productive.committed  -         j    n
        a        p     0    01:00       02:00     3600 gs  A.lost.recompute        gpu.lost  j    n
        a        p     0    02:00       03:00     3600 gs  A.lost.rollback         gpu.lost  j    n
        a        q     0    00:00       01:00     3600 gs  I.no_demand             -         -    -
        """,
    )
    model.given("rollups.clusters", "cluster  member\na  a\n*  a")
    model.given("staged.jobs", "cluster  job  team\na  j  t")
    model.expect(
        "report.slices",
        """
        cluster  pool  namespace  team  state_group  class     gpu_hours
        a        p     n          t     productive   -         1
        a        p     n          t     lost_work    gpu.lost  2
        a        q     -          -     no_demand    -         1
        """,
    )


def test_the_lane_of_a_job_shows_its_gpus_on_all_nodes(model):
    # A week in 672 buckets makes a quarter of an hour each.
    model.given(
        "ledger.gpu_time",
        """
        cluster  node_uid  pool  gpu  started_at  ended_at  unit_ms  state                   job  attempt  pod_uid
        a        n1        p     0    00:15       00:30     900 gs   A.productive.committed  j    1        p1
        a        n2        p     0    00:15       00:30     900 gs   A.hang                  j    1        p2
        a        n2        p     0    00:30       00:45     900 gs   A.hang                  j    1        p2
        """,
    )
    model.given("rollups.clusters", "cluster  member\na  a")
    model.given("staged.jobs", "cluster  job  name\na  j  run")
    model.rebuild("report.job_timeline")
    [(name, bucket_ms, cells)] = model.con.sql(
        "select job_name, bucket_ms, cells from report.job_timeline"
    ).fetchall()
    assert (name, bucket_ms, len(cells)) == ("run", 15 * 60 * 1000, 672)
    # Where both did as much, the earlier group of the page's order stands.
    assert cells[:4] == ".hh."


def test_attempts_of_a_timeline_have_their_checkpoints_and_their_end(model):
    model.given("report.job_timeline", "cluster  job  job_name  bucket_ms\na  j  run  900000")
    model.given(
        "staged.attempts",
        """
        attempt_id  cluster  job  attempt  started_at  ended_at  outcome
        1           a        j    1        00:00       01:00     failed
        2           a        j    2        01:10       -         running
        3           a        j    3        170:00      171:00    failed
        4           a        k    1        00:00       01:00     failed
        """,
    )
    model.given(
        "staged.checkpoints",
        """
        cluster  job  attempt  step  committed_at
        a        j    1        10    00:16
        a        j    1        20    00:20
        a        j    1        30    00:50
        """,
    )
    model.given(
        "ledger.interruptions",
        "cluster  job  attempt  at     class     domain\na  j  1  01:00  gpu.lost  infra",
    )
    model.given("intervals.step_runs", "attempt_id  first  last\n1  1  20\n1  21  35\n4  1  9")
    model.rebuild("report.job_attempts")
    rows = model.con.sql(
        "select attempt, outcome, class, first_step, last_step, checkpoint_count, "
        "checkpoint_buckets from report.job_attempts order by attempt"
    ).fetchall()
    assert rows == [
        (1, "failed", "gpu.lost", 1, 35, 3, [1, 3]),
        (2, "running", None, None, None, 0, []),
    ]


def test_slow_stretches_outside_the_window_are_left_out(model):
    model.given(
        "intervals.slow_segments",
        """
        cluster  job  attempt  zone  setting_id  started_ms  ended_ms  record_count  median_ms  baseline_ms  class        basis      node_uid  confidence
        a        j    1        1     1           01:00       02:00     10            1500       1000         gpu.thermal  condition  n1        90
        a        j    1        2     1           170:00      171:00    10            1500       1000         gpu.thermal  condition  n1        90
        """,
    )
    model.given(
        "intervals.slow_suspects",
        "cluster  node_uid  gangs_with  slow_with  gangs_without  slow_without  p_value\na  n2  4  4  5  0  0.0078125",
    )
    model.expect(
        "report.slow_spells",
        """
        job  attempt  record_count  median_ms  baseline_ms  class        class_label  confidence
        j    1        10            1500       1000         gpu.thermal  GPU too hot  90
        """,
    )
    model.rebuild("report.slow_nodes")
    rows = model.con.sql(
        "select node_uid, slow_with, named_count, named_hours from report.slow_nodes order by 1"
    ).fetchall()
    assert rows == [("n1", None, 1, 1.0), ("n2", 4, 0, 0.0)]
