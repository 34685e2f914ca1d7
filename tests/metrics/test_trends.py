"""Week against week: from sums to verdicts, and `goodput trends` over a lake of two weeks."""

import json
import random
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from click.testing import CliRunner

from goodput.cli import main
from goodput.warehouse.known import KnownDays, LeftOut
from goodput.warehouse.trends import Totals, compare
from goodput.window import Window

SUCCESS, PAID, RATE, MTTF = (
    ("job_success", "c"),
    ("goodput_paid", "c"),
    ("failures_per_1000_node_days", "c"),
    ("mttf_hours", "c"),
)


def jobs(succeeded, ended):
    return Totals(tuple((float(n < succeeded), 1.0) for n in range(ended)))


def one(before, now, key):
    [trend] = compare({key: before}, {key: now})
    return trend


def test_a_change_within_chance_is_no_change():
    # The standard's 5.12: 5 and 12 events in 1000 are a ratio of 2.4, and chance.
    trend = one(Totals(rest=(5, 1000)), Totals(rest=(12, 1000)), RATE)

    assert (trend.verdict, trend.change) == ("none", 2.4)
    assert (trend.low, trend.high) == pytest.approx((0.787046, 8.695981), abs=1e-6)
    assert trend.p_value == trend.adjusted_p == pytest.approx(0.143463, abs=1e-6)


def test_a_change_beyond_chance_is_better_or_worse():
    before, now = Totals(rest=(20, 1000)), Totals(rest=(45, 1000))

    assert one(before, now, RATE).verdict == "worse"
    assert one(now, before, RATE).verdict == "better"


def test_where_failures_come_in_clusters_more_is_needed_for_a_change():
    steady, clustered = (Totals(rest=(20, 1000), dispersion=d) for d in (1, 3))
    now = Totals(rest=(45, 1000))

    trend = one(clustered, now, RATE)
    assert (trend.verdict, trend.dispersion) == ("none", 3)
    assert trend.p_value == pytest.approx(0.0804534, abs=1e-6)
    assert (trend.low, trend.high) == pytest.approx((0.913925, 6.413911), abs=1e-5)
    assert trend.detectable == pytest.approx(one(steady, now, RATE).detectable ** 3**0.5)
    # What the change itself adds to the unrest does not hide it.
    assert one(steady, Totals(rest=(45, 1000), dispersion=3), RATE).verdict == "worse"


def test_windows_together_are_as_dispersed_as_the_most_dispersed():
    assert (Totals(dispersion=2) + Totals(dispersion=3)).dispersion == 3


def test_a_mean_time_is_the_rate_upside_down():
    # Hours over events: 45 events instead of 20 are less than half the time between them.
    trend = one(Totals(rest=(1000, 20)), Totals(rest=(1000, 45)), MTTF)

    assert (trend.previous, trend.previous_count, trend.current_count) == (50, 20, 45)
    assert trend.change == pytest.approx(1 / 2.25)
    assert (trend.low, trend.high) == pytest.approx((1 / 4.022428, 1 / 1.301640), abs=1e-6)
    assert trend.verdict == "worse"


def test_from_none_to_many_is_an_infinite_ratio():
    trend = one(Totals(rest=(0, 1000)), Totals(rest=(10, 1000)), RATE)

    assert (trend.change, trend.high, trend.verdict) == (None, None, "worse")


def test_two_weeks_of_a_thousand_jobs_tell_98_from_99_5_percent():
    # The standard's 5.1: with a hundred jobs they cannot be told apart.
    assert one(jobs(98, 100), jobs(100, 100), SUCCESS).verdict == "none"
    many = one(jobs(980, 1000), jobs(995, 1000), SUCCESS)

    assert (many.verdict, many.previous, many.current) == ("better", 0.98, 0.995)
    assert many.change == pytest.approx(0.015)


def test_what_is_certain_but_small_does_not_matter():
    # 0.4 points of goodput, with jobs so alike that it is beyond chance.
    before = Totals(tuple((80.0, 100.0 + n % 2) for n in range(100)))
    now = Totals(tuple((80.4, 100.0 + n % 2) for n in range(100)))
    trend = one(before, now, PAID)

    assert trend.adjusted_p < 0.001
    assert trend.verdict == "none"
    assert trend.detectable < 0.004


