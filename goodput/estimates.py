"""Interval estimates from counts and exposures.

SQL hands out the sufficient statistics (how many events, over how long, out of how many), these
functions the bounds. Two-sided unless said otherwise; an open end is `math.inf`. Only the special
functions of scipy are imported, and only when a bound is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A closed interval of the values that the data do not rule out."""

    low: float
    high: float


def clopper_pearson(successes: int, trials: int, confidence: float = 0.95) -> Interval:
    """The exact interval of a success probability.

    Args:
        successes: how many succeeded, between 0 and `trials`.
        trials: how many there were, at least 1.
        confidence: coverage, between 0 and 1.

    Raises:
        ValueError: no trials, or a number of successes that cannot be.
    """
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(f"{successes} successes of {trials} trials cannot be")
    tail = (1 - confidence) / 2
    failures = trials - successes
    low = _beta_quantile(successes, failures + 1, tail) if successes else 0.0
    high = _beta_quantile(successes + 1, failures, 1 - tail) if failures else 1.0
    return Interval(low, high)


def _beta_quantile(a: int, b: int, probability: float) -> float:
    # Where all succeeded or all failed it is a power: a small build need not load scipy.
    if b == 1:
        return math.exp(math.log(probability) / a)
    if a == 1:
        return -math.expm1(math.log1p(-probability) / b)
    from scipy.special import betaincinv

    return float(betaincinv(a, b, probability))


def count_interval(events: int, confidence: float = 0.95, dispersion: float = 1.0) -> Interval:
    """The exact interval of the mean of a count.

    Args:
        events: how many were counted.
        confidence: coverage, between 0 and 1.
        dispersion: variance over mean. 1 is a Poisson count, with the chi-square quantiles; above
            it events come in clusters, and the count is negative-binomial with that dispersion.

    Raises:
        ValueError: fewer than no events, or a dispersion below 1.
    """
    if events < 0:
        raise ValueError(f"{events} events cannot be")
    tail = (1 - confidence) / 2
    low = _mean_with_tail(events - 1, 1 - tail, dispersion) if events else 0.0
    return Interval(low, _mean_with_tail(events, tail, dispersion))


def rate_interval(
    events: int, exposure: float, confidence: float = 0.95, dispersion: float = 1.0
) -> Interval:
    """The exact interval of events per unit of exposure; without events its one-sided upper bound.

    Raises:
        ValueError: no exposure, fewer than no events, or a dispersion below 1.
    """
    if not exposure > 0:
        raise ValueError(f"an exposure of {exposure} tells nothing")
    if events == 0:
        return Interval(0.0, one_sided_count(0, confidence, dispersion) / exposure)
    count = count_interval(events, confidence, dispersion)
    return Interval(count.low / exposure, count.high / exposure)


def mean_time_interval(
    events: int, exposure: float, confidence: float = 0.95, dispersion: float = 1.0
) -> Interval:
    """The exact interval of exposure per event; without events its one-sided lower bound.

    Raises:
        ValueError: no exposure, fewer than no events, or a dispersion below 1.
    """
    rate = rate_interval(events, exposure, confidence, dispersion)
    return Interval(1 / rate.high, 1 / rate.low if rate.low else math.inf)


def one_sided_count(events: int, confidence: float = 0.95, dispersion: float = 1.0) -> float:
    """The largest mean that seeing no more than `events` does not rule out."""
    return _mean_with_tail(events, 1 - confidence, dispersion)


def _mean_with_tail(events: int, probability: float, dispersion: float) -> float:
    """The mean at which a count is at most `events` with that probability."""
    if dispersion < 1:
        raise ValueError(f"a dispersion of {dispersion} is below that of a Poisson count")
    if dispersion == 1 and events == 0:
        return -math.log(probability)  # a small build need not load scipy
    from scipy.special import btdtria, gammaincinv

    if dispersion == 1:
        return float(gammaincinv(events + 1, 1 - probability))
    # The negative binomial's distribution is an incomplete beta function of its size.
    return float(btdtria(probability, events + 1, 1 / dispersion)) * (dispersion - 1)


@dataclass(frozen=True)
class RateRatio:
    """How much higher one rate is than another, and how well chance explains it.

    Attributes:
        ratio: the later rate over the earlier; infinite after none, not a number without any event.
        interval: of the ratio.
        p_value: two-sided, of the hypothesis that both rates are the same.
    """

    ratio: float
    interval: Interval
    p_value: float


