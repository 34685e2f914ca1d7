"""What failures, restarts, preemptions and checkpoints cost, over hand-made ledgers."""

import math
import random

from small_fleets import CLUSTER


def test_an_interruption_costs_the_work_it_threw_away_and_more(model):
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "ledger.interruptions",
        """
        cluster  job  attempt  class       domain  lost_gpu_ms
        c        A    1        gpu.lost    infra   72_000_000
        c        A    2        gpu.lost    infra   36_000_000
        c        B    1        app.code    app     0
        # what its owner asked for is no interruption
        c        C    1        user.cancel  user   99_000_000
        """,
    )
    model.given(
        "rollups.attempts",
        "cluster  job  attempt  size\nc  A  1  1-8\nc  A  2  1-8\nc  B  1  9-64",
    )
    model.given(
        "rollups.charged_time",
        """
        cluster  cause_job  cause_attempt  state              unit_ms
        c        A          1              A.lost.recompute   21600 gs
        c        A          1              A.lost.abandoned   3600 gs
        c        A          1              A.init             14400 gs
        c        A          2              A.lost.recompute   3600 gs
        # charged to nobody's end
        c        -          -              A.lost.recompute   3600 gs
        """,
    )
    model.expect(
        "metrics.interruption_cost",
        """
        metric                              scope     scope_value  value  numerator  denominator  event_count
        lost_work_mean_gpu_hours            fleet     ''           8/3    8          3            3
        lost_work_median_gpu_hours          fleet     ''           1      -          -            3
        lost_work_p90_gpu_hours             fleet     ''           5.8    -          -            3
        interruption_cost_mean_gpu_hours    fleet     ''           10     30         3            3
        interruption_cost_median_gpu_hours  fleet     ''           10     -          -            3
        interruption_cost_p90_gpu_hours     fleet     ''           18     -          -            3
        lost_work_mean_gpu_hours            job_size  1-8          4      8          2            2
        lost_work_mean_gpu_hours            class     gpu.lost     4      8          2            2
        lost_work_mean_gpu_hours            class     app.code     0      0          1            1
        """,  # noqa: E501
        where="scope = 'fleet' or (metric = 'lost_work_mean_gpu_hours' and scope_value <> '9-64')",
    )


def given_costs(model, fleets):
    """Interruptions of one fleet after the other, by what they cost in GPU-hours."""
    names = range(len(fleets))
    model.given("rollups.clusters", "cluster  member\n" + "".join(f"{n}  {n}\n" for n in names))
    model.given(
        "ledger.interruptions",
        "cluster  job  attempt  domain  lost_gpu_ms\n"
        + "".join(
            f"{name}  A  {n}  infra  {round(cost * 3_600_000)}\n"
            for name, costs in zip(names, fleets, strict=True)
            for n, cost in enumerate(costs)
        ),
    )


def test_quantiles_have_the_interval_of_order_statistics(model):
    given_costs(model, [range(1, 11)])
    model.expect(
        "metrics.interruption_cost",
        """
        metric                              value  low  high  event_count
        interruption_cost_mean_gpu_hours    5.5    -    -     10
        # the second and the ninth of ten: 97.9 % sure
        interruption_cost_median_gpu_hours  5.5    2    9     10
        # the tenth alone is no upper end
        interruption_cost_p90_gpu_hours     9.1    7    -     10
        """,
        where="metric like 'interruption_cost%'",
    )


def test_intervals_of_quantiles_cover_the_truth(model):
    draw = random.Random(7)
    given_costs(model, [[draw.lognormvariate(0, 2) for _ in range(25)] for _ in range(100)])
    model.rebuild("metrics.interruption_cost")
    rows = model.con.execute(
        "select low, high, metric like '%p90%' from metrics.interruption_cost"
        " where metric like 'interruption_cost%' and metric not like '%mean%' and scope = 'fleet'"
    ).fetchall()
    truth = (1.0, math.exp(2 * 1.2815515655446004))
    covered = [low <= truth[is_p90] <= (high or math.inf) for low, high, is_p90 in rows]
    assert len(covered) == 200
    assert 0.93 <= sum(covered) / len(covered) <= 0.99


