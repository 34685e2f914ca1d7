"""Interval estimates from counts and exposures.

SQL hands out the sufficient statistics (how many events, over how long, out of how many), these
functions the bounds. Two-sided unless said otherwise; an open end is `math.inf`. Only the special
functions of scipy are imported, and only when a bound is asked for.
"""

from __future__ import annotations

import math
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
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    failures = trials - successes
    low = betaincinv(successes, failures + 1, tail) if successes else 0.0
    high = betaincinv(successes + 1, failures, 1 - tail) if failures else 1.0
    return Interval(float(low), float(high))


def count_interval(events: int, confidence: float = 0.95) -> Interval:
    """The exact interval of the mean of a Poisson count, from the chi-square quantiles.

    Raises:
        ValueError: fewer than no events.
    """
    if events < 0:
        raise ValueError(f"{events} events cannot be")
    tail = (1 - confidence) / 2
    low = _gamma_quantile(events, tail) if events else 0.0
    return Interval(low, _gamma_quantile(events + 1, 1 - tail))


def rate_interval(events: int, exposure: float, confidence: float = 0.95) -> Interval:
    """The exact interval of events per unit of exposure; without events its one-sided upper bound.

    Raises:
        ValueError: no exposure, or fewer than no events.
    """
    if not exposure > 0:
        raise ValueError(f"an exposure of {exposure} tells nothing")
    if events == 0:
        return Interval(0.0, one_sided_count(0, confidence) / exposure)
    count = count_interval(events, confidence)
    return Interval(count.low / exposure, count.high / exposure)


def mean_time_interval(events: int, exposure: float, confidence: float = 0.95) -> Interval:
    """The exact interval of exposure per event; without events its one-sided lower bound.

    Raises:
        ValueError: no exposure, or fewer than no events.
    """
    rate = rate_interval(events, exposure, confidence)
    return Interval(1 / rate.high, 1 / rate.low if rate.low else math.inf)


def one_sided_count(events: int, confidence: float = 0.95) -> float:
    """The largest Poisson mean that seeing no more than `events` does not rule out."""
    return _gamma_quantile(events + 1, confidence)


def _gamma_quantile(shape: float, probability: float) -> float:
    """Half the chi-square quantile with twice the degrees of freedom."""
    from scipy.special import gammaincinv

    return float(gammaincinv(shape, probability))
