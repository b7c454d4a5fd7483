"""The Lloyd-Max quantiser of the standard normal law: centroids, boundaries and distortion."""

import math
from functools import cache
from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple

from commbounds.compressors.base import checked_count

MOST_BITS = 12
_ROOT_HALF_PI = math.sqrt(2.0 * math.pi)


class LloydMax(NamedTuple):
    """A symmetric quantiser with 2^bits cells.

    Parameters
    ----------
    centroids : tuple of float
        Ascending; each is the mean of its cell.
    boundaries : tuple of float
        Half-way between neighbouring centroids.
    distortion : float
        Mean squared error, 1 minus the mean square of the centroids.
    """

    centroids: tuple[float, ...]
    boundaries: tuple[float, ...]
    distortion: float


def _density(a: float) -> float:
    return math.exp(-0.5 * a * a) / _ROOT_HALF_PI


def _mass(a: float, b: float) -> float:
    return 0.5 * (math.erfc(a / math.sqrt(2.0)) - math.erfc(b / math.sqrt(2.0)))


@cache
def _solved(bits: int) -> LloydMax:
    """Newton's method on c_i - E[X | cell i] = 0 for the positive centroids: the matrix is tridiagonal."""
    half = 1 << (bits - 1)
    # quantiles of a normal law with three times the variance: the limit density of the centroids (Panter and Dite)
    wide = NormalDist(0.0, math.sqrt(3.0))
    c = [wide.inv_cdf(0.5 + 0.5 * (i + 0.5) / half) for i in range(half)]
    for _ in range(60):
        cuts = [0.0, *(0.5 * (a + b) for a, b in pairwise(c)), math.inf]
        masses = [_mass(a, b) for a, b in pairwise(cuts)]
        heights = [_density(a) for a in cuts[:-1]] + [0.0]
        means = [(heights[i] - heights[i + 1]) / masses[i] for i in range(half)]
        # d mean_i / d lower = (mean_i - lower) phi(lower) / mass, d mean_i / d upper = (upper - mean_i) phi(upper)/mass
        low = [(means[i] - cuts[i]) * heights[i] / masses[i] if i else 0.0 for i in range(half)]
        up = [(cuts[i + 1] - means[i]) * heights[i + 1] / masses[i] if i + 1 < half else 0.0 for i in range(half)]
        step = _tridiagonal(
            [-0.5 * v for v in low],
            [1.0 - 0.5 * (a + b) for a, b in zip(low, up, strict=True)],
            [-0.5 * v for v in up],
            [a - b for a, b in zip(c, means, strict=True)],
        )
        c = [a - b for a, b in zip(c, step, strict=True)]
        if max(map(abs, step)) < 1e-15 * c[-1]:
            break
    cuts = [0.0, *(0.5 * (a + b) for a, b in pairwise(c)), math.inf]
    masses = [_mass(a, b) for a, b in pairwise(cuts)]
    centroids = (*(-v for v in reversed(c)), *c)
    boundaries = (*(-v for v in reversed(cuts[1:-1])), *cuts[:-1])
    return LloydMax(centroids, boundaries, _distortion(c, cuts, masses))


def _distortion(c: list[float], cuts: list[float], masses: list[float]) -> float:
    """The sum over the cells of E (X - c)^2 without cancellation: by Gauss' rule, and the last one in closed form."""
    total = []
    for i in range(len(c) - 1):
        centre, width = 0.5 * (cuts[i] + cuts[i + 1]), 0.5 * (cuts[i + 1] - cuts[i])
        total += [
            width * w * (centre + width * t - c[i]) ** 2 * _density(centre + width * t) for t, w in _gauss_legendre()
        ]
    a, last, mass = cuts[-2], c[-1], masses[-1]
    # integral from a of (t - c)^2 phi = (1 + c^2) mass + (a - 2 c) phi(a)
    total.append((1.0 + last * last) * mass + (a - 2.0 * last) * _density(a))
    return 2.0 * math.fsum(total)


@cache
def _gauss_legendre() -> tuple[tuple[float, float], ...]:
    """Nodes and weights of the rule of order 20 on [-1, 1], by Newton's method on the Legendre polynomial."""
    order, rule = 20, []
    for i in range(order):
        t = math.cos(math.pi * (i + 0.75) / (order + 0.5))
        for _ in range(100):
            p, q = 1.0, 0.0
            for k in range(1, order + 1):
                p, q = ((2 * k - 1) * t * p - (k - 1) * q) / k, p
            slope = order * (t * p - q) / (t * t - 1.0)
            t -= p / slope
            if abs(p / slope) < 1e-16:
                break
        rule.append((t, 2.0 / ((1.0 - t * t) * slope * slope)))
    return tuple(rule)


def _tridiagonal(lower: list[float], diagonal: list[float], upper: list[float], right: list[float]) -> list[float]:
    """The solution of a tridiagonal system that is diagonally dominant."""
    n = len(diagonal)
    d, r = list(diagonal), list(right)
    for i in range(1, n):
        factor = lower[i] / d[i - 1]
        d[i] -= factor * upper[i - 1]
        r[i] -= factor * r[i - 1]
    x = [0.0] * n
    for i in range(n - 1, -1, -1):
        x[i] = (r[i] - (upper[i] * x[i + 1] if i + 1 < n else 0.0)) / d[i]
    return x


def lloyd_max(bits: int) -> LloydMax:
    """The quantiser of 2^bits cells that has the least mean squared error on a standard normal number.

    Its centroids are the means of their cells, its boundaries half-way between them (Lloyd 1957, Max 1960).

    Parameters
    ----------
    bits : int
        In [1, 12].

    Raises
    ------
    TypeError, ValueError
        `bits` is no integer in [1, 12].

    Notes
    -----
    Found by Newton's method in float64, from the quantiles of the limiting density. The distortion is
    1 - 2/pi for one bit, and tends to sqrt(3) pi/2 4^-bits from below (Panter and Dite 1951).

    Examples
    --------
    >>> lloyd_max(1).centroids == (-lloyd_max(1).centroids[1], (2 / math.pi) ** 0.5)
    True
    >>> round(lloyd_max(2).distortion, 9)
    0.117481848
    """
    return _solved(checked_count("bits", bits, 1, MOST_BITS))
