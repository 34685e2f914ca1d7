"""Interval estimates against published tables.

The numbers are rows of the accounting standard's validation tables success_clopper_pearson.csv and
mtbf_chi2.csv (computed with scipy.stats and by bisection on the Poisson sum), and of its 5.3.
"""

import math
import subprocess
import sys

import pytest
from scipy import stats

from goodput.estimates import (
    clopper_pearson,
    count_interval,
    mean_time_interval,
    one_sided_count,
    rate_interval,
)


def close(value):
    return pytest.approx(value, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (98, 100, 0.929616, 0.997569),
        (980, 1000, 0.969280, 0.987742),
        (995, 1000, 0.988371, 0.998375),
        (199, 200, 0.972458, 0.999873),
        (50, 50, 0.928878, 1.0),
        (0, 5, 0.0, 0.521824),
        (1, 1, 0.025, 1.0),
        (9950, 10000, 0.993413, 0.996287),
    ],
)
def test_success_intervals(successes, trials, low, high):
    interval = clopper_pearson(successes, trials)

    assert (interval.low, interval.high) == (close(low), close(high))


@pytest.mark.parametrize(
    ("failures", "hours", "confidence", "count_low", "count_high", "low", "high", "one_sided"),
    [
        (1, 1000, 0.95, 0.025318, 5.571643, 179.480259, 39497.890205, 210.798600),
        (2, 1000, 0.95, 0.242209, 7.224688, 138.414288, 4128.660991, 158.836210),
        (3, 1000, 0.95, 0.618672, 8.767273, 114.060551, 1616.365055, 128.971408),
        (5, 1000, 0.90, 1.970150, 10.513035, 95.120011, 507.575677, 107.820503),
        (10, 1000, 0.95, 4.795389, 18.390356, 54.376326, 208.533669, 58.954550),
        (20, 5000, 0.95, 12.216520, 30.888378, 161.873181, 409.281872, 172.045859),
        (100, 10000, 0.95, 81.363991, 121.626794, 82.218726, 122.904492, 84.688868),
        (419, 1296, 0.95, 379.835925, 461.105913, 2.810634, 3.412000, 2.852939),
    ],
)
def test_mean_time_intervals(
    failures, hours, confidence, count_low, count_high, low, high, one_sided
):
    count = count_interval(failures, confidence)
    mean_time = mean_time_interval(failures, hours, confidence)

    assert (count.low, count.high) == (close(count_low), close(count_high))
    assert (mean_time.low, mean_time.high) == (close(low), close(high))
    assert hours / one_sided_count(failures, confidence) == close(one_sided)


@pytest.mark.parametrize(("hours", "low"), [(1000, 333.808201), (168, 56.079778)])
def test_without_failures_only_the_lower_end_of_the_mean_time_is_known(hours, low):
    interval = mean_time_interval(0, hours)

    assert (interval.low, interval.high) == (close(low), math.inf)
    assert rate_interval(0, hours).high == close(1 / low)
    assert count_interval(0).high == close(3.688879)


def test_a_rate_and_its_mean_time_are_reciprocal():
    rate = rate_interval(3, 1000)
    mean_time = mean_time_interval(3, 1000)

    assert (1 / rate.high, 1 / rate.low) == (close(mean_time.low), close(mean_time.high))


@pytest.mark.parametrize(("events", "dispersion"), [(0, 2), (3, 2), (20, 3), (1000, 5)])
def test_clustered_counts_are_negative_binomial(events, dispersion):
    interval = count_interval(events, dispersion=dispersion)

    def law(mean):
        return stats.nbinom(mean / (dispersion - 1), 1 / dispersion)

    assert law(interval.high).cdf(events) == close(0.025)
    if events:
        assert law(interval.low).sf(events - 1) == close(0.025)
    assert one_sided_count(events, dispersion=dispersion) < interval.high


def test_a_dispersion_of_one_is_the_limit():
    poisson, clustered = count_interval(20), count_interval(20, dispersion=1.000001)

    assert (clustered.low, clustered.high) == (
        pytest.approx(poisson.low, rel=1e-5),
        pytest.approx(poisson.high, rel=1e-5),
    )
    with pytest.raises(ValueError, match="below that of a Poisson count"):
        count_interval(20, dispersion=0.5)


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (3, 2), (-1, 4)])
def test_impossible_counts_are_refused(successes, trials):
    with pytest.raises(ValueError, match="cannot be"):
        clopper_pearson(successes, trials)


def test_no_exposure_tells_nothing():
    with pytest.raises(ValueError, match="tells nothing"):
        mean_time_interval(3, 0)
    with pytest.raises(ValueError, match="cannot be"):
        count_interval(-1)


def test_scipy_is_loaded_only_when_a_bound_is_asked_for():
    program = (
        "import sys, goodput.estimates as e; e.clopper_pearson(0, 5); e.clopper_pearson(1, 2); "
        "e.count_interval(0); early = 'scipy' in sys.modules; "
        "e.clopper_pearson(2, 5); print(early, 'scipy.special' in sys.modules, "
        "'scipy.stats' in sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert out.stdout.split() == ["False", "True", "False"]
