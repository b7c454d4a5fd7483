"""Latency laws that are given by weights: on a lattice, in bins of a histogram, and the delay of the released code."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Floats
from commbounds.collectives.dropcompute.latency_draws import HISTOGRAM, LATTICE
from commbounds.collectives.dropcompute.latency_laws import LatencyLaw, Plan, checked_at, checked_numbers, plan_of
from commbounds.compressors.base import as_numbers, checked_real, shown

LATTICE_EDGE = 1e-9
"""In units: what is so close to a point of a lattice is that point, as numbers next to it are roundings of it."""


def _central(weights: Floats, centred: Floats, order: int) -> float:
    """A central moment, rounded once but for its products: the same whatever the library of linear algebra."""
    return math.fsum(weights * np.multiply.reduce([centred] * order))


def _cumulative(weights: Floats) -> Floats:
    """0 and the sums of the first 1, 2, ... weights, as shares of the last sum: they rise from 0 to 1 exactly."""
    sums = np.append(0.0, np.cumsum(weights))
    return np.asarray(sums / sums[-1])


@dataclass(frozen=True, eq=False)
class Lattice(LatencyLaw):
    """base + unit j with probability weights[j] / sum(weights), j = 0, 1, ...

    `cdf` counts a latency that is up to 1e-9 of a unit above x: so much may the rounding of x itself take away.

    Parameters
    ----------
    base, unit : float
        Seconds; base >= 0, unit > 0.
    weights : sequence of float
        Not negative, not all zero.
    """

    base: float
    unit: float
    weights: Any

    def __post_init__(self) -> None:
        checked_numbers(self, ("unit",))
        weights = np.array(as_numbers(self.weights, "weights"), dtype=np.float64)
        if weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
            raise ValueError(f"weights must be finite, not negative and not all zero, got {shown(self.weights)}")
        object.__setattr__(self, "weights", np.trim_zeros(weights, "b") / weights.sum())

    @cached_property
    def _moments(self) -> tuple[float, float, float]:
        j = np.arange(self.weights.size)
        mean = math.fsum(self.weights * j)
        return mean, _central(self.weights, j - mean, 2), _central(self.weights, j - mean, 3)

    @property
    def mean(self) -> float:  # type: ignore[override]
        return self.base + self.unit * self._moments[0]

    @property
    def variance(self) -> float:  # type: ignore[override]
        return self.unit**2 * self._moments[1]

    @property
    def skewness(self) -> float:  # type: ignore[override]
        return self._moments[2] / self._moments[1] ** 1.5 if self._moments[1] else 0.0

    @property
    def low(self) -> float:  # type: ignore[override]
        return self.base + self.unit * int(np.flatnonzero(self.weights)[0])

    @property
    def high(self) -> float:  # type: ignore[override]
        return self.base + self.unit * (len(self.weights) - 1)

    @property
    def new_better_than_used(self) -> bool | None:  # type: ignore[override]
        # E[t - x | t > x] jumps up only at atoms: it is largest just there
        tails = np.cumsum(self.weights[::-1])[::-1]  # P(j' >= j)
        beyond = np.append(np.cumsum(tails[::-1])[::-1][1:], 0.0)  # sum over i > j of P(j' >= i) = E (j' - j)^+
        alive = np.append(tails[1:], 0.0)  # P(j' > j)
        where = alive > 0
        remaining = self.unit * beyond[where] / alive[where]
        return bool((remaining <= self.mean * (1 + 1e-12)).all())

    @property
    def plan(self) -> Plan:
        return plan_of(LATTICE, self.base, self.unit, weights=self.weights)

    def cdf(self, x: ArrayLike) -> Floats:
        at = np.floor((checked_at(x) - self.base) / self.unit + LATTICE_EDGE)
        return np.asarray(_cumulative(self.weights)[np.clip(at + 1, 0, self.weights.size).astype(np.int64)])


def bernoulli(low: float, high: float, probability: float) -> Lattice:
    """`high` with the given probability, else `low`."""
    least, most, share = checked_real("low", low), checked_real("high", high), checked_real("probability", probability)
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"probability must be in [0, 1], got {probability}")
    if not 0.0 <= least < most < math.inf:
        raise ValueError(f"low and high must be finite, with 0 <= low < high, got {low} and {high}")
    return Lattice(least, most - least, (1.0 - share, share))


def released_noise(base: float = 1.0, factor: float = 1.0) -> Lattice:
    """The delay that the released code injects: base (1 + factor K / (2 E[K])).

    K in 1 .. 999 has probability proportional to exp(-(ln K - 4)^2 / 2) / K: a discrete, truncated lognormal law of
    sentence lengths. The mean is base (1 + factor/2).
    """
    base, factor = checked_real("base", base), checked_real("factor", factor)
    for name, value in (("base", base), ("factor", factor)):
        if not 1e-300 <= value <= 1e300:
            raise ValueError(f"{name} must be in [1e-300, 1e300], got {value}")
    K = np.arange(1, 1000)
    weights = np.exp(-((np.log(K) - 4.0) ** 2) / 2) / K
    weights /= weights.sum()
    return Lattice(base, base * factor / 2 / math.fsum(weights * K), np.append(0.0, weights))


@dataclass(frozen=True, eq=False)
class Histogram(LatencyLaw):
    """Latencies that were measured: uniform within bins of equal width.

    Parameters
    ----------
    start, width : float
        Left end of the first bin, and the width of every bin.
    counts : sequence of float
        Weight of every bin.
    """

    start: float
    width: float
    counts: Any

    def __post_init__(self) -> None:
        checked_numbers(self, ("width",), ("start",))
        counts = np.array(as_numbers(self.counts, "counts"), dtype=np.float64)
        if counts.ndim != 1 or not np.isfinite(counts).all() or (counts < 0).any() or counts.sum() <= 0:
            raise ValueError(f"counts must be finite, not negative and not all zero, got {shown(self.counts)}")
        object.__setattr__(self, "counts", counts / counts.sum())

    @property
    def _centres(self) -> Floats:
        return np.asarray(self.start + self.width * (np.arange(self.counts.size) + 0.5))

    @property
    def mean(self) -> float:  # type: ignore[override]
        return math.fsum(self.counts * self._centres)

    @property
    def variance(self) -> float:  # type: ignore[override]
        return _central(self.counts, self._centres - self.mean, 2) + self.width**2 / 12

    @property
    def skewness(self) -> float:  # type: ignore[override]
        # E(c + u)^3 over a bin with centre c, u uniform: c^3 + 3 c E u^2, and the middle terms cancel over all bins
        return _central(self.counts, self._centres - self.mean, 3) / math.pow(self.variance, 1.5)

    @property
    def low(self) -> float:  # type: ignore[override]
        return self.start

    @property
    def high(self) -> float:  # type: ignore[override]
        return self.start + self.width * len(self.counts)

    @property
    def plan(self) -> Plan:
        return plan_of(HISTOGRAM, self.start, self.width, weights=self.counts)

    def cdf(self, x: ArrayLike) -> Floats:
        edges = self.start + self.width * np.arange(self.counts.size + 1)
        return np.asarray(np.interp(checked_at(x), edges, _cumulative(self.counts)))