def test_without_interruptions_there_is_no_cost(model):
    model.given("rollups.clusters", CLUSTER)
    model.expect(
        "metrics.interruption_cost",
        """
        metric                    scope  value  event_count
        lost_work_mean_gpu_hours  fleet  -      0
        """,
        where="metric = 'lost_work_mean_gpu_hours'",
    )


def test_a_restart_costs_its_start_up_and_its_first_steps(model):
    model.window("00:00", "10:00")
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "rollups.charged_time",
        """
        cluster  cause     cause_job  cause_attempt  state      unit_ms
        c        gpu.lost  A          1              A.startup  3600 gs
        c        gpu.lost  A          1              A.restore  3600 gs
        c        gpu.lost  A          1              A.hang     3600 gs
        # the first start of a job follows no end
        c        base.overhead  -     -              A.init     3600 gs
        """,
    )
    model.given(
        "intervals.lineage_attempts",
        """
        cluster  attempt_id  job  attempt  prev_attempt  started_ms  ended_ms  is_instrumented
        c        1           A    1        -             00:00       01:00     true
        c        2           A    2        1             01:00       02:00     true
        c        3           A    3        2             02:00       03:00     true
        """,
    )
    model.given(
        "intervals.attempt_pace",
        """
        attempt_id  record_count  first_record_id  first_started_ms  position_ms
        1           3             1                00:10             10_000
        2           4             4                01:06             10_000
        3           0             -                -                 -
        """,
    )
    model.given(
        "rollups.attempts",
        "cluster  job  attempt  gpus  team  size\nc  A  1  8  llm  1-8\nc  A  2  8  llm  1-8\n"
        "c  A  3  8  llm  1-8",
    )
    # Six seconds more in the first record of the restart, two in the second, none in the third,
    # and what comes after is no warm-up; records of two positions have twice the time.
    model.given(
        "intervals.step_records",
        """
        attempt_id  more_count  duration_ms
        1           0           30_000
        1           0           10_000
        1           0           10_000
        2           0           16_000
        2           1           22_000
        2           0           9_000
        2           0           90_000
        """,
    )
    # Within a transaction rows have no places yet.
    model.con.execute(
        "create or replace table intervals.step_records as"
        " select row_number() over () - 1 as rowid, * from intervals.step_records"
    )
    model.expect(
        "metrics.restarts",
        """
        metric                      scope     scope_value  value    event_count
        restart_overhead_gpu_hours  fleet     ''           2        -
        restart_overhead_gpu_hours  class     gpu.lost     2        -
        # one came to its first step after six minutes, the other ended before
        restart_median_hours        fleet     ''           0.1      1
        restart_p90_hours           fleet     ''           -        1
        restart_median_hours        job_size  1-8          0.1      1
        restart_p90_hours           job_size  1-8          -        1
        warmup_gpu_hours            fleet     ''           64/3600  1
        warmup_gpu_hours            team      llm          64/3600  1
        """,
    )


def test_preemptions_for_a_restart_are_of_second_order(model):
    model.given("rollups.clusters", CLUSTER)
    model.given("staged.jobs", "cluster  job  kind  team\nc  A  training  llm\nc  B  training  -")
    model.given(
        "ledger.interruptions",
        """
        cluster  job  attempt  class         domain    caused_by  lost_gpu_ms
        c        A    1        plat.preempt  platform  -          3_600_000
        c        B    1        plat.preempt  platform  gpu.lost   7_200_000
        c        B    2        gpu.lost      infra     -          9_000_000
        """,
    )
    model.expect(
        "metrics.preemptions",
        """
        metric                scope  scope_value  value  event_count
        preemption_gpu_hours  fleet  ''           3      2
        preemption_gpu_hours  order  first        1      1
        preemption_gpu_hours  order  second       2      1
        preemption_gpu_hours  team   llm          1      1
        """,
    )


