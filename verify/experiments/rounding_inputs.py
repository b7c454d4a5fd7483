"""Inputs that round worst: what theory calls extremal for the quantisers."""

from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import Any

import numpy as np

from commbounds.array_types import Array


@cache
def _odd_squares(count: int, total: int) -> tuple[int, ...] | None:
    """`count` odd integers whose squares sum to `total`, largest first, or None."""
    if count == 0:
        return () if total == 0 else None
    if total < count or (total - count) % 8:
        return None
    odd = int(sqrt(total)) | 1
    while odd >= 1:
        if odd * odd <= total - (count - 1):
            rest = _odd_squares(count - 1, total - odd * odd)
            if rest is not None and (not rest or rest[0] <= odd):
                return (odd, *rest)
        odd -= 2
    return None


def half_levels(c: Any, n: int) -> Array | None:
    """Equal entries while they stay below half a level; else entries half-way between levels, where they exist."""
    if n >= 4 * c.levels**2:
        return np.ones(n, dtype=np.float32)
    odd = _odd_squares(n, 4 * c.levels**2) if n <= 64 and c.levels <= 8 else None
    return None if odd is None else np.array(odd, dtype=np.float32)


def one_and_equal(c: Any, n: int) -> Array | None:
    """One entry 1, all others 1 / (s + sqrt(s^2 + n - 1))."""
    if n == 1:
        return None
    s = getattr(c, "levels", 1)
    x = np.full(n, 1.0 / (s + sqrt(s * s + n - 1)))
    x[0] = 1.0
    return x


def _all(value: Callable[[Any], float]) -> Callable[[Any, int], Array]:
    return lambda c, n: np.full(n, value(c), dtype=np.float64)


four_thirds = _all(lambda c: 4.0 / 3.0)
three_halves = _all(lambda c: 1.5)
between_levels = _all(lambda c: 2.0 * float(c.base) / (float(c.base) + 1.0))


def one_dominant(c: Any, n: int) -> Array | None:
    """One entry 1, all others zero, or nearly where the sign of zero is zero."""
    if n == 1:
        return None
    x = np.full(n, 0.0 if c.zero == 1 else 1e-6 / n)
    x[0] = 1.0
    return x


def one_entry(_c: Any, n: int) -> Array:
    """The first unit vector."""
    x: Array = np.zeros(n, dtype=np.float32)
    x[0] = 1.0
    return x


def equal_far_below(c: Any, n: int) -> Array | None:
    """Equal entries, where the smallest level is at least 9/4 of them."""
    return np.ones(n, dtype=np.float32) if 2.0 ** (1 - c.levels) * sqrt(n) >= 2.25 else None
