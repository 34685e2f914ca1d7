"""What a checkpoint interval costs and which one pays best (STANDARD 5.6).

A job saves every `interval` of work, which blocks it for `save`; it is interrupted `rate` times per
unit of time, and each time pays `restart` before it works again. Times are in one unit, rates in
its reciprocal. ETTR is the expected share of the job's time that ends up in work that is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

FIRST_ORDER_LIMIT = 0.1
"""Above this loss the first-order formula is off by more than half a point (half its square)."""

SMALLEST_IN_SAVES = 10
"""No interval is advised that is shorter than this many saves."""


@dataclass(frozen=True)
class FirstOrder:
    """Meta's first-order ETTR.

    Attributes:
        value: clamped to 0 to 1.
        unclamped: what the formula says; it falls below 0 where it has left its range.
        is_valid: whether it is within half a point of the exact value.
    """

    value: float
    unclamped: float
    is_valid: bool


def young_interval(save: float, mean_time: float) -> float:
    """Young's optimum for a mean time between interruptions."""
    return math.sqrt(2 * save * mean_time)


def daly_interval(save: float, mean_time: float) -> float:
    """Daly's higher-order optimum; the mean time itself where a save takes twice as long."""
    if save >= 2 * mean_time:
        return mean_time
    part = save / (2 * mean_time)
    return young_interval(save, mean_time) * (1 + math.sqrt(part) / 3 + part / 9) - save


def availability_interval(save: float, mean_time: float, restart: float) -> float:
    """The interval at which the steady-state availability of a job peaks (arXiv 2410.18124).

    Their period runs from save to save and holds the save; the interval is the work between.
    """
    return math.sqrt(save * save + 2 * save * (mean_time + restart))


def optimal_interval(save: float, mean_time: float) -> float:
    """The exact optimum of renewal theory; what a restart costs does not move it."""
    from scipy.special import lambertw

    return mean_time * (1 + float(lambertw(-math.exp(-1 - save / mean_time)).real))


def expected_ettr(rate: float, restart: float, interval: float, save: float = 0.0) -> float:
    """The exact ETTR of renewal theory; `restart` includes any wait for the restart.

    Raises:
        ValueError: the interval is not positive.
    """
    if not interval > 0:
        raise ValueError(f"an interval of {interval} saves nothing")
    if rate <= 0:
        return interval / (interval + save)
    exponent = rate * (interval + save)
    if exponent > 700:  # beyond it the exponential leaves the doubles
        return 0.0
    return interval / ((1 / rate + restart) * math.expm1(exponent))


def first_order_ettr(rate: float, restart: float, interval: float, save: float = 0.0) -> FirstOrder:
    """Meta's first-order ETTR, with what it is worth.

    Raises:
        ValueError: the interval is not positive.
    """
    if not interval > 0:
        raise ValueError(f"an interval of {interval} saves nothing")
    loss = rate * (restart + interval / 2)
    unclamped = (1 - loss) / (1 + save / interval)
    return FirstOrder(min(1.0, max(0.0, unclamped)), unclamped, loss <= FIRST_ORDER_LIMIT)


def practical_interval(save: float, mean_time: float, step: float | None = None) -> float:
    """The exact optimum, in whole training steps and never below ten saves.

    Args:
        step: how long a training step takes; None does not round.
    """
    least = SMALLEST_IN_SAVES * save
    wanted = max(least, optimal_interval(save, mean_time))
    if not step:
        return wanted
    return step * max(1, round(wanted / step), math.ceil(least / step))


def spares_needed(load: float, target: float) -> int:
    """How many spare nodes cover the failed ones with a given probability.

    Failed nodes of a large pool are out in a Poisson number, whatever repairs take.

    Args:
        load: mean number of nodes that are out at once.
        target: the share of time, below 1, in which no failed node shall lack a spare.

    Raises:
        ValueError: the target is not a share below 1.
    """
    if not 0 <= target < 1:
        raise ValueError(f"a target of {target} is no share of time below 1")
    term = covered = math.exp(-load)
    spares = 0
    # Where the first terms are too small for a double, the sum starts late.
    while covered < target and (spares < load or term > 0):
        spares += 1
        term = math.exp(spares * math.log(load) - load - math.lgamma(spares + 1))
        covered += term
    return spares