def test_checkpoints_cost_their_stalls(model):
    model.window("01:00", "10:00")
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "intervals.lineage_attempts", "cluster  attempt_id  job  attempt\nc  1  A  1\nc  2  B  1"
    )
    model.given(
        "intervals.attempt_phases",
        """
        attempt_id  kind       started_ms  ended_ms
        1           ckpt_save  02:00       02:01
        1           ckpt_save  03:00       03:02
        1           eval       04:00       04:30
        2           ckpt_save  00:30       00:31
        """,
    )
    model.given(
        "rollups.gpu_time",
        """
        cluster  member  job  team  state                   is_allocated  unit_ms
        c        c       A    llm   A.ckpt_save             true          180 gs
        c        c       A    llm   A.productive.committed  true          1620 gs
        c        c       S    -     A.other                 true          9000 gs
        """,
    )
    model.expect(
        "metrics.checkpoints",
        """
        metric                    scope  scope_value  value  numerator  denominator  event_count
        checkpoint_stall_seconds  fleet  ''           90     180        2            2
        checkpoint_stall_seconds  job    A            90     180        2            2
        checkpoint_share          fleet  ''           0.1    180        1800         -
        checkpoint_share          team   llm          0.1    180        1800         -
        checkpoint_share          job    A            0.1    180        1800         -
        """,
    )


def test_retries_are_worth_what_they_reached(model):
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "rollups.retries",
        """
        cluster  job  attempt  class     is_decided  is_helped  unit_ms
        c        A    1        gpu.lost  true        true       7200 gs
        c        A    2        app.dep   true        false      3600 gs
        c        A    3        app.dep   true        false      1800 gs
        # goes on, and was never retried
        c        B    1        gpu.lost  false       false      3600 gs
        c        C    1        gpu.mem   false       -          0 gs
        """,
    )
    model.expect(
        "metrics.retries",
        """
        metric                  scope       scope_value  value  numerator  denominator  event_count
        retries                 fleet       ''           3      -          -            3
        retry_success           fleet       ''           1/3    1          3            3
        retry_wasted_gpu_hours  fleet       ''           1.5    -          -            2
        retry_success           class       gpu.lost     1      1          1            1
        retry_success           class       app.dep      0      0          2            2
        retry_success           retry_rule  auto         1      1          1            1
        retry_success           retry_rule  no           0      0          2            2
        retry_wasted_gpu_hours  retry_rule  auto         0      -          -            0
        retry_wasted_gpu_hours  retry_rule  no           1.5    -          -            2
        """,
        where="scope = 'fleet' or metric = 'retry_success' and scope <> 'domain'"
        " or metric = 'retry_wasted_gpu_hours' and scope = 'retry_rule'",
    )


def test_a_retry_is_judged_by_the_steps_it_came_to(model):
    model.window("00:00", "10:00")
    model.given(
        "intervals.lineage_attempts",
        """
        cluster  attempt_id  job  attempt  prev_job  prev_attempt  ended_ms  outcome    is_instrumented
        c        1           A    1        -         -             01:00     failed     true
        c        2           A    2        A         1             02:00     failed     true
        c        3           A    3        A         2             03:00     failed     true
        c        4           A    4        A         3             -         running    true
        # no steps are seen of B
        c        5           B    1        -         -             01:00     failed     false
        c        6           B    2        B         1             02:00     failed     false
        c        7           B    3        B         2             03:00     succeeded  false
        """,  # noqa: E501
    )
    model.given("intervals.step_runs", "attempt_id  last\n1  100\n2  150\n3  140\n4  120\n")
    model.given(
        "intervals.attribution",
        "cluster  job  attempt  class\nc  A  1  gpu.lost\nc  A  2  gpu.lost\nc  A  3  gpu.lost\n"
        "c  B  1  app.oom_gpu\nc  B  2  app.oom_gpu",
    )
    model.given(
        "rollups.gpu_time",
        "cluster  member  job  attempt  is_allocated  unit_ms\nc  c  A  2  true  60 gs\n"
        "c  c  A  3  true  30 gs\nc  c  B  2  true  10 gs",
    )
    model.expect(
        "rollups.retries",
        """
        job  attempt  class        is_decided  is_helped  unit_ms
        A    1        gpu.lost     true        true       60 gs
        # not as far as the one before
        A    2        gpu.lost     true        false      30 gs
        # still running, and behind
        A    3        gpu.lost     false       false      0 gs
        B    1        app.oom_gpu  true        false      10 gs
        B    2        app.oom_gpu  true        true       0 gs
        """,
    )
