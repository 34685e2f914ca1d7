"""Comparing two periods, against published tables and by simulation.

The rows are those of the accounting standard's rate_ratio_exact.csv (SciPy and hand calculation
agree), of its 5.12, and of the definitions of Holm's procedure.
"""

import math
import random

import pytest
from scipy import stats

from goodput.estimates import (
    binomial_p_value,
    clopper_pearson,
    count_interval,
    holm,
    rate_ratio,
    standard_error_of_ratio,
    two_sided_p,
)


@pytest.mark.parametrize(
    ("before", "exposure", "now", "exposure_now", "ratio", "low", "high", "p_value"),
    [
        (5, 1000, 12, 1000, 2.4, 0.787046, 8.695981, 0.143463),
        (12, 1000, 12, 1000, 1.0, 0.410918, 2.433573, 1.0),
        (3, 500, 9, 1000, 1.5, 0.374342, 8.614002, 0.761554),
        (20, 1000, 45, 1000, 2.25, 1.301640, 4.022428, 0.002626),
        (0, 1000, 4, 1000, math.inf, 0.660124, math.inf, 0.125),
        (100, 10000, 130, 10000, 1.3, 0.993962, 1.704499, 0.055614),
    ],
)
def test_rates_are_compared_exactly(before, exposure, now, exposure_now, ratio, low, high, p_value):
    compared = rate_ratio(before, exposure, now, exposure_now)

    found = (compared.ratio, compared.interval.low, compared.interval.high, compared.p_value)
    assert found == pytest.approx((ratio, low, high, p_value), abs=1e-6)


def test_rates_of_clustered_events_are_compared_exactly():
    compared = rate_ratio(20, 1000, 45, 500, dispersion=3)

    masses = stats.betabinom(65, 65 / 2 / 3, 65 / 2 * 2 / 3).pmf(range(66))
    as_odd = masses[masses <= masses[45] * (1 + 1e-9)].sum()
    assert (compared.ratio, compared.p_value) == (4.5, pytest.approx(as_odd, rel=1e-9))
    for end, tail in ((compared.interval.low, "sf"), (compared.interval.high, "cdf")):
        share = end / (end + 2)  # half the exposure
        drawn = stats.betabinom(65, 65 / 2 * share, 65 / 2 * (1 - share))
        assert getattr(drawn, tail)(44 if tail == "sf" else 45) == pytest.approx(0.025, rel=1e-6)


def test_without_dispersion_clustered_events_are_those_of_poisson():
    poisson = rate_ratio(20, 1000, 45, 1000)
    limit = rate_ratio(20, 1000, 45, 1000, dispersion=1 + 1e-9)

    assert limit.p_value == pytest.approx(poisson.p_value, rel=1e-4)
    assert limit.interval.high == pytest.approx(poisson.interval.high, rel=1e-4)


def test_clustered_rates_are_seldom_called_different_by_chance():
    counts = stats.nbinom(15, 1 / 3).rvs((2000, 2), random_state=20261130)
    clustered, poisson, inside = [], [], []
    for before, now in counts:
        compared = rate_ratio(int(before), 1, int(now), 1, dispersion=3)
        clustered.append(compared.p_value <= 0.05)
        inside.append(compared.interval.low <= 1 <= compared.interval.high)
        poisson.append(rate_ratio(int(before), 1, int(now), 1).p_value <= 0.05)

    assert covered(clustered) <= 0.05
    assert 0.93 <= covered(inside) <= 0.97
    assert covered(poisson) > 0.2


def test_two_silent_periods_say_nothing():
    compared = rate_ratio(0, 1000, 0, 1000)

    assert math.isnan(compared.ratio)
    assert (compared.interval.low, compared.interval.high) == (0, math.inf)
    assert compared.p_value == 1


def test_impossible_rates_are_refused():
    with pytest.raises(ValueError, match="cannot be"):
        rate_ratio(-1, 1000, 0, 1000)
    with pytest.raises(ValueError, match="no ratio"):
        rate_ratio(1, 0, 1, 1000)
    with pytest.raises(ValueError, match="below that of a Poisson"):
        rate_ratio(1, 1, 1, 1, dispersion=0.5)


def test_the_binomial_test_is_that_of_scipy():
    chance = random.Random(4)
    for _ in range(500):
        trials = chance.randint(1, 300)
        successes, probability = chance.randint(0, trials), chance.uniform(0.01, 0.99)
        expected = stats.binomtest(successes, trials, probability).pvalue
        assert binomial_p_value(successes, trials, probability) == pytest.approx(expected, abs=1e-9)


def test_holm_multiplies_by_what_is_left_and_keeps_the_order():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_the_jackknife_of_a_ratio_is_that_of_the_standard():
    # 5.12: Y = 40, 90, 0, 70 over X = 50, 100, 30, 80 is 10/13 with a standard error of 0.118.
    error = standard_error_of_ratio([(40, 50), (90, 100), (0, 30), (70, 80)])

    assert error == pytest.approx(0.118399, abs=1e-6)


def test_one_cluster_has_no_spread():
    assert math.isnan(standard_error_of_ratio([(40, 50), (0, 0)]))


def test_a_normal_difference():
    assert two_sided_p(1.959963984540054, 1) == pytest.approx(0.05)
    assert two_sided_p(0, 0) == 1
    assert two_sided_p(0.1, 0) == 0


def covered(draws):
    """Share of simulated intervals that hold the truth."""
    return sum(draws) / len(draws)


def test_success_intervals_cover_the_truth():
    draws = []
    for successes in stats.binom(1000, 0.9).rvs(4000, random_state=20261130):
        interval = clopper_pearson(int(successes), 1000)
        draws.append(interval.low <= 0.9 <= interval.high)

    assert 0.93 <= covered(draws) <= 0.97


def test_count_intervals_cover_the_truth():
    counts = stats.poisson(200).rvs(4000, random_state=20261130)
    draws = []
    for count in counts:
        interval = count_interval(int(count))
        draws.append(interval.low <= 200 <= interval.high)

    assert 0.93 <= covered(draws) <= 0.97


def test_intervals_of_clustered_counts_cover_the_truth():
    # Variance twice the mean of 200.
    counts = stats.nbinom(200, 0.5).rvs(4000, random_state=20261130)
    draws, poisson = [], []
    for count in counts:
        wide, narrow = count_interval(int(count), dispersion=2), count_interval(int(count))
        draws.append(wide.low <= 200 <= wide.high)
        poisson.append(narrow.low <= 200 <= narrow.high)

    assert 0.93 <= covered(draws) <= 0.97
    assert covered(poisson) < 0.9


def test_rate_ratios_cover_the_truth():
    before = stats.poisson(200).rvs(3000, random_state=1)
    now = stats.poisson(300).rvs(3000, random_state=2)
    draws = []
    for earlier, later in zip(before, now, strict=True):
        interval = rate_ratio(int(earlier), 1000, int(later), 1000).interval
        draws.append(interval.low <= 1.5 <= interval.high)

    assert 0.93 <= covered(draws) <= 0.97


def test_jackknife_intervals_cover_the_truth():
    # Jobs of very different size, each with a goodput of its own around 0.7.
    chance = random.Random(20261130)
    draws = []
    for _ in range(2000):
        wholes = [chance.lognormvariate(3, 1) for _ in range(80)]
        parts = [(whole * chance.betavariate(7, 3), whole) for whole in wholes]
        ratio = sum(part for part, _ in parts) / sum(wholes)
        draws.append(abs(ratio - 0.7) <= 1.96 * standard_error_of_ratio(parts))

    assert 0.93 <= covered(draws) <= 0.97
