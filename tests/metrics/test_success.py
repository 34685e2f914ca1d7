"""Success, interruptions, queue and time between interruptions of jobs."""

from small_fleets import CLUSTER

NODES = """
    cluster  node_uid  pool   gpus  ready_at
    c        n1        train  8     00:00
"""


def test_success_counts_what_ended_and_leaves_out_what_its_owner_stopped(model):
    model.window("01:00", "10:00")
    model.given(
        "staged.jobs",
        """
        cluster  job  kind      state      ended_at  team  namespace
        c        A    training  succeeded  02:00     llm   ml
        c        B    training  succeeded  03:00     llm   ml
        c        C    training  failed     03:00     llm   ml
        c        D    training  failed     04:00     -     ml
        c        E    training  failed     05:00     -     ml
        c        F    training  cancelled  05:00     llm   ml
        c        G    training  failed     06:00     llm   ml
        # ended outside the window, still running, and not training
        c        H    training  failed     00:30     llm   ml
        c        I    training  succeeded  10:00     llm   ml
        c        J    training  running    -         llm   ml
        c        S    serving   failed     05:00     -     web
        """,
    )
    model.given(
        "staged.attempts",
        """
        cluster  job  attempt  started_at  ended_at  outcome
        c        A    1        01:10       01:30     failed
        c        A    2        01:40       02:00     succeeded
        c        B    1        01:10       03:00     succeeded
        c        C    1        01:10       03:00     failed
        c        D    1        01:10       04:00     failed
        c        E    1        00:10       00:50     failed
        c        F    1        01:10       05:00     cancelled
        c        G    1        01:10       06:00     timeout
        c        I    1        01:10       10:00     succeeded
        c        J    1        02:00       02:10     preempted
        c        J    2        02:30       -         running
        """,
    )
    model.given(
        "intervals.attribution",
        """
        cluster  job  attempt  class
        c        A    1        gpu.lost
        c        C    1        app.code
        c        D    1        unk.none
        c        E    1        net.fabric
        c        F    1        user.cancel
        c        G    1        user.timeout
        c        J    1        plat.preempt
        """,
    )
    model.given(
        "ledger.interruptions",
        """
        cluster  job  attempt  at     outcome    class         domain
        c        A    1        01:30  failed     gpu.lost      infra
        c        C    1        03:00  failed     app.code      app
        c        D    1        04:00  failed     unk.none      unknown
        c        F    1        05:00  cancelled  user.cancel   user
        c        G    1        06:00  timeout    user.timeout  user
        c        J    1        02:10  preempted  plat.preempt  platform
        """,
    )
    model.expect(
        "metrics.success",
        """
        metric                   value  numerator  denominator  event_count
        job_success              0.4    2          5            5
        infra_only_success_low   0.6    3          5            5
        infra_only_success_high  0.8    4          5            5
        attempt_success          1/3    2          6            6
        first_attempt_success    0.2    1          5            5
        job_success_gpu_hours    -      0          0            0
        attempt_success_gpu_hours  -    0          0            0
        """,
        where="scope = 'fleet' and unit = 'ratio'",
    )
    model.expect(
        "metrics.success",
        """
        metric       scope      scope_value  value  denominator
        job_success  team       llm          2/3    3
        job_success  namespace  ml           0.4    5
        """,
        where="metric = 'job_success' and scope <> 'fleet'",
    )
    model.expect(
        "metrics.success",
        """
        metric                 scope    scope_value  value  numerator  denominator
        jobs_ended             fleet    ''           7      -          -
        jobs_ended             outcome  succeeded    2      -          -
        jobs_ended             outcome  failed       4      -          -
        jobs_ended             outcome  cancelled    1      -          -
        jobs_failed            fleet    ''           4      -          -
        jobs_failed            domain   app          1      -          -
        jobs_failed            domain   infra        1      -          -
        jobs_failed            domain   unknown      1      -          -
        jobs_failed            domain   user         1      -          -
        attempts_ended         fleet    ''           8      -          -
        attempts_ended         outcome  succeeded    2      -          -
        attempts_ended         outcome  failed       3      -          -
        attempts_ended         outcome  cancelled    1      -          -
        attempts_ended         outcome  timeout      1      -          -
        attempts_ended         outcome  preempted    1      -          -
        running_jobs           fleet    ''           2      -          -
        running_job_age_hours  fleet    ''           101/12  101/6     2
        """,
        where="unit <> 'ratio'",
    )


