"""Slow steps that no condition explains: found where the pace changes, and booked exactly."""

import random
from fractions import Fraction
from itertools import accumulate
from math import hypot, pi, sqrt
from statistics import stdev

import pytest
from ledger_rows import LedgerBench
from tables import clock

PACE_MS = 1000
WEEK = "window 00:00 168:00"


def jittered(count, seed, factor=1.0):
    """Durations in ms around a pace, with a deviation of 1 %."""
    chance = random.Random(seed)
    return [round(PACE_MS * factor * chance.gauss(1, 0.01)) for _ in range(count)]


def play(model, durations, configs=None, settings=WEEK):
    """A job of one GPU that takes these steps one after the other, from midnight on."""
    bench = LedgerBench(model)
    bench.settings(settings)
    bench.given(
        "nodes",
        """
        node_uid  gpus  registered_at
        n1        1     00:00
    """,
    )
    bench.given(
        "jobs",
        """
        job  state      ended_at
        A    succeeded  10:00
    """,
    )
    bench.given(
        "attempts",
        """
        job  attempt  start  end    outcome
        A    1        00:00  10:00  succeeded
    """,
    )
    bench.given(
        "pods",
        """
        pod_uid  job  attempt  node_uid  gpus  bound_at  running_at  released_at
        p        A    1        n1        1     00:00     00:00       10:00
    """,
    )
    midnight = clock("00:00")
    model.con.executemany(
        """insert into raw.steps by name
        select 'default' as cluster, 'A' as job, 1 as attempt, ? as step,
            ? + to_milliseconds(?) as start, ? + to_milliseconds(?) as "end", ? as config""",
        [
            (n, midnight, at - took, midnight, at, configs[n - 1] if configs else None)
            for n, (at, took) in enumerate(zip(accumulate(durations), durations, strict=True), 1)
        ],
    )
    return bench


def slow_seconds(bench):
    """What the ledger books as slow, by cause."""
    return {cause: s for (state, cause), s in bench.ledger().items() if state == "A.slow"}


def changes(bench, durations):
    """How many records came before each change of pace."""
    starts = {at: n for n, at in enumerate(accumulate(durations, initial=0))}
    rows = bench.model.con.execute(
        "select turned_ms - getvariable('window_start_ms') from intervals.change_points order by 1"
    ).fetchall()
    return [starts[ms] for (ms,) in rows]


