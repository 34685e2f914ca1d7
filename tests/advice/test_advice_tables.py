"""What advice is reckoned from, counted on the half day of conftest.py."""


def rows(con, table, columns):
    return con.sql(f"select {columns} from {table} order by all").fetchall()


def test_how_jobs_save_and_restart(small):
    columns = (
        "job_name, node_count, interval_s, save_s, step_s, restart_s, queue_s, rate_basis, "
        "failure_count, exposure_hours"
    )

    # One failure of a node in 36 node-hours, so in 18 hours of a job on two.
    assert rows(small, "report.checkpoint_habits", columns) == [
        ("flaky", 1, None, None, 60.0, None, 300.0, "nodes", 1, 36.0),
        ("llama", 2, 33 * 60.0, 60.0, 60.0, 600.0, 3600.0, "nodes", 1, 18.0),
    ]


def test_the_signals_of_a_node_that_failed(small):
    columns = (
        "node_name, failure_count, classes, excluding_job_count, xid_count, repair_count, "
        "outage_count, multi_node_failure_count, single_node_failure_count, "
        "single_node_failure_rate"
    )

    # The interruption and the repair are one failure. flaky ran on it alone and died of itself.
    assert rows(small, "report.lemon_nodes", columns) == [
        ("gpu-1", 1, ["gpu.lost"], 1, 1, 1, 1, 1, 0, 0.0)
    ]


def test_how_long_nodes_are_out(small):
    assert rows(small, "report.pool_failures", "pool, node_count, failure_count, out_hours") == [
        ("train", 3, 1, 3.0)
    ]


def test_how_long_hangs_last(small):
    columns = "job_name, hang_count, detections_s, hung_gpus, hang_gpu_hours, shortest_hang_s"

    assert rows(small, "report.hang_detection", columns) == [
        ("flaky", 1, [3600.0], [8], 8.0, 300.0)
    ]


def test_which_retries_helped(small):
    columns = "class, failure_count, retry_count, helped_count, round(wasted_gpu_hours * 60)"

    # flaky hung, died of a library when it was retried, and again; then nobody retried it.
    assert rows(small, "report.retries", columns) == [
        ("app.dep", 2, 1, 0, 80),
        ("gpu.lost", 1, 1, 1, 0),
        ("unk.none", 1, 1, 0, 80),
    ]


def test_what_struck_several_nodes_is_the_fault_of_none(model):
    model.given(
        "staged.nodes",
        """
        cluster  node_uid  ready_at
        c        a         00:00
        c        b         00:00
        """,
    )
    model.given(
        "intervals.outages",
        """
        cluster  node_uid  profile  started_ms  ended_ms  class       is_planned
        c        a         -1       10:00       11:00     net.fabric  false
        c        b         -1       10:00       11:00     net.fabric  false
        c        a         -1       20:00       21:00     gpu.lost    false
        c        a         3        20:30       22:00     gpu.mem     false
        c        a         -1       22:05       23:00     host.lost   false
        c        a         -1       24:00       25:00     host.lost   false
        c        a         -1       30:00       31:00     host.lost   true
        c        b         -1       40:00       41:00     unk.stale   false
        """,
    )
    model.given(
        "intervals.incident_members",
        """
        cluster  node_uid  profile  started_ms  incident
        c        a         -1       10:00       switch
        c        b         -1       10:00       switch
        c        a         -1       20:00       one
        c        a         3        20:30       two
        c        a         -1       22:05       three
        c        a         -1       24:00       four
        c        a         -1       30:00       five
        c        b         -1       40:00       six
        """,
    )

    # The second lies in the first, the third follows within ten minutes: one failure.
    model.expect(
        "rollups.recent_failures",
        """
        cluster  node_uid  occurred_ms  class
        c        a         20:00        gpu.lost
        c        a         24:00        host.lost
        """,
    )
