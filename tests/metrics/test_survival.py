"""Spans of which some have not ended: Kaplan and Meier's estimate over hand-made attempts."""

import random

import pytest
from scipy import stats
from small_fleets import CLUSTER


def waits(model, rows):
    """Puts spans in hours: (entered, length, ended)."""
    for entered, length, is_event in rows:
        model.con.execute(
            "insert into rollups.waits (cluster, measure, scope, scope_value, entered_ms, span_ms,"
            " is_event) values ('c', 'outage', 'fleet', '', ?, ?, ?)",
            [round(entered * 3_600_000), round(length * 3_600_000), is_event],
        )
    model.given_tables.add("rollups.waits")


def curve(model):
    model.rebuild("rollups.survival")
    return model.con.sql(
        "select span_ms / 3600000, risk_count, event_count, survival, low, high"
        " from rollups.survival order by span_ms"
    ).fetchall()


@pytest.mark.filterwarnings("ignore:The confidence interval is undefined")
def test_the_estimate_is_that_of_scipy(model):
    chance = random.Random(7)
    spans = [(0, chance.randint(1, 40), chance.random() < 0.7) for _ in range(60)]
    waits(model, spans)

    expected = stats.ecdf(
        stats.CensoredData(
            uncensored=[length for _, length, ended in spans if ended],
            right=[length for _, length, ended in spans if not ended],
        )
    ).sf
    bounds = expected.confidence_interval(method="log-log")
    for hours, _, events, survival, low, high in curve(model):
        assert survival == pytest.approx(float(expected.evaluate(hours)), abs=1e-12)
        if events and low is not None:
            assert low == pytest.approx(float(bounds.low.evaluate(hours)), abs=1e-9)
            assert high == pytest.approx(float(bounds.high.evaluate(hours)), abs=1e-9)


def test_who_enters_late_is_at_risk_only_from_then_on(model):
    # At 2 h one of two ends; the span that was first seen at 3 h old joins after it.
    waits(model, [(0, 2, True), (0, 5, True), (3, 4, True), (3, 6, False)])

    rows = [row[:4] for row in curve(model)]
    assert rows == [
        (2, 2, 1, 0.5),
        (4, 3, 1, pytest.approx(1 / 3)),
        (5, 2, 1, pytest.approx(1 / 6)),
        (6, 1, 0, pytest.approx(1 / 6)),
    ]


def test_late_entries_are_those_of_lifelines(model):
    # lifelines 0.30.3: KaplanMeierFitter().fit(length, ended, entry=entered), to six digits.
    waits(
        model,
        [
            (0, 4, True),
            (0, 6, True),
            (0, 7, False),
            (0, 10, True),
            (2, 11, True),
            (5, 13, False),
            (0, 16, True),
            (8, 18, True),
            (0, 21, False),
            (3, 22, True),
            (0, 25, True),
            (9, 30, False),
        ],
    )

    expected = [
        (4, 9, 0.888889, 0.432965, 0.983564),
        (6, 9, 0.790123, 0.389594, 0.942832),
        (10, 9, 0.702332, 0.334105, 0.892358),
        (11, 8, 0.614540, 0.272520, 0.833316),
        (16, 6, 0.512117, 0.195218, 0.760232),
        (18, 5, 0.409694, 0.129151, 0.677706),
        (22, 3, 0.273129, 0.049449, 0.571115),
        (25, 2, 0.136565, 0.008006, 0.439948),
    ]
    found = [(at, risk, *rest) for at, risk, events, *rest in curve(model) if events]
    assert found == [pytest.approx(row, abs=5e-7) for row in expected]
    # And its median with median_survival_times of the band.
    model.expect(
        "rollups.span_quantiles",
        """
        probability  span_ms     low_ms      high_ms
        0.5          64_800_000  14_400_000  90_000_000
        """,
        where="probability = 0.5",
    )


def test_an_end_of_no_length_counts(model):
    waits(model, [(0, 0, True), (0, 1, True)])

    assert [row[:4] for row in curve(model)] == [(0, 2, 1, 0.5), (1, 1, 1, 0)]