def median(durations):
    return sorted(durations)[(len(durations) - 1) // 2]


def excess(durations, baseline):
    return Fraction(sum(max(0, took - baseline) for took in durations), 1000)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_lasting_change_is_found_and_booked_to_the_millisecond(model, seed):
    durations = jittered(300, seed) + jittered(300, seed + 100, 1.1)
    bench = play(model, durations)

    booked = slow_seconds(bench)

    assert changes(bench, durations) == [300]
    assert booked == {"unk.slow": excess(durations[300:], median(durations[1:300]))}
    assert bench.broken_checks() == []
    model.expect(
        "intervals.slow_segments",
        f"""
        job  attempt  zone  record_count  baseline_ms                 class     basis    confidence
        A    1        1     300           {median(durations[1:300])}  unk.slow  nothing  30
    """,
    )
    sure = "select distinct confidence from ledger.gpu_time where state = 'A.slow'"
    assert model.con.sql(sure).fetchall() == [(30,)]


def test_a_loss_has_the_interval_of_its_baseline_and_its_own_records(model):
    fast, slow = jittered(400, 1), jittered(400, 2, 1.1)
    bench = play(model, fast + slow)
    lost = 1000 * slow_seconds(bench)["unk.slow"]

    model.rebuild("rollups.slow_losses")
    [(took, low, high)] = model.con.sql(
        "select lost_ms, low_ms, high_ms from rollups.slow_losses"
    ).fetchall()

    assert took == lost
    # A median of n normal values deviates by sqrt(pi / 2 n) of theirs; the baseline counts once
    # for each slow step, and the slow steps bring the deviation of their sum.
    baseline = len(slow) * stdev(fast) * sqrt(pi / 2 / len(fast))
    own = sqrt(len(slow)) * stdev(slow)
    assert (high - low) / 2 == pytest.approx(1.96 * hypot(baseline, own), rel=0.2)
    assert (high + low) / 2 == pytest.approx(lost, rel=0.03)


def test_a_slow_stretch_that_heals_is_two_changes(model):
    durations = jittered(200, 1) + jittered(60, 2, 1.3) + jittered(340, 3)
    bench = play(model, durations)

    booked = slow_seconds(bench)

    assert changes(bench, durations) == [200, 260]
    fast = min(median(durations[1:200]), median(durations[260:]))
    assert booked == {"unk.slow": excess(durations[200:260], fast)}


def test_a_slow_start_of_twenty_records_is_found(model):
    durations = jittered(23, 1, 1.2) + jittered(300, 2)
    bench = play(model, durations)

    booked = slow_seconds(bench)

    # The first three records are warm-up: they tell nothing, but belong to the slow stretch.
    assert changes(bench, durations) == [23]
    assert booked == {"unk.slow": excess(durations[:23], median(durations[23:]))}


@pytest.mark.parametrize("seed", range(3))
def test_jitter_is_no_slowness(model, seed):
    durations = jittered(600, seed)
    bench = play(model, durations)

    assert slow_seconds(bench) == {}
    assert changes(bench, durations) == []


@pytest.mark.parametrize(("length", "factor"), [(1, 20), (2, 20), (15, 1.3), (19, 3)])
def test_a_burst_shorter_than_twenty_records_is_no_slowness(model, length, factor):
    durations = jittered(300, 1) + jittered(length, 2, factor) + jittered(300, 3)
    bench = play(model, durations)

    assert slow_seconds(bench) == {}
    assert changes(bench, durations) == []


def test_what_single_long_records_took_is_reported_and_not_booked(model):
    durations = jittered(300, 1)
    durations[100], durations[200] = 2501, 7000
    bench = play(model, durations)

    assert slow_seconds(bench) == {}
    baseline = median(durations[1:])
    jitter = (2 * 2501 - 3 * baseline + 2 * 7000 - 3 * baseline) // 2
    model.expect(
        "report.paces",
        f"""
        job  attempt  clean_count  baseline_ms  fleet_ms  jitter_record_count  jitter_ms  confidence
        A    1        299          {baseline}   -         2                    {jitter}   -
    """,
    )


def test_another_configuration_is_no_slowness(model):
    durations = jittered(300, 1) + jittered(300, 2, 1.4)
    bench = play(model, durations, configs=["seq4k"] * 300 + ["seq8k"] * 300)

    assert slow_seconds(bench) == {}
    assert changes(bench, durations) == []


def test_the_search_can_be_switched_off(model):
    durations = jittered(300, 1) + jittered(300, 2, 1.1)
    bench = play(model, durations, settings=f"{WEEK}\nparam blind_min_rows 1000000")

    assert slow_seconds(bench) == {}


# ------------------------------------------------------------------- whose node

ATTEMPTS = """
    attempt_id  lineage_id  cluster  job  attempt  started_ms  known_end_ms
    1           1           c        A    1        100         200
    2           1           c        A    2        200         300
    3           2           c        B    1        100         200
    4           2           c        B    2        200         300
    5           3           c        C    1        200         300
    6           3           c        C    2        300         400
"""
SEGMENTS = """
    attempt_id  lineage_id  world  config  clean_count  median_ms  baseline_ms  is_slow
    1           1           8      x       50           1100       1000         true
    2           1           8      x       50           1000       1000         false
    3           2           8      x       50           1100       1000         true
    4           2           8      x       50           1000       1000         false
    5           3           8      x       50           1100       1000         true
    6           3           8      x       50           1000       1000         false
"""
SLOW = """
    attempt_id  record_key  started_ms  ended_ms  is_synthetic  zone  setting_id  class     basis
    1           2           0           1100      false         0     0           unk.slow  nothing
    3           6           0           1100      false         0     0           unk.slow  nothing
    5           10          0           1100      false         0     0           unk.slow  nothing
"""


def given_gangs(model, nodes, segments=SEGMENTS, slow=SLOW, attempts=ATTEMPTS):
    """Three lineages with a slow and a good attempt each; nodes: of each attempt, by attempt_id."""
    model.given("intervals.lineage_attempts", attempts)
    header, *rows = segments.strip().splitlines()
    lines = [f"{header}  zone  setting_id", *(f"{row}  0  0" for row in rows)]
    model.given("intervals.judged_segments", "\n".join(lines))
    model.given("intervals.slow_records", slow)
    pods = [
        f"c  {'AABBCCA'[gang]}  {(1, 2, 1, 2, 1, 2, 3)[gang]}  p{gang}{node}  {node}"
        for gang, names in enumerate(nodes)
        for node in names.split()
    ]
    model.given("staged.pods", "\n".join(["cluster  job  attempt  pod_uid  node_uid", *pods]))


def test_a_node_that_slowness_follows_through_three_gangs_is_suspected(model):
    given_gangs(model, ["bad n1", "n1 n2", "bad n3", "n3 n4", "n5 bad", "n5 n6"])

    # Six gangs that agree: one in 64 by chance.
    model.expect(
        "intervals.slow_suspects",
        """
        cluster  node_uid  gangs_with  slow_with  gangs_without  slow_without  p_value
        c        bad       3           3          3              0             0.015625
    """,
    )
    model.expect(
        "intervals.slow_segments",
        """
        job  attempt  median_ms  baseline_ms  class     basis        node_uid  confidence
        A    1        1100       1000         unk.slow  elimination  bad       60
        B    1        1100       1000         unk.slow  elimination  bad       60
        C    1        1100       1000         unk.slow  elimination  bad       60
    """,
    )


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param(["bad n1", "n2", "bad n1", "n3", "bad n1", "n4"], id="the gang is always one"),
        pytest.param(["a b", "n1", "a b", "n2", "a b", "n3"], id="two nodes are always together"),
        pytest.param(["bad n1", "bad n2", "bad n3", "bad n4", "bad n5", "bad"], id="always there"),
        pytest.param(["a", "n1", "b", "n2", "c", "n3"], id="nothing in common"),
    ],
)
def test_what_proves_nothing_suspects_no_node(model, nodes):
    given_gangs(model, nodes)

    model.expect("intervals.slow_suspects", "cluster  node_uid")