def test_success_weighted_with_gpu_time(model):
    model.given("staged.nodes", NODES)
    model.given(
        "staged.jobs",
        """
        cluster  job  kind      state      ended_at
        c        A    training  succeeded  02:00
        c        B    training  failed     03:00
        c        C    training  cancelled  03:00
        c        D    training  running    -
        """,
    )
    model.given(
        "ledger.gpu_time",
        """
        cluster  job  state                   unit_ms
        c        A    A.productive.committed  60 gs
        c        A    A.init                  15 gs
        c        B    A.productive.committed  25 gs
        c        C    A.productive.committed  99 gs
        c        D    A.productive.committed  99 gs
        """,
    )
    model.expect(
        "metrics.success",
        """
        value  numerator  denominator  event_count
        0.75   75         100          2
        """,
        where="metric = 'job_success_gpu_hours'",
    )


def test_where_nothing_ended_there_is_no_rate(model):
    model.given("staged.nodes", NODES)
    model.expect(
        "metrics.success",
        """
        metric                   value  numerator  denominator  event_count
        job_success              -      0          0            0
        infra_only_success_low   -      0          0            0
        infra_only_success_high  -      0          0            0
        attempt_success          -      0          0            0
        first_attempt_success    -      0          0            0
        job_success_gpu_hours    -      0          0            0
        attempt_success_gpu_hours  -    0          0            0
        running_job_age_hours    -      0          0            0
        running_jobs             0      -          -            0
        jobs_ended               0      -          -            0
        jobs_failed              0      -          -            0
        attempts_ended           0      -          -            0
        """,
    )


def test_time_to_an_interruption_by_job_size(model):
    model.window("01:00", "101:00")
    model.given("staged.nodes", NODES)
    model.given(
        "staged.jobs",
        """
        cluster  job  kind
        c        A    training
        c        B    training
        """,
    )
    model.given(
        "staged.pods",
        """
        cluster  pod_uid  job  attempt  rank  gpus  role
        c        a0       A    1        0     8     worker
        c        a1       A    1        1     8     worker
        # a replacement and a hot spare make the gang no larger
        c        a1b      A    1        1     8     worker
        c        a2       A    1        2     8     standby
        c        b0       B    1        0     8     worker
        c        b1       B    2        0     8     worker
        """,
    )
    model.given(
        "staged.attempts",
        """
        cluster  job  attempt  started_at  ended_at  outcome
        c        A    1        00:00       41:00     failed
        c        B    1        11:00       31:00     cancelled
        c        B    2        91:00       -         running
        """,
    )
    model.given(
        "ledger.interruptions",
        """
        cluster  job  attempt  at     outcome    class        domain
        c        A    1        41:00  failed     gpu.mem      infra
        c        B    1        31:00  cancelled  user.cancel  user
        """,
    )
    model.expect(
        "metrics.time_between_failures",
        """
        scope     scope_value  value  numerator  denominator  event_count
        fleet     ''           70     70         1            1
        job_size  9-64         40     40         1            1
        job_size  1-8          -      30         0            0
        domain    infra        70     70         1            1
        domain    platform     -      70         0            0
        domain    app          -      70         0            0
        domain    unknown      -      70         0            0
        """,
        where="metric = 'mttf_hours'",
    )


def test_jobs_that_fail_again_and_again_are_dispersed(model):
    # Eight interruptions in 80 hours: one is expected of A, three of B, four of C.
    failed = "failed  true  interruption  infra"
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "rollups.attempts",
        "cluster  job  attempt  running_ms  outcome  is_ended  counts_as  domain\n"
        + "".join(f"c  A  {n}  {2 * 3_600_000}  {failed}\n" for n in range(5))
        + "".join(f"c  B  {n}  {15 * 3_600_000}  {failed}\n" for n in range(2))
        + f"c  C  1  {40 * 3_600_000}  {failed}\n",
    )
    model.expect(
        "metrics.time_between_failures",
        """
        metric                   scope  value  event_count
        # (5 - 1)^2 + (2 - 3)^2 + (1 - 4)^2 over 8, of three jobs
        interruption_dispersion  fleet  39/8   8
        """,
        where="metric = 'interruption_dispersion'",
    )