def test_quantiles_wait_for_enough_ends(model):
    waits(model, [(0, 1, True), (0, 2, False), (0, 3, False), (0, 4, True), (0, 5, False)])
    model.expect(
        "rollups.span_quantiles",
        """
        measure  probability  event_count  cut_count  span_ms     high_ms
        outage   0.5          2            3          14_400_000  -
        outage   0.9          2            3          -           -
        """,
    )


def test_survival_intervals_cover_the_truth(model):
    # Exponential failures of mean 50 h, censored at up to 100 h: 36.8 % outlast 50 h.
    failures = stats.expon(scale=50).rvs((400, 150), random_state=20261130)
    cuts = stats.uniform(0, 100).rvs((400, 150), random_state=1)
    model.con.execute("create or replace temp table draws (study int, fails double, cut double)")
    model.con.executemany(
        "insert into draws select ?, unnest(?), unnest(?)",
        [[n, list(failures[n]), list(cuts[n])] for n in range(400)],
    )
    model.con.execute(
        "insert into rollups.waits (cluster, measure, scope, scope_value, entered_ms, span_ms,"
        " is_event) select 'c', 'attempt', 'study', study, 0,"
        " ceil(least(fails, cut) * 3600000), fails <= cut from draws"
    )
    model.given_tables.add("rollups.waits")
    model.rebuild("rollups.survival")
    [(share,)] = model.con.sql(
        "select avg((low <= exp(-1) and high >= exp(-1))::int) from ("
        "select arg_max(low, span_ms) as low, arg_max(high, span_ms) as high"
        " from rollups.survival where span_ms <= 50 * 3600000 group by scope_value)"
    ).fetchall()

    assert 0.93 <= share <= 0.97


ATTEMPTS = """
    cluster  attempt_id  job  attempt  started_ms  ended_ms
    c        1           A    1        00:00       10:00
    c        2           A    2        10:00       -
    c        3           B    1        20:00       30:00
    c        4           C    1        50:00       70:00
"""


def test_attempts_survive_until_they_fail(model):
    model.window("00:00", "100:00")
    model.given("rollups.clusters", CLUSTER)
    model.given("intervals.lineage_attempts", ATTEMPTS)
    model.given(
        "rollups.attempts",
        """
        cluster  job  attempt  outcome    domain  size
        c        A    1        failed     infra   1-8
        c        A    2        running    -       1-8
        # what succeeds, or what its owner stops, leaves the race
        c        B    1        succeeded  -       9-64
        c        C    1        failed     app     9-64
        """,
    )
    model.expect(
        "metrics.attempt_survival",
        """
        metric                         scope     scope_value  value  event_count
        attempt_survival               hours     1            1      0
        attempt_survival               hours     6            1      0
        attempt_survival               hours     24           3/8    2
        attempt_survival               hours     72           3/8    2
        attempt_survival_median_hours  fleet     ''           20     2
        attempt_survival_median_hours  job_size  1-8          10     1
        attempt_survival_median_hours  job_size  9-64         20     1
        """,
    )


def test_a_fleet_without_attempts_has_no_median(model):
    model.given("rollups.clusters", CLUSTER)
    model.expect(
        "metrics.attempt_survival",
        """
        metric                         scope  scope_value  value  event_count
        attempt_survival_median_hours  fleet  ''           -      0
        """,
    )


OUTAGES = """
    cluster  node_uid  pool   started_ms  ended_ms  class     domain  planned  action  incident  is_birth
    c        n1        train  10:00       11:00     gpu.lost  infra   false    reboot  first     false
    c        n2        train  20:00       -         gpu.mem   infra   false    -       second    false
"""  # noqa: E501


