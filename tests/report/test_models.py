"""The report's own tables: given rows, expected rows."""
# ruff: noqa: E501 - tables read better with their rows whole

import duckdb
import pytest

from goodput.warehouse.models import find_models


def test_waterfall_sums_states_and_names_what_it_does_not_know(model):
    model.given(
        "ledger.gpu_time",
        """
        cluster  node_uid  gpu  started_at  ended_at  unit_ms   state                   cause
        a        n1        0    00:00       01:00     3600 gs   A.productive.committed  -
        a        n1        1    00:00       01:00     3600 gs   A.productive.committed  -
        b        n1        0    00:00       00:30     1800 gs   X.new                   gpu.lost
        """,
    )
    model.given("rollups.clusters", "cluster  member\na  a\nb  b\n*  a\n*  b")
    model.expect(
        "report.waterfall",
        """
        state                   state_label                   state_group  gpu_hours
        A.productive.committed  Productive and checkpointed   productive   2
        X.new                   X.new                         unknown      1/2
        """,
    )


def test_lost_time_is_split_by_class_and_mechanism(model):
    model.given(
        "ledger.gpu_time",
        """
        cluster  gpu  started_at  ended_at  unit_ms  state                   cause     domain  confidence  job
        a        0    00:00       01:00     3600 gs  A.lost.recompute        gpu.lost  infra   95          j
        a        0    01:00       02:00     3600 gs  A.hang                  gpu.lost  infra   95          j
        a        0    02:00       03:00     3600 gs  U.not_ready             gpu.lost  infra   20          -
        a        0    03:00       04:00     3600 gs  A.productive.committed  -         -       -           j
        a        0    04:00       05:00     3600 gs  I.no_demand             -         -       -           -
        """,
    )
    model.given("rollups.clusters", "cluster  member\na  a")
    model.given(
        "ledger.interruptions",
        """
        cluster  job  attempt  at     class     domain
        a        j    1        00:30  gpu.lost  infra
        a        k    1        00:40  app.code  app
        """,
    )
    model.expect(
        "report.class_mechanism",
        """
        class     state_group  gpu_hours
        gpu.lost  lost_work    1
        gpu.lost  hang         1
        gpu.lost  unavailable  1
        """,
    )
    model.expect(
        "report.lost_classes",
        """
        class     class_label                 owner      gpu_hours  unattributed_gpu_hours  interruption_count  job_count
        gpu.lost  GPU lost from the bus       Hardware   3          1                       1                   1
        app.code  Error in the training code  Job owner  0          0                       1                   0
        """,
    )


def test_a_node_is_out_while_any_device_is_and_once(model):
    # Two devices out over the same span, a third a little longer; equal spans must not count twice.
    model.given(
        "ledger.device_health",
        """
        cluster  node_uid  pool  gpu  started_ms  ended_ms  in_service  ok_closed  ok_open  planned
        a        n1        p     0    22:00       23:00     true        true       true     false
        a        n1        p     0    23:00       25:00     true        false      true     false
        a        n1        p     1    22:00       23:00     true        true       true     false
        a        n1        p     1    23:00       25:00     true        false      true     false
        a        n1        p     2    22:00       24:30     true        true       true     false
        a        n1        p     2    24:30       26:00     true        false      false    true
        a        n2        p     0    22:00       26:00     true        true       true     false
        """,
    )
    model.expect(
        "report.node_days",
        """
        node_uid  day         in_service_ms  not_ok_closed_ms  not_ok_open_ms  planned_ms
        n1        2026-03-02  7_200_000      3_600_000         0               0
        n1        2026-03-03  7_200_000      7_200_000         5_400_000       5_400_000
        n2        2026-03-02  7_200_000      0                 0               0
        n2        2026-03-03  7_200_000      0                 0               0
        """,
    )
    model.expect(
        "report.availability_days",
        """
        pool  day         node_count  affected_node_count  not_ok_node_hours  availability_closed
        p     2026-03-02  2           1                    1                  3/4
        p     2026-03-03  2           1                    2                  1/2
        """,
    )