@pytest.mark.parametrize(
    ("started_ms", "suspects"),
    [
        pytest.param(0, "c  bad  3  3  3  0  0.015625", id="before"),
        # Six of seven agree: one in 16 by chance.
        pytest.param(50, "", id="during"),
    ],
)
def test_a_gang_that_was_good_in_the_meantime_speaks_for_the_node(model, started_ms, suspects):
    given_gangs(
        model,
        ["bad n1", "n1 n2", "bad n3", "n3 n4", "n5 bad", "n5 n6", "bad n9"],
        attempts=f"{ATTEMPTS}    7  1  c  A  3  {started_ms}  {started_ms + 100}",
        segments=f"{SEGMENTS}    7  1  8  x  50  1000  1000  false",
    )

    header = "cluster  node_uid  gangs_with  slow_with  gangs_without  slow_without  p_value\n"
    model.expect("intervals.slow_suspects", header + suspects)


def test_two_slow_gangs_among_three_may_be_chance(model):
    given_gangs(
        model,
        ["bad n1", "n1 n2", "bad n3", "n3 n4", "n5 bad", "n5 n6"],
        slow="\n".join(SLOW.splitlines()[:4]),
    )

    model.expect("intervals.slow_suspects", "cluster  node_uid")


def test_two_gangs_with_and_two_without_may_be_chance(model):
    given_gangs(
        model,
        ["bad n1", "n1 n2", "bad n3", "n3 n4", "n5 bad", "n5 n6"],
        slow="\n".join(SLOW.splitlines()[:4]),
        segments="\n".join(SEGMENTS.splitlines()[:6]),
    )

    model.expect("intervals.slow_suspects", "cluster  node_uid")


def test_slowness_with_a_known_cause_tells_nothing_about_other_nodes(model):
    given_gangs(
        model,
        ["bad n1", "n1 n2", "bad n3", "n3 n4", "n5 bad", "n5 n6"],
        slow=SLOW.replace("unk.slow  nothing", "gpu.thermal  condition"),
    )

    model.expect("intervals.slow_suspects", "cluster  node_uid")
    model.expect(
        "intervals.slow_segments",
        """
        job  class        basis      node_uid  confidence
        A    gpu.thermal  condition  -         90
        B    gpu.thermal  condition  -         90
        C    gpu.thermal  condition  -         90
    """,
    )


def test_synthetic_records_make_a_slow_segment_less_sure(model):
    given_gangs(
        model,
        ["n1"] * 6,
        slow=SLOW.replace("unk.slow  nothing", "host.cpu  rank").replace("false", "true ", 1),
    )

    model.expect(
        "intervals.slow_segments",
        """
        job  class     basis  confidence
        A    host.cpu  rank   70
        B    host.cpu  rank   80
        C    host.cpu  rank   80
    """,
    )


def test_a_lineage_that_was_always_slow_is_possibly_so(model):
    given_gangs(model, ["n1"] * 6, segments="""
        attempt_id  lineage_id  world  config  clean_count  median_ms  baseline_ms  is_slow
        1           1           8      x       50           1000       1000         false
        2           1           8      x       40           1010       1000         false
        3           2           8      x       50           1000       1000         false
        5           3           8      x       50           1080       1080         false
        6           3           16     x       50           2000       2000         false
    """)  # fmt: skip
    model.given(
        "intervals.attempt_medians",
        """
        attempt_id  position_ms
        1           1000
        2           1010
        3           1000
        5           1080
        6           2000
    """,
    )

    # One segment only: nothing in the lineage itself speaks for it.
    model.expect(
        "report.paces",
        """
        job  attempt  world  clean_count  baseline_ms  fleet_ms  is_possibly_slow  confidence
        A    1        8      50           1000         1000      false             -
        A    2        8      40           1000         1000      false             -
        B    1        8      50           1000         1000      false             -
        C    1        8      50           1080         1000      true              10
        C    2        16     50           2000         -         false             -
    """,
    )