@pytest.fixture
def repaired(model):
    """One node goes the whole way back, another waits for its repair."""
    model.window("00:00", "24:00")
    model.given("rollups.clusters", CLUSTER)
    model.given("rollups.node_outages", OUTAGES)
    model.given(
        "intervals.condition_repairs",
        """
        cluster  node_uid  type                      class      is_blocking  is_in_repair  started_ms
        c        n1        AcceleratedHardwareReady  gpu.lost   true         false         10:02
        # a consequence of the repair
        c        n1        Ready                     host.lost  true         true          10:20
        c        n2        AcceleratedHardwareReady  gpu.mem    true         false         20:00
        """,  # noqa: E501
    )
    model.given(
        "intervals.signals",
        """
        cluster  node_uid  source  class     observed_at
        c        n1        xid     gpu.lost  09:55
        # too old, and of another class
        c        n1        xid     gpu.lost  09:40
        c        n2        xid     gpu.lost  19:58
        """,
    )
    model.given(
        "staged.node_admin",
        """
        cluster  node_uid  kind    action  started_at  ended_at
        c        n1        cordon  -       10:05       11:00
        c        n1        drain   -       10:06       10:10
        c        n1        repair  reboot  10:15       10:45
        c        n2        cordon  -       20:10       -
        """,
    )
    return model


def test_a_repair_is_told_stage_by_stage(repaired):
    repaired.expect(
        "rollups.repair_stages",
        """
        node_uid  onset_ms  detected_ms  isolated_ms  drained_ms  repair_started_ms  repair_ended_ms  back_ms  due_ms
        n1        09:55     10:02        10:05        10:10       10:15              10:45            11:00    10:12
        n2        20:00     20:00        20:10        -           -                  -                -        20:10
        """,  # noqa: E501
    )


def test_detection_and_stages_have_their_quantiles(repaired):
    repaired.expect(
        "metrics.time_to_detect",
        """
        metric                     scope       scope_value  value  numerator  denominator  event_count
        mttd_hours                 fleet       ''           7/120  7/60       2            2
        mttd_median_hours          fleet       ''           0      -          -            2
        mttd_p90_hours             fleet       ''           7/60   -          -            2
        repair_stage_median_hours  stage       detect       0      -          -            2
        repair_stage_median_hours  stage       isolate      0.05   -          -            2
        repair_stage_median_hours  stage       drain        1/12   -          -            1
        # one of two still waits
        repair_stage_median_hours  stage       repair_wait  13/60  -          -            1
        repair_stage_median_hours  stage       repair       0.5    -          -            1
        repair_stage_median_hours  stage       return       0.25   -          -            1
        # ten minutes are tolerated; three more are on time, hours are not
        repairs                    timeliness  early        0      -          -            0
        repairs                    timeliness  on_time      1      -          -            1
        repairs                    timeliness  late         1      -          -            1
        repairs                    timeliness  blocked      1      -          -            1
        """,  # noqa: E501
        where="scope in ('fleet', 'timeliness') or metric = 'repair_stage_median_hours'",
    )


def test_a_failure_without_an_outage_is_detected_when_its_attempt_ends(model):
    model.window("00:00", "24:00")
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "ledger.interruptions",
        """
        cluster  job  attempt  class         domain
        c        A    1        net.fabric    infra
        c        B    1        plat.preempt  platform
        """,
    )
    model.given(
        "intervals.attempt_onsets",
        """
        cluster  job  attempt  onset_ms  ended_ms
        c        A    1        10:00     10:30
        c        B    1        11:00     11:01
        """,
    )
    model.expect(
        "metrics.time_to_detect",
        """
        metric      scope  scope_value  value  event_count
        mttd_hours  class  net.fabric   0.5    1
        mttd_hours  fleet  ''           0.5    1
        """,
        where="metric = 'mttd_hours'",
    )


def test_waits_for_capacity_that_go_on_are_censored(model):
    model.window("10:00", "20:00")
    model.given("rollups.clusters", CLUSTER)
    model.given(
        "staged.queue",
        """
        cluster  job  attempt  pool   pods  gpus_per_pod  started_at  ended_at  is_suspended
        c        A    1        train  1     8             11:00       12:00     false
        c        B    1        train  1     8             11:00       14:00     false
        c        C    1        train  1     8             16:00       30:00     false
        c        D    1        train  1     8             11:00       12:00     true
        # began before the window
        c        E    1        train  1     8             06:00       12:00     false
        """,
    )
    model.expect(
        "metrics.queue_waits",
        """
        metric                   scope  scope_value  value  event_count
        queue_wait_median_hours  fleet  ''           3      3
        queue_wait_p90_hours     fleet  ''           6      3
        """,
        where="scope = 'fleet' and metric like 'queue_wait%'",
    )