def rate_ratio(
    events_before: int,
    exposure_before: float,
    events_now: int,
    exposure_now: float,
    *,
    confidence: float = 0.95,
    dispersion: float = 1.0,
) -> RateRatio:
    """Two counts compared, given their sum: exact, whatever the common rate.

    Given the sum, the later of two Poisson counts is binomial with the later share of exposure.
    Counts with a dispersion above 1 are negative-binomial; then it is beta-binomial with that mean.
    The p-value adds up the outcomes that are no likelier than the one seen.

    Args:
        dispersion: variance over mean of either count; 1 is a Poisson count.

    Raises:
        ValueError: a negative count, an exposure that is not positive, or a dispersion below 1.
    """
    if min(events_before, events_now) < 0:
        raise ValueError(f"{min(events_before, events_now)} events cannot be")
    if not (exposure_before > 0 and exposure_now > 0):
        raise ValueError("without exposure on both sides there is no ratio")
    total = events_before + events_now
    if total == 0:
        return RateRatio(math.nan, Interval(0.0, math.inf), 1.0)
    if dispersion < 1:
        raise ValueError(f"a dispersion of {dispersion} is below that of a Poisson count")
    chance = exposure_now / (exposure_before + exposure_now)
    if dispersion == 1:
        share = clopper_pearson(events_now, total, confidence)
        p_value = binomial_p_value(events_now, total, chance)
    else:
        size = total / (dispersion - 1)
        share = _clustered_share(events_now, total, size, confidence)
        p_value = _no_likelier(events_now, _clustered_masses(total, chance, size))
    weight = exposure_before / exposure_now
    odds_low = share.low / (1 - share.low) if share.low < 1 else math.inf
    odds_high = share.high / (1 - share.high) if share.high < 1 else math.inf
    ratio = weight * events_now / events_before if events_before else math.inf
    return RateRatio(ratio, Interval(weight * odds_low, weight * odds_high), p_value)


def _clustered_masses(trials: int, share: float, size: float) -> list[float]:
    """The beta-binomial distribution of one of two negative-binomial counts, given their sum.

    Args:
        share: mean of the one over that of both.
        size: the sizes of both added up; without bound it is the binomial distribution.
    """
    one, other = share * size, (1 - share) * size
    whole = math.lgamma(trials + 1) + math.lgamma(size) - math.lgamma(trials + size)

    def log_ways(count: int, part: float) -> float:
        return math.lgamma(count + part) - math.lgamma(count + 1) - math.lgamma(part)

    return [
        math.exp(whole + log_ways(count, one) + log_ways(trials - count, other))
        for count in range(trials + 1)
    ]


def _clustered_share(successes: int, trials: int, size: float, confidence: float) -> Interval:
    """The shares that the outcome does not rule out, as Clopper and Pearson have them."""
    tail = (1 - confidence) / 2

    def at_most(count: int, probability: float) -> float:
        """The share at which the count is at most so large with that probability."""
        low, high = 0.0, 1.0
        for _ in range(40):
            share = (low + high) / 2
            if math.fsum(_clustered_masses(trials, share, size)[: count + 1]) > probability:
                low = share
            else:
                high = share
        return (low + high) / 2

    return Interval(
        at_most(successes - 1, 1 - tail) if successes else 0.0,
        at_most(successes, tail) if successes < trials else 1.0,
    )


def _no_likelier(seen: int, masses: Sequence[float]) -> float:
    """How likely an outcome is that is no likelier than the one seen."""
    return min(1.0, math.fsum(mass for mass in masses if mass <= masses[seen] * (1 + 1e-9)))


def binomial_p_value(successes: int, trials: int, chance: float) -> float:
    """Two-sided and exact: how often an outcome is no likelier than the one seen.

    Args:
        chance: of one success, above 0 and below 1.
    """
    from scipy.special import bdtr

    def log_mass(count: int) -> float:
        ways = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
        return ways + count * math.log(chance) + (trials - count) * math.log1p(-chance)

    # The likelihood rises up to the mode and falls after it, so the likelier ones are neighbours.
    seen = log_mass(successes) + 1e-9
    likelier = [count for count in range(trials + 1) if log_mass(count) > seen]
    if not likelier:
        return 1.0
    below = float(bdtr(likelier[0] - 1, trials, chance)) if likelier[0] else 0.0
    return min(1.0, below + 1 - float(bdtr(likelier[-1], trials, chance)))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values made larger so that, of all of them together, few are small by chance (Holm).

    A family-wise error of 5 % is held by those that stay at or below 0.05.
    """
    adjusted = [1.0] * len(p_values)
    reached = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        reached = max(reached, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = reached
    return adjusted


def two_sided_p(difference: float, standard_error: float) -> float:
    """How often a normal difference is at least this large when there is none."""
    if standard_error <= 0:
        return 1.0 if difference == 0 else 0.0
    return math.erfc(abs(difference) / standard_error / math.sqrt(2))


def standard_error_of_ratio(
    parts: Sequence[tuple[float, float]], rest: tuple[float, float] = (0.0, 0.0)
) -> float:
    """The delete-one jackknife standard error of a sum over a sum.

    Args:
        parts: numerator and denominator of each cluster, such as a job or a node.
        rest: numerator and denominator of what belongs to no cluster and does not vary with them.

    Returns:
        Not a number with fewer than two clusters that have a denominator.
    """
    counted = [(part, whole) for part, whole in parts if whole > 0]
    size = len(counted)
    if size < 2:
        return math.nan
    part_sum = math.fsum(part for part, _ in counted) + rest[0]
    whole_sum = math.fsum(whole for _, whole in counted) + rest[1]
    without = [(part_sum - part) / (whole_sum - whole) for part, whole in counted]
    mean = math.fsum(without) / size
    return math.sqrt((size - 1) / size * math.fsum((value - mean) ** 2 for value in without))
