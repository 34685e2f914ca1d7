"""Goodput, lost time and the views of others over hand-made ledgers."""

import pytest

# The worked example of the accounting standard (1.10): two nodes of four GPUs for 3000 s.
WORKED = """
    cluster  node_uid  pool   job  attempt  namespace  state                   cause          domain    confidence  unit_ms
    c        n1        train  A    1        ml         A.ckpt_save             base.overhead  baseline  -           160 gs
    c        n1        train  A    1        ml         A.init                  base.overhead  baseline  -           480 gs
    c        n1        train  A    2        ml         A.init                  gpu.lost       infra     99          240 gs
    c        n1        train  A    1        ml         A.lost.recompute        gpu.lost       infra     99          3240 gs
    c        n1        train  A    1        ml         A.productive.committed  -              -         -           4800 gs
    c        n1        train  A    2        ml         A.productive.committed  -              -         -           4800 gs
    c        n1        train  A    2        ml         A.restore               gpu.lost       infra     99          480 gs
    c        n1        train  A    1        ml         A.startup               base.overhead  baseline  -           480 gs
    c        n1        train  A    2        ml         A.startup               gpu.lost       infra     99          480 gs
    c        n1        train  A    2        ml         A.teardown              base.overhead  baseline  -           80 gs
    c        n1        train  A    1        ml         A.teardown              gpu.lost       infra     99          60 gs
    c        n2        train  -    -        -          I.no_demand             -              -         -           1940 gs
    c        n2        train  -    -        -          I.sched_delay           gpu.lost       infra     -           400 gs
    c        n2        train  -    -        -          I.shortfall             gpu.lost       infra     -           3160 gs
    c        n2        train  -    -        -          U.repair.reboot         gpu.lost       infra     -           2400 gs
    c        n2        train  -    -        -          U.unhealthy             gpu.lost       infra     -           800 gs
"""  # noqa: E501

NODES = """
    cluster  node_uid  pool   gpus  ready_at
    c        n1        train  4     00:00
    c        n2        train  4     00:00
"""

JOBS = """
    cluster  job  kind      state      team  namespace
    c        A    training  succeeded  llm   ml
"""


@pytest.fixture
def worked(model):
    model.window("00:00", "00:50")
    model.given("staged.nodes", NODES)
    model.given("staged.jobs", JOBS)
    model.given("ledger.gpu_time", WORKED)
    return model


def test_goodput_names_its_denominator(worked):
    worked.expect(
        "metrics.goodput",
        """
        metric             scope      scope_value  value     numerator  denominator  event_count
        goodput_paid       fleet      ''           2/5       9600       24000        1
        goodput_demand     fleet      ''           480/1103  9600       22060        1
        goodput_available  fleet      ''           6/13      9600       20800        1
        goodput_allocated  fleet      ''           32/51     9600       15300        1
        goodput_committed  fleet      ''           2/5       9600       24000        1
        goodput_low        fleet      ''           2/5       9600       24000        1
        goodput_high       fleet      ''           2/5       9600       24000        1
        goodput_paid       pool       train        2/5       9600       24000        1
        goodput_demand     pool       train        480/1103  9600       22060        1
        goodput_available  pool       train        6/13      9600       20800        1
        goodput_allocated  pool       train        32/51     9600       15300        1
        goodput_committed  pool       train        2/5       9600       24000        1
        goodput_low        pool       train        2/5       9600       24000        1
        goodput_high       pool       train        2/5       9600       24000        1
        goodput_allocated  namespace  ml           32/51     9600       15300        1
        goodput_allocated  team       llm          32/51     9600       15300        1
        goodput_allocated  job        A            32/51     9600       15300        1
        """,
    )


def test_the_window_and_the_unit_stand_beside_every_value(worked):
    worked.expect(
        "metrics.goodput",
        """
        cluster  metric        unit   low  high  window_start  window_end
        c        goodput_paid  ratio  -    -     00:00         00:50
        """,
        where="metric = 'goodput_paid' and scope = 'fleet'",
    )