def test_a_job_knows_what_it_held_made_and_lost(model):
    model.given(
        "ledger.gpu_time",
        """
        cluster  gpu  started_at  ended_at  unit_ms  state                   cause          domain    job  attempt
        a        0    00:00       01:00     3600 gs  A.init                  base.overhead  baseline  j    1
        a        0    01:00       04:00     10800 gs  A.productive.committed  -              -         j    1
        a        0    04:00       05:00     3600 gs  A.lost.recompute        net.fabric     infra     j    1
        a        0    05:00       05:30     1800 gs  A.restore               gpu.mem        infra     j    2
        a        1    00:00       01:00     3600 gs  A.other                 -              -         s    -
        """,
    )
    model.given("rollups.clusters", "cluster  member\na  a")
    model.given(
        "staged.jobs",
        """
        cluster  job  name   namespace  team  kind      state      ended_at
        a        j    train  research   llm   training  succeeded  200:00
        a        s    chat   product    web   serving   running    -
        """,
    )
    model.expect(
        "report.jobs",
        """
        job_name  team  kind      ended_at  attempt_count  gpu_hours  productive_gpu_hours  lost_gpu_hours  goodput  main_class  main_class_gpu_hours
        train     llm   training  -         2              11/2       3                     3/2             6/11     net.fabric  1
        chat      web   serving   -         0              1          0                     0               -        -           -
        """,
    )


def test_a_loop_is_a_run_of_failed_starts(model):
    model.given(
        "ledger.group_time",
        """
        cluster  job  attempt  state                 cause     started_at  ended_at  unit_ms
        c        A    1        A.restart_loop        app.dep   10:00       10:10     3600 gs
        c        A    2        A.restart_loop        app.dep   10:10       10:20     3600 gs
        # between two loops, on two nodes
        c        A    3        A.lost.failed_start   gpu.lost  10:20       10:30     1800 gs
        c        A    3        A.lost.failed_start   gpu.lost  10:20       10:30     1800 gs
        c        A    4        A.restart_loop        app.dep   10:30       10:40     3600 gs
        c        A    5        A.restart_loop        app.dep   10:40       10:50     3600 gs
        c        A    6        A.restart_loop        app.dep   10:50       11:00     3600 gs
        c        A    7        A.productive.durable  -         11:00       12:00     9999 gs
        c        B    1        A.lost.failed_start   gpu.lost  12:00       12:10     720 gs
        """,
    )
    # Two dollars a GPU-hour.
    model.given(
        "rollups.costs",
        f"""
        cluster  member  job  state                weighted_cost
        c        c       A    A.restart_loop       {5 * 2_000_000 * 5040 * 3_600_000}
        c        c       A    A.lost.failed_start  {2_000_000 * 5040 * 3_600_000}
        c        c       A    A.hang               {2_000_000 * 5040 * 3_600_000}
        """,
    )
    model.expect(
        "report.restart_loops",
        """
        job  loop_attempt_count  loop_count  longest_loop_count  failed_start_count  gpu_hours  cost_dollars  class
        A    5                   2           3                   1                   6          12            app.dep
        B    0                   0           0                   1                   0.2        -             gpu.lost
        """,
    )


def test_a_node_costs_its_outages_and_the_work_it_broke(model):
    model.given(
        "ledger.gpu_time",
        """
        cluster  node_uid  node_name  pool  gpu  started_at  ended_at  unit_ms  state                   cause
        a        n1        one        p     0    00:00       01:00     3600 gs  A.productive.committed  -
        a        n1        one        p     0    01:00       02:00     3600 gs  U.repair.reboot         gpu.mem
        """,
    )
    model.given(
        "ledger.interruptions",
        """
        cluster  job  attempt  at     class     node_uid  lost_gpu_ms
        a        j    1        00:30  gpu.lost  n1        7_200_000
        a        j    2        00:40  gpu.lost  n1        3_600_000
        """,
    )
    model.given(
        "rollups.node_outages",
        """
        cluster  node_uid  started_ms  ended_ms  class    planned  is_birth
        a        n1        01:00       02:00     gpu.mem  false    false
        a        n1        00:00       00:01     base.overhead  false  true
        """,
    )
    model.given(
        "rollups.node_health",
        """
        cluster  node_uid  service_ms  ok_closed_ms
        a        n1        7_200_000   3_600_000
        """,
    )
    model.expect(
        "report.nodes",
        """
        node_name  gpu_count  unavailable_gpu_hours  interrupted_gpu_hours  cost_gpu_hours  availability_closed  outage_count  interruption_count
        one        1          1                      3                      4               1/2                  1             2
        """,
    )
    assert model.con.sql("select classes from report.nodes").fetchall() == [
        (["gpu.lost", "gpu.mem"],)
    ]


