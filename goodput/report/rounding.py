"""Rounding that keeps sums: what is printed adds up to the total that is printed.

Amounts are ledger units x milliseconds; printed values are whole ticks, a tick being the last
decimal of a GPU-hour that the page shows.
"""

from __future__ import annotations

from collections.abc import Sequence

UNITS_PER_GPU_HOUR = 5040 * 3_600_000


def apportion(amounts: Sequence[int], total: int) -> list[int]:
    """Splits `total` in proportion to `amounts`, in whole numbers that sum to it.

    The largest remainders are rounded up, earlier ones first among equals. Amounts and total are
    non-negative; amounts that are all zero get nothing.
    """
    whole = sum(amounts)
    if whole == 0:
        return [0] * len(amounts)
    shares = [divmod(amount * total, whole) for amount in amounts]
    rounded = [share for share, _ in shares]
    by_remainder = sorted(range(len(amounts)), key=lambda i: (-shares[i][1], i))
    for index in by_remainder[: total - sum(rounded)]:
        rounded[index] += 1
    return rounded


def decimals_for(paid_ms: int, lost_ms: int) -> int:
    """Decimals of a GPU-hour that show about four digits of what was paid and two of what was lost.

    A small loss in a large fleet would else be rounded by as much as it is. 0 to 9.
    """
    if paid_ms == 0:
        return 3
    return max(_decimals(paid_ms, 4), _decimals(lost_ms, 2) if lost_ms else 0)


def _decimals(unit_ms: int, digits: int) -> int:
    floor = 10 ** (digits - 1) * UNITS_PER_GPU_HOUR
    return next((decimals for decimals in range(9) if unit_ms * 10**decimals >= floor), 9)


def ticks_of(unit_ms: int, decimals: int) -> int:
    """An amount in ticks, rounded half up."""
    scale = _scale(decimals)
    return (2 * unit_ms * scale + UNITS_PER_GPU_HOUR) // (2 * UNITS_PER_GPU_HOUR)


def hours_of(ticks: int, decimals: int) -> float:
    """The number to print for so many ticks."""
    return ticks / _scale(decimals)


def _scale(decimals: int) -> int:
    return int(10**decimals)