def test_time_is_lost_by_the_class_it_is_charged_to(worked):
    worked.given(
        "ledger.interruptions",
        """
        cluster  job  attempt  at     outcome  class     domain
        c        A    1        00:19  failed   gpu.lost  infra
        """,
    )
    worked.expect(
        "metrics.lost_time",
        """
        metric              scope  scope_value    value        numerator  denominator  event_count
        lost_gpu_hours      class  gpu.lost       11260/3600   -          -            1
        lost_gpu_hours      class  base.overhead  1200/3600    -          -            0
        lost_gpu_hours      fleet  ''             12460/3600   -          -            1
        lost_share          class  gpu.lost       11260/12460  11260      12460        1
        lost_share          class  base.overhead  1200/12460   1200       12460        0
        unattributed_share  fleet  ''             0            0          12460        -
        """,
        where="scope in ('class', 'fleet')",
    )


def test_a_preemption_for_a_restart_is_also_the_cost_of_what_broke_the_restarted(model):
    model.given("staged.jobs", JOBS)
    model.given(
        "rollups.gpu_time",
        """
        cluster  member  cause         domain    is_lost  is_attributed  unit_ms
        c        c       gpu.lost      infra     true     true           500 gs
        c        c       plat.preempt  platform  true     true           1000 gs
        c        c       -             -         false    false          9000 gs
        """,
    )
    model.given(
        "ledger.interruptions",
        """
        cluster  job  attempt  class         caused_by  lost_gpu_ms
        c        A    1        plat.preempt  gpu.lost   600_000
        c        A    2        plat.preempt  -          400_000
        """,
    )
    model.expect(
        "metrics.lost_time",
        """
        scope       scope_value   value
        class       gpu.lost      500/3600
        class       plat.preempt  1000/3600
        root_class  gpu.lost      1100/3600
        root_class  plat.preempt  400/3600
        """,
        where="metric = 'lost_gpu_hours' and scope like '%class'",
    )


def test_mpg_parts_multiply_to_the_paid_goodput(worked):
    worked.expect(
        "views.mpg",
        """
        cluster  component   job  numerator  denominator  value
        c        scheduling  -    14200      24000        71/120
        c        runtime     -    9600       14200        48/71
        c        program     -    9600       9600         1
        c        product     -    9600       24000        2/5
        """,
    )


def test_hours_and_shares_of_each_cut_of_the_paid_time(worked):
    worked.expect(
        "metrics.gpu_hours",
        """
        metric     scope  scope_value    value       numerator  denominator
        gpu_hours  fleet  ''             24000/3600  -          -
        gpu_share  fleet  ''             1           24000      24000
        gpu_hours  cause  base.overhead  1200/3600   -          -
        gpu_share  cause  base.overhead  1/20        1200       24000
        gpu_hours  cause  gpu.lost       11260/3600  -          -
        gpu_share  cause  gpu.lost       563/1200    11260      24000
        gpu_hours  job    A              15300/3600  -          -
        gpu_share  job    A              51/80       15300      24000
        """,
        where="scope in ('fleet', 'cause', 'job')",
    )


def test_a_fleet_that_did_nothing_has_no_goodput_of_allocated_time(model):
    model.given("staged.nodes", NODES)
    model.given(
        "ledger.gpu_time",
        """
        cluster  pool   state        unit_ms
        c        train  U.not_ready  100 gs
        """,
    )
    model.expect(
        "metrics.goodput",
        """
        metric             value  numerator  denominator
        goodput_paid       0      0          100
        goodput_demand     0      0          100
        goodput_available  -      0          0
        goodput_allocated  -      0          0
        goodput_committed  0      0          100
        goodput_low        0      0          100
        goodput_high       0      0          100
        """,
        where="scope = 'fleet'",
    )
    model.expect(
        "metrics.lost_time",
        """
        metric              value  numerator  denominator
        lost_gpu_hours      0      -          -
        unattributed_share  -      0          0
        """,
        where="scope = 'fleet'",
    )


def test_unobserved_time_opens_an_interval(model):
    model.given("staged.nodes", NODES)
    model.given("staged.jobs", JOBS)
    model.given(
        "ledger.gpu_time",
        """
        cluster  job  state                     unit_ms
        c        A    A.productive.provisional  60 gs
        c        A    A.unknown                 20 gs
        c        -    I.no_demand               20 gs
        """,
    )
    model.expect(
        "metrics.goodput",
        """
        metric        value
        goodput_low   0.6
        goodput_high  0.8
        """,
        where="scope = 'fleet' and metric in ('goodput_low', 'goodput_high')",
    )
    model.expect(
        "metrics.work",
        """
        metric             value  numerator  denominator
        provisional_share  1      60         60
        """,
        where="scope = 'fleet' and unit = 'ratio'",
    )