def test_timeline_shows_what_a_node_did_most_and_nothing_where_it_was_not_paid(model):
    # A week in 672 buckets makes a quarter of an hour each.
    model.given(
        "ledger.gpu_time",
        """
        cluster  node_uid  node_name  pool  gpu  started_at  ended_at  unit_ms  state
        a        n1        one        p     0    00:15       00:30     900 gs   A.productive.committed
        a        n1        one        p     1    00:15       00:30     900 gs   A.hang
        a        n1        one        p     2    00:15       00:40     1500 gs  A.hang
        a        n1        one        p     0    00:30       00:45     900 gs   A.productive.committed
        """,
    )
    model.rebuild("report.node_timeline")
    [(bucket_ms, cells)] = model.con.sql(
        "select bucket_ms, cells from report.node_timeline"
    ).fetchall()
    assert bucket_ms == 15 * 60 * 1000
    assert len(cells) == 672
    assert cells[:4] == ".hp."


def test_what_is_not_known_is_an_amount_of_a_whole(model):
    model.given(
        "ledger.gpu_time",
        """
        cluster  gpu  started_at  ended_at  unit_ms  state                     cause        domain    job
        a        0    00:00       01:00     3600 gs  A.unknown                 unk.obs_gap  unknown   j
        a        0    01:00       04:00     10800 gs  A.productive.provisional  -            -         j
        a        0    04:00       05:00     3600 gs  U.stale                   unk.stale    unknown   -
        """,
    )
    model.given("rollups.clusters", "cluster  member\na  a")
    model.given("staged.jobs", "cluster  job  kind      state\na  j  training  running")
    model.given(
        "staged.collector_gaps",
        "cluster  source_name  started_at  ended_at\na  api  167:00  200:00",
    )
    model.expect(
        "report.not_observed",
        """
        topic               amount  whole  unit
        unknown_time        1       4      GPU-hours
        unattributed_loss   1       1      GPU-hours
        provisional_time    3       3      GPU-hours
        jobs_without_steps  1       1      jobs
        jobs_still_running  1       1      jobs
        stale_checks        1       5      GPU-hours
        before_first_look   0       5      GPU-hours
        after_last_look     0       5      GPU-hours
        collector_gaps      1       -      hours
        unclassified_observations  0  -  rows
        quarantined_rows    0       -      rows
        """,
    )


def test_steps_and_phases_of_attempts_that_nothing_tells_of_are_seen(model):
    for table in ("raw.steps", "raw.step_logs", "raw.phases", "gathered.attempts", "gathered.jobs"):
        model._store(table, model._types(table))
    model.given("gathered.jobs", "cluster  job\na  J\nb  J")
    model.given(
        "gathered.attempts",
        """
        cluster  job  attempt
        a        J    1
        a        K    1
        """,
    )
    model.given(
        "raw.steps",
        """
        cluster  job  attempt  step  end
        a        J    1        1     00:10
        a        J    2        1     00:10
        a        J    2        2     00:20
        a        K    1        1     00:10
        b        J    1        1     00:10
        """,
    )
    model.given("raw.step_logs", "cluster  job  attempt  tz   lines\na  J  1  UTC  []")
    model.given("raw.phases", "cluster  job  attempt  kind  start\na  J  2  eval  00:10")
    model.expect(
        "report.unattributed_rows",
        """
        cluster  job  attempt  table_name  row_count
        a        J    2        phases      1
        a        J    2        steps       2
        a        K    1        steps       1
        b        J    1        steps       1
        """,
    )
    model.expect(
        "report.not_observed",
        "amount  whole  unit\n5       -      rows",
        where="topic = 'unattributed_rows'",
    )


def test_jobs_with_steps_and_without_gpus_are_seen_and_where_they_hold_some(model):
    model.given(
        "intervals.lineage_attempts",
        """
        cluster  job   attempt  attempt_id
        a        J     1        1
        a        lone  1        2
        a        lone  2        3
        a        K     1        4
        default  llm   1        5
        default  J     1        6
        """,
    )
    model.given(
        "intervals.attempt_pace",
        "attempt_id  record_count\n1  10\n2  3\n3  4\n4  0\n5  7\n6  1",
    )
    model.given(
        "staged.jobs", "cluster  job  name\na  J  j\na  uid-1  llm\na  lone  lone\ndefault  llm  -"
    )
    model.given(
        "staged.pods",
        """
        cluster  pod_uid  job    gpus
        a        p1       J      8
        a        p2       uid-1  8
        # a launcher
        a        p3       lone   0
        """,
    )
    model.expect(
        "report.jobs_without_gpus",
        """
        cluster  job   name  attempt_count  record_count  held_in
        a        lone  lone  2              7             -
        default  J     -     1              1             a
        default  llm   -     1              7             a
        """,
    )
    model.expect(
        "report.not_observed", "amount  unit\n3  jobs", where="topic = 'jobs_without_gpus'"
    )


