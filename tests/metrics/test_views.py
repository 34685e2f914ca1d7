"""The definitions of others, a job at a time."""


def test_ettr_counts_productive_wall_time_against_queue_and_schedule(model):
    # The standard's worked example (1.10): 1200 of 840 + 1895 s.
    model.window("00:00", "00:50")
    model.given(
        "staged.jobs",
        """
        cluster  job  kind
        c        A    training
        c        S    serving
        """,
    )
    model.given(
        "staged.attempts",
        """
        cluster  job  attempt  started_at  ended_at  outcome
        c        A    1        00:00       00:19:05  failed
        c        A    2        00:33:20    00:45:50  succeeded
        c        S    1        00:00       -         running
        """,
    )
    model.given(
        "staged.queue",
        """
        cluster  job  attempt  pods  gpus_per_pod  is_suspended  started_at  ended_at
        c        A    2        2     4             false         00:19:20    00:33:20
        c        A    3        2     4             true          00:46:00    00:47:00
        """,
    )
    model.given(
        "intervals.attempt_timeline",
        """
        cluster  job  attempt  started_ms  ended_ms  state
        c        A    1        00:02       00:12     A.productive.committed
        c        A    1        00:12       00:19     A.lost.recompute
        c        A    2        00:35       00:44     A.productive.committed
        c        A    2        00:44       00:45     A.slow
        """,
    )
    model.expect(
        "views.ettr",
        """
        cluster  job  numerator  denominator  value
        c        A    1200       2735         240/547
        """,
    )
    model.expect(
        "metrics.ettr",
        """
        metric  scope  scope_value  value    numerator  denominator  unit
        ettr    job    A            240/547  1200       2735         ratio
        """,
    )


def test_ettr_of_a_running_job_lasts_until_the_knowledge_time(model):
    model.window("00:00", "00:30", as_of="00:50")
    model.given("staged.jobs", "cluster  job  kind\nc  A  training")
    model.given(
        "staged.attempts",
        """
        cluster  job  attempt  started_at  ended_at  outcome
        c        A    1        00:10       -         running
        """,
    )
    model.given(
        "staged.queue",
        """
        cluster  job  attempt  pods  gpus_per_pod  is_suspended  started_at  ended_at
        c        A    1        2     4             false         00:00       00:10
        """,
    )
    model.expect(
        "views.ettr",
        """
        job  numerator  denominator  value
        A    0          3000         0
        """,
    )


READINESS_JOB = """
    cluster  job  kind      state      ended_at
    c        A    training  succeeded  05:00
"""


def test_cluster_readiness_subtracts_lost_rescheduling_resuming_and_saving(model):
    model.given("staged.jobs", READINESS_JOB)
    model.given(
        "staged.attempts",
        """
        cluster  job  attempt  started_at  ended_at  outcome
        c        A    1        00:58       02:31     failed
        c        A    2        02:32       05:00     succeeded
        """,
    )
    model.given(
        "staged.pods",
        """
        cluster  pod_uid  job  attempt  role    running_at
        c        a0       A    1        worker  01:00
        c        b0       A    2        worker  02:32:30
        """,
    )
    model.given(
        "intervals.lineage_attempts",
        """
        attempt_id  cluster  job  attempt
        1           c        A    1
        2           c        A    2
        """,
    )
    model.given(
        "intervals.attempt_pace",
        """
        attempt_id  record_count  first_started_ms  last_ended_ms
        1           2             01:00             02:30
        2           1             02:33:40          05:00
        """,
    )
    model.given(
        "staged.checkpoints",
        """
        cluster  job  attempt  step  committed_at
        c        A    1        5     01:30
        c        A    1        10    02:15
        # not yet finished when the attempt stopped
        c        A    1        12    02:30:30
        """,
    )
    model.given(
        "staged.phases",
        """
        cluster  job  attempt  kind       started_at  ended_at
        c        A    1        ckpt_save  02:15       02:15:45
        c        A    2        restore    02:33       02:33:30
        """,
    )
    # tW 14400, tCh 900, tRe 150, tRm 70, tSav 45: 13235 / 14250.
    model.expect(
        "views.cluster_readiness",
        """
        cluster  job  numerator  denominator  value
        c        A    13235      14250        13235/14250
        """,
    )


def test_cluster_readiness_hides_what_is_worse_than_nothing(model):
    model.given("staged.jobs", "cluster  job  kind  state\nc  A  training  failed")
    model.given(
        "staged.attempts",
        """
        cluster  job  attempt  started_at  ended_at  outcome
        c        A    1        00:00       01:00     failed
        """,
    )
    model.given(
        "staged.pods",
        """
        cluster  pod_uid  job  attempt  role    running_at
        c        a0       A    1        worker  00:00
        """,
    )
    model.given(
        "intervals.lineage_attempts",
        """
        attempt_id  cluster  job  attempt
        1           c        A    1
        """,
    )
    model.given(
        "intervals.attempt_pace",
        """
        attempt_id  record_count  first_started_ms  last_ended_ms
        1           1             00:50             01:00
        """,
    )
    # 600 s of training after 3000 s of start-up.
    model.expect(
        "views.cluster_readiness",
        """
        job  numerator  denominator  value
        A    0          600          0
        """,
    )