def test_fewer_than_five_are_no_rate():
    assert one(jobs(2, 2), jobs(0, 4), SUCCESS).verdict == "too_few"
    assert one(Totals(rest=(1, 1000)), Totals(rest=(3, 1000)), RATE).verdict == "too_few"
    assert one(Totals(), jobs(9, 9), SUCCESS).verdict == "too_few"


def test_time_that_no_job_held_counts_and_does_not_vary():
    parts = tuple((8.0, 10.0) for _ in range(10))
    trend = one(Totals(parts, (0, 100)), Totals(parts, (0, 100)), PAID)

    assert (trend.previous, trend.current, trend.change) == (0.4, 0.4, 0)
    assert trend.verdict == "none"


def test_many_metrics_at_once_need_stronger_evidence():
    before = {RATE: Totals(rest=(20, 1000)), PAID: jobs(50, 100), SUCCESS: jobs(50, 100)}
    now = {RATE: Totals(rest=(36, 1000)), PAID: jobs(50, 100), SUCCESS: jobs(50, 100)}
    alone = one(before[RATE], now[RATE], RATE)
    together = {trend.metric: trend for trend in compare(before, now)}

    assert alone.verdict == "worse"
    assert alone.p_value < 0.05 < together[RATE[0]].adjusted_p == pytest.approx(3 * alone.p_value)
    assert together[RATE[0]].verdict == "none"


def test_weeks_of_the_same_fleet_are_seldom_called_different():
    # Holm holds the chance of any false alarm over the whole screen to 5 %.
    chance = random.Random(20261130)

    def week():
        parts = [chance.lognormvariate(3, 1) for _ in range(60)]
        events = sum(chance.random() < 0.02 for _ in range(1500))
        return {
            PAID: Totals(tuple((whole * chance.betavariate(7, 3), whole) for whole in parts)),
            SUCCESS: jobs(sum(chance.random() < 0.9 for _ in range(200)), 200),
            RATE: Totals(rest=(events, 1000)),
        }

    weeks = [week() for _ in range(401)]
    alarms = [
        any(trend.verdict != "none" for trend in compare(before, now))
        for before, now in pairwise(weeks)
    ]
    assert sum(alarms) / len(alarms) <= 0.07


WEEK = datetime(2026, 3, 9, tzinfo=UTC)
DAY = timedelta(days=1)


def text(instant):
    return instant.isoformat().replace("+00:00", "Z")


def tables(learnt, first=0):
    """Two nodes for two weeks, ten jobs a week; in the second week all of them fail.

    Args:
        learnt: when the lake learnt all of it.
        first: number of the first job that is told of.
    """
    rows = {"nodes": [], "jobs": [], "attempts": [], "pods": [], "steps": []}
    for n in range(2):
        rows["nodes"].append(
            {"node_uid": f"n{n}", "pool": "a", "gpus": 1, "registered_at": text(WEEK - 7 * DAY)}
        )
    for number in range(first, 20):
        week = number // 10
        begin = WEEK + (week - 1) * 7 * DAY + timedelta(hours=16 * (number % 10))
        end, key = begin + timedelta(hours=1), {"job": f"j{number}", "attempt": 1}
        outcome = "failed" if week else "succeeded"
        rows["jobs"].append({"job": key["job"], "state": outcome, "ended_at": text(end)})
        rows["attempts"].append({**key, "start": text(begin), "end": text(end), "outcome": outcome})
        rows["pods"].append(
            {
                **key,
                "pod_uid": f"p{number}",
                "node_uid": "n0",
                "gpus": 1,
                "bound_at": text(begin),
                "running_at": text(begin),
                "released_at": text(end),
            }
        )
        rows["steps"].append(
            {**key, "first": 1, "last": 60, "start": text(begin), "end": text(end)}
        )
    for table in rows.values():
        for row in table:
            row["ingested_at"] = text(learnt)
    return rows