def test_rows_that_were_set_aside_have_a_remedy(model):
    model._store("raw.quarantine", model._types("raw.quarantine"))
    model.given(
        "raw.quarantine",
        """
        cluster  file  table_name  reason
        a        x     nodes       breaks the rule gpus > 0
        a        y     nodes       breaks the rule gpus > 0
        a        x     steps       is no TIMESTAMP
        a        z     -           Pod p has no uid: a manifest, no object of a cluster; dump it
        """,
    )
    model.given(
        "raw.quarantine",
        """
        cluster  file  table_name  reason            cleared_at  again_at
        a        x     nodes       was wrong once    -           -
        a        x     nodes       was wrong once    01:00       -
        """,
    )
    model.expect(
        "report.quarantine",
        """
        table_name  row_count  file_count  remedy
        nodes       2          2           Correct the values that the rule names; `goodput schema` says what they mean
        steps       1          1           Write the value in the type of its column; `goodput schema` lists them
        -           1          1           -
        """,
    )


def test_counts_of_failures_say_what_they_count_and_add_up(model):
    model.window("10:00", "20:00")
    model.given(
        "ledger.interruptions",
        """
        cluster  job  attempt  class        domain  node_uid
        a        A    1        gpu.lost     infra   n1
        a        A    2        gpu.lost     infra   n1
        a        B    1        app.code     app     -
        a        C    1        user.cancel  user    -
        """,
    )
    model.given(
        "rollups.ended_jobs",
        "cluster  job  is_failure\na  A  true\na  B  true\na  C  false",
    )
    model.given(
        "rollups.node_outages",
        """
        cluster  node_uid  started_ms  ended_ms  is_birth  is_failure
        a        n1        12:00       13:00     false     true
        a        n2        09:00       11:00     false     true
        a        n3        12:00       13:00     false     false
        # over before the window, and a first start
        a        n4        08:00       09:00     false     true
        a        n5        12:00       13:00     true      false
        """,
    )
    model.given(
        "rollups.node_failures",
        """
        cluster  node_uid  occurred_ms  incident
        a        n1        12:00        i1
        a        n6        12:00        i1
        """,
    )
    model.expect(
        "report.failure_counts",
        """
        topic                    part_of        event_count
        interruptions            -              4
        interruptions_asked      interruptions  1
        interruptions_on_node    interruptions  2
        interruptions_elsewhere  interruptions  1
        jobs_failed              -              2
        outages                  -              3
        outages_planned          outages        1
        outages_before           outages        1
        outages_failed           outages        1
        node_failures            -              2
        node_failures_out        node_failures  1
        node_failures_up         node_failures  1
        incidents                -              1
        """,
    )


def test_observations_without_a_rule_are_counted(model):
    model.given(
        "observed.evidence_log",
        """
        cluster  source  value              t       row_id
        a        log     something 1 new    10:00   r1
        a        log     something 1 new    10:00   r1
        a        log     something 2 new    11:00   r2
        a        log     CUDA error         10:00   r3
        a        log     not yet known of   200:00  r4
        a        xid     998                10:00   r5
        a        xid     999                10:00   r6
        """,
    )
    model._store("raw.log_evidence", model._types("raw.log_evidence"))
    model.given("raw.log_evidence", "cluster  row_id  repeats\na  r1  7\na  r2  0")
    model.given("staged.evidence", "cluster  source  value\na  log  CUDA error")
    model.expect(
        "report.unclassified",
        """
        source  value            row_count  first_at  last_at
        log     something 1 new  9          10:00     11:00
        xid     998              1          10:00     10:00
        xid     999              1          10:00     10:00
        """,
    )


def test_every_input_table_is_counted():
    [inputs] = [model for model in find_models() if model.table == "report.inputs"]
    raw = {model.name for model in find_models() if model.schema == "raw"}
    counted = {name for name in raw if f"from raw.{name}\n" in inputs.sql}
    assert counted == raw


@pytest.mark.parametrize(
    "model",
    [model for model in find_models() if model.schema == "report" and model.grain],
    ids=lambda model: model.name,
)
def test_grain_of_the_made_up_week_holds(week, model):
    con = duckdb.connect(week, read_only=True)
    grain = ", ".join(model.grain)
    double = con.sql(f"select {grain} from {model.table} group by {grain} having count(*) > 1")
    assert double.fetchall() == []
    con.close()