def test_serving_counts_against_paid_but_not_against_demand(model):
    model.given("staged.nodes", NODES)
    model.given(
        "staged.jobs",
        """
        cluster  job  kind
        c        A    training
        c        S    serving
        """,
    )
    model.given(
        "ledger.gpu_time",
        """
        cluster  job  state                   unit_ms
        c        A    A.productive.committed  50 gs
        c        S    A.other                 50 gs
        """,
    )
    model.expect(
        "metrics.goodput",
        """
        metric             scope  scope_value  value
        goodput_paid       fleet  ''           1/2
        goodput_demand     fleet  ''           1
        goodput_allocated  fleet  ''           1/2
        goodput_allocated  job    A            1
        """,
        where="metric in ('goodput_paid', 'goodput_demand', 'goodput_allocated')",
    )


def test_lost_time_of_unknown_or_doubtful_cause_is_unattributed(model):
    model.given("staged.nodes", NODES)
    model.given(
        "ledger.gpu_time",
        """
        cluster  state                   cause          domain    confidence  unit_ms
        c        A.lost.recompute        gpu.mem        infra     70          40 gs
        c        A.lost.recompute        gpu.mem        infra     50          10 gs
        c        A.lost.recompute        app.code       app       40          30 gs
        c        A.hang                  unk.none       unknown   -           15 gs
        c        A.ckpt_save             base.overhead  baseline  -           5 gs
        c        A.productive.committed  -              -         -           900 gs
        """,
    )
    model.expect(
        "metrics.lost_time",
        """
        value  numerator  denominator
        0.45   45         100
        """,
        where="metric = 'unattributed_share'",
    )


def test_several_clusters_also_have_a_figure_together(model):
    model.given(
        "staged.nodes",
        """
        cluster  node_uid  pool   gpus  ready_at
        east     n1        train  8     00:00
        west     n1        train  8     00:00
        """,
    )
    model.given(
        "staged.jobs",
        """
        cluster  job  kind
        east     A    training
        west     A    training
        """,
    )
    model.given(
        "ledger.gpu_time",
        """
        cluster  job  state                   unit_ms
        east     A    A.productive.committed  10 gs
        east     A    A.init                  10 gs
        west     A    A.productive.committed  30 gs
        west     A    A.init                  50 gs
        """,
    )
    model.expect(
        "metrics.goodput",
        """
        cluster  scope  value  numerator  denominator  event_count
        east     fleet  1/2    10         20           1
        west     fleet  3/8    30         80           1
        *        fleet  2/5    40         100          2
        east     job    1/2    10         20           1
        west     job    3/8    30         80           1
        """,
        where="metric = 'goodput_allocated'",
    )


def test_training_time_by_grade_of_evidence(model):
    model.given("staged.nodes", NODES)
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
        cluster  job  attempt  started_at  outcome
        c        A    1        00:00       failed
        c        A    2        00:10       failed
        c        A    3        00:20       running
        """,
    )
    model.given(
        "intervals.lineage_attempts",
        """
        attempt_id  cluster  job  attempt
        1           c        A    1
        2           c        A    2
        3           c        A    3
        """,
    )
    model.given(
        "intervals.attempt_pace",
        """
        attempt_id  record_count
        1           1
        2           0
        3           0
        """,
    )
    model.given(
        "staged.phases",
        """
        cluster  job  attempt  kind     started_at  ended_at
        c        A    1        restore  00:01       00:02
        c        A    2        restore  00:11       00:12
        """,
    )
    model.given(
        "ledger.gpu_time",
        """
        cluster  job  attempt  state        unit_ms
        c        A    1        A.hang       10 gs
        c        A    2        A.init       20 gs
        c        A    3        A.unknown    30 gs
        c        A    4        A.unknown    40 gs
        c        S    1        A.other      50 gs
        c        -    -        I.no_demand  60 gs
        """,
    )
    model.expect(
        "metrics.work",
        """
        scope_value  value  numerator  denominator
        E3           0.1    10         100
        E2           0.2    20         100
        E1           0.3    30         100
        E0           0.4    40         100
        """,
        where="metric = 'evidence_grade_share'",
    )
    model.expect(
        "metrics.work",
        """
        metric                  scope  scope_value  value
        hang_gpu_hours          fleet  ''           10/3600
        hang_gpu_hours          job    A            10/3600
        restart_loop_gpu_hours  fleet  ''           0
        restart_loop_gpu_hours  job    A            0
        """,
        where="metric in ('hang_gpu_hours', 'restart_loop_gpu_hours')",
    )