@pytest.fixture
def lake(tmp_path):
    """Takes when the tables were learnt; gives `goodput trends` over a lake of them."""

    def fill(learnt, first=0):
        (tmp_path / "tables").mkdir()
        for name, rows in tables(learnt, first).items():
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (tmp_path / "tables" / f"{name}.ndjson").write_text(lines)
        run("import", str(tmp_path / "tables"))
        return lambda week, *words: run(
            "trends", "--week", week, "--as-of", text(WEEK + 9 * DAY), "-o", "json", *words
        )

    def run(*words):
        return CliRunner().invoke(main, ["--lake", str(tmp_path / "lake"), *words])

    return fill


def test_the_week_before_is_built_as_it_was_known_at_the_same_age(lake):
    result = lake(WEEK - 7 * DAY)("2026-W11")

    found = {row["metric"]: row for row in json.loads(result.stdout)}
    success = found["job_success"]
    assert (success["previous"], success["current"], success["verdict"]) == (1, 0, "worse")
    assert (success["previous_count"], success["current_count"]) == (10, 10)
    assert found["node_availability_closed"]["verdict"] == "too_few"
    assert found["mttf_hours"]["current_count"] == 10
    assert "2026-03-02" in result.stderr
    assert "late news" not in result.stderr


def test_a_lake_younger_than_the_week_before_takes_it_as_it_is_known_now(lake):
    result = lake(WEEK + 8 * DAY)("2026-W11")

    found = {row["metric"]: row for row in json.loads(result.stdout)}
    assert (found["job_success"]["previous"], found["job_success"]["current"]) == (1, 0)
    assert "late news may still lower the current window" in result.stderr


def test_without_anything_before_there_is_nothing_to_compare(lake):
    result = lake(WEEK - 7 * DAY)("2026-W10")

    assert result.exit_code == 4
    assert (
        "the lake holds too little from 2026-02-23 to 2026-03-02 to compare with"
        " (2026-W09: the lake's rows begin on 2026-03-02, after it); import or collect it first"
    ) in result.stderr


def test_a_week_of_which_the_first_days_are_missing_is_not_comparable(lake):
    # The third job begins on the second day.
    result = lake(WEEK - 6 * DAY, first=2)("2026-W11")

    assert (result.exit_code, result.stdout) == (4, "")
    assert "2026-W10: the lake's rows begin on 2026-03-03, in the midst of it" in result.stderr


def test_of_several_windows_those_left_out_are_named_and_the_others_compared(lake):
    result = lake(WEEK - 7 * DAY)("2026-W11", "--weeks", "2")

    found = {row["metric"]: row for row in json.loads(result.stdout)}
    assert found["job_success"]["previous_count"] == 10
    left_out, compared = result.stderr.splitlines()[-2:]
    assert left_out == "not compared with 2026-W09: the lake's rows begin on 2026-03-02, after it"
    assert compared.endswith(" against 2026-03-02T00:00:00Z to 2026-03-09T00:00:00Z")


W11 = Window.of_week("2026-W11")


def known(at_work, books=(), last=15):
    """Days of March 2026 on which rows begin; the week is that of the 9th to the 15th."""
    at_work, books = (frozenset(date(2026, 3, day) for day in days) for days in (at_work, books))
    return KnownDays(at_work | books, books, date(2026, 3, last))


@pytest.mark.parametrize(
    ("days", "gap"),
    [
        # One job of a hundred hours, or none: where books are kept, it is a week like others.
        (known((), books=(9,)), None),
        (known((), books=(2,)), None),
        (known((), books=(2,), last=14), "the lake's rows end on 2026-03-14, before it does"),
        (known((), books=(11,)), "the lake's rows begin on 2026-03-11, in the midst of it"),
        (known((), books=(16,)), "the lake's rows begin on 2026-03-16, after it"),
        (known(()), "the lake holds no row that tells of a fleet at work"),
        # Who only looks has not seen the days between.
        (known((2, 13, 14, 15)), "it was looked at on 3 of its 7 days only"),
        (known((2, 12, 13, 14, 15)), None),
        # Books that begin in the midst of it tell nothing of the days before.
        (known((2,), books=(13,)), "it was looked at on 1 of its 7 days only"),
    ],
)
def test_a_week_counts_if_the_fleet_was_known_through_it(days, gap):
    assert days.gap(W11) == gap


def test_a_window_that_is_no_week_is_named_by_its_days():
    window = Window(W11.start, W11.start + 2 * DAY)
    assert str(LeftOut(window, "why")) == "2026-03-09 to 2026-03-11: why"