def test_interruptions_are_counted_by_class_domain_team_and_job(model):
    model.given(
        "staged.jobs",
        """
        cluster  job  kind      team
        c        A    training  llm
        c        B    training  -
        """,
    )
    model.given(
        "ledger.interruptions",
        """
        cluster  job  attempt  at     class         domain    caused_by
        c        A    1        01:00  gpu.mem       infra     -
        c        A    2        02:00  gpu.mem       infra     -
        c        B    1        02:00  user.resize   user      -
        # preempted for the restart of A
        c        B    2        02:05  plat.preempt  platform  gpu.mem
        """,
    )
    model.expect(
        "metrics.interruptions",
        """
        scope       scope_value   value  event_count
        fleet       ''            4      4
        class       gpu.mem       2      2
        class       user.resize   1      1
        class       plat.preempt  1      1
        root_class  gpu.mem       3      3
        root_class  user.resize   1      1
        domain      infra         2      2
        domain      user          1      1
        domain      platform      1      1
        team        llm           2      2
        job         A             2      2
        job         B             2      2
        """,
        where="metric = 'interruptions'",
    )
    # What its owner asked for is in no share.
    model.expect(
        "metrics.interruptions",
        """
        scope   scope_value   value  numerator  denominator
        class   gpu.mem       2/3    2          3
        class   plat.preempt  1/3    1          3
        domain  infra         2/3    2          3
        domain  platform      1/3    1          3
        """,
        where="metric = 'interruption_share'",
    )


def test_waiting_is_clipped_to_the_window_and_to_what_is_known(model):
    model.window("01:00", "10:00", as_of="05:00")
    model.given(
        "staged.jobs",
        """
        cluster  job  kind      team
        c        A    training  llm
        c        B    training  -
        """,
    )
    model.given(
        "staged.queue",
        """
        cluster  job  attempt  pool   pods  gpus_per_pod  is_suspended  started_at  ended_at
        c        A    1        train  2     8             false         00:30       01:30
        c        B    1        train  1     4             false         04:00       -
        c        B    2        train  1     4             true          02:00       04:00
        """,
    )
    model.expect(
        "metrics.queue",
        """
        metric           scope  scope_value  value  event_count
        queue_hours      fleet  ''           1.5    2
        queue_hours      pool   train        1.5    2
        queue_hours      team   llm          0.5    1
        queue_hours      job    A            0.5    1
        queue_hours      job    B            1      1
        queue_gpu_hours  fleet  ''           12     2
        queue_gpu_hours  pool   train        12     2
        queue_gpu_hours  team   llm          8      1
        queue_gpu_hours  job    A            8      1
        queue_gpu_hours  job    B            4      1
        """,
    )


def test_success_goes_by_size_and_hardware(model):
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "rollups.ended_jobs",
        """
        cluster  job  size  pool   instance_type  gpu_model  is_success  is_failure  domain
        c        A    1-8   train  p5             H100       true        false       -
        c        B    1-8   train  p5             H100       false       true        infra
        c        C    9-64  train  p5             H100       true        false       -
        c        D    -     -      -              -          true        false       -
        """,
    )
    model.expect(
        "metrics.success",
        """
        scope          scope_value  value  denominator
        fleet          ''           3/4    4
        job_size       1-8          1/2    2
        job_size       9-64         1      1
        pool           train        2/3    3
        instance_type  p5           2/3    3
        gpu_model      H100         2/3    3
        """,
        where="metric = 'job_success'",
    )


def test_attempts_weigh_what_they_held(model):
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "rollups.attempts",
        """
        cluster  job  attempt  outcome    is_ended  is_first  domain  pool
        c        A    1        failed     true      true      infra   a
        c        A    2        succeeded  true      false     -       b
        c        B    1        running    false     true      -       b
        """,
    )
    model.given(
        "rollups.gpu_time",
        """
        cluster  member  job  attempt  is_allocated  unit_ms
        c        c       A    1        true          25 gs
        c        c       A    2        true          75 gs
        c        c       B    1        true          99 gs
        """,
    )
    model.expect(
        "metrics.success",
        """
        scope  scope_value  value  numerator  denominator
        fleet  ''           0.75   75         100
        pool   a            0      0          25
        pool   b            1      75         75
        """,
        where="metric = 'attempt_success_gpu_hours'",
    )


def test_attempts_run_on_what_their_pods_stand_on(model):
    model.given("staged.jobs", "cluster  job  kind      state\nc  A  training  running")
    model.given("staged.attempts", "cluster  job  attempt  started_at\nc  A  1  00:00")
    model.given(
        "staged.nodes",
        "cluster  node_uid  pool  instance_type  gpu_model\nc  n1  a  p5  H100\nc  n2  b  p5  -",
    )
    model.given(
        "staged.pods",
        """
        cluster  pod_uid  job  attempt  role     rank  gpus  node_uid
        c        p1       A    1        worker   0     8     n1
        c        p2       A    1        worker   1     8     n2
        c        p3       A    1        standby  -     8     n2
        """,
    )
    model.expect(
        "rollups.attempts",
        """
        job  gpus  size  pool  instance_type  gpu_model
        A    16    9-64  a     p5             H100
        """,
    )
