"""`StepLaw`: expected times of a step with N workers, by closed form or quadrature; order statistics of normals."""

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Floats
from commbounds.collectives.dropcompute.latency_laws import LatencyLaw
from commbounds.collectives.dropcompute.worker_times import WorkerTimes, worker_times
from commbounds.compressors.base import MAX_ENTRIES, as_numbers, checked_real, shown

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


_WORKERS = 2**53
"""Of whom expectations are: what a float counts exactly. Arrays hold fewer."""


def checked_size(name: str, value: Any, high: int = MAX_ENTRIES) -> int:
    """`value` as an int in [1, high]."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {shown(value)}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {shown(value)}")
    if value > high:
        rule = "below 2^31" if high == MAX_ENTRIES else f"at most {high}"
        raise ValueError(f"{name} must be {rule}, got {shown(value)}")
    return int(value)


_LONGEST = 1e300


def checked_overhead(value: Any) -> float:
    """`value` as a number of seconds from 0 to 1e300, so that products with it are finite."""
    seconds = checked_real("overhead", value)
    if not 0.0 <= seconds <= _LONGEST:
        raise ValueError(f"overhead must be finite and not negative, at most {_LONGEST:g}, got {value}")
    return seconds


def gaussian_maximum(N: int) -> float:
    """E max of N independent standard normals.

    Parameters
    ----------
    N : int
        From 1 to 2^53; tried to 1e9.

    Returns
    -------
    float
        By composite Gauss-Legendre quadrature; relative error below 1e-12.

    Examples
    --------
    >>> round(gaussian_maximum(100), 7)
    2.5075936
    """
    return gaussian_moments(checked_size("N", N, _WORKERS))[0]


def gaussian_moments(N: int) -> tuple[float, float]:
    """First and second moment of the largest of N independent standard normals."""
    from scipy.special import log_ndtr, ndtri

    # E Z = b - int_a^b Phi^N, E Z^2 = b^2 - int_a^b 2 z Phi^N, where Phi(a)^N and 1 - Phi(b)^N are below rounding
    low, high = min(float(ndtri(1e-20 ** (1 / N))), 0.0), -float(ndtri(1e-21 / N))
    knots = np.linspace(low, high, 65)
    half = np.diff(knots) / 2
    nodes = (knots[:-1] + half)[:, None] + half[:, None] * _NODES
    powers = np.exp(N * log_ndtr(nodes))
    first = high - float((half * (powers @ _WEIGHTS)).sum())
    second = high**2 - float((half * ((2 * nodes * powers) @ _WEIGHTS)).sum())
    return first, second


@dataclass(frozen=True)
class StepLaw:
    """Expected times of a step: N workers, M micro-batches each, independent latencies of one law.

    Parameters
    ----------
    law : LatencyLaw
        Of one micro-batch.
    N : int
        Workers; from 1 to 2^53.
    M : int
        Micro-batches, that is, gradient accumulations; at least 1.

    Notes
    -----
    With F the distribution function of a worker's time T_n, E[T] = int 1 - F^N, E[min(tau, T)] = int_0^tau 1 - F^N and
    E[completed] = sum_m P(S_m < tau), exactly. Normal and gamma latencies have closed sums and are integrated by
    quadrature, good to 1e-9; latencies on a lattice are convolved exactly, and a threshold within 1e-9 of a unit of a
    sum is taken for that sum; others on a grid, see `error`. A law that is a sum of FFT convolutions knows tails down
    to 1e-15, so that N times 1e-15 bounds the share of E[T] that is lost.

    Examples
    --------
    >>> from commbounds.collectives import Exponential, StepLaw
    >>> step = StepLaw(Exponential(1.0), N=4, M=1)
    >>> round(step.mean_time(), 9) == round(1 + 1 / 2 + 1 / 3 + 1 / 4, 9)
    True
    """

    law: LatencyLaw
    N: int
    M: int

    def __post_init__(self) -> None:
        if not isinstance(self.law, LatencyLaw):
            raise TypeError(f"law must be a LatencyLaw, got {shown(self.law)}")
        object.__setattr__(self, "N", checked_size("N", self.N, _WORKERS))
        object.__setattr__(self, "M", checked_size("M", self.M))
        if not math.isfinite(self.law.variance):
            raise ValueError(f"law must have a finite variance, got {self.law.variance}")

    @property
    def times(self) -> WorkerTimes:
        """The law of one worker's elapsed times."""
        return cast(WorkerTimes, worker_times(self.law, self.N, self.M))

    @property
    def error(self) -> float:
        """Seconds by which discretisation can move an expected time at most; 0 where there is none."""
        return self.times.error

    def mean_time(self) -> float:
        """E[T], the expected time of the slowest worker, in seconds."""
        return _mean_time(self)

    def capped(self, tau: ArrayLike) -> Any:
        """E[min(tau, T)], for ascending thresholds."""
        x = _checked_tau(tau)
        return x - self.times.power_integral(x, self.N) if x.ndim else _capped(self, self.N, float(x))

    def capped_worker(self, tau: float) -> float:
        """E[min(tau, T_n)] of one worker."""
        return _capped(self, 1, float(_checked_tau(checked_real("tau", tau))))

    def late(self, tau: float) -> float:
        """P(T_n > tau)."""
        return float(1.0 - self.times.at_most(np.atleast_1d(_checked_tau(checked_real("tau", tau))))[0])

    def completed(self, tau: ArrayLike) -> Any:
        """E[M~(tau)], the micro-batches that an average worker completes before tau, expected."""
        x = _checked_tau(tau)
        return self.times.completed(x) if x.ndim else _completed(self, float(x))

    def quantile(self, probability: float) -> float:
        """Where P(T_n <= x) passes `probability`, by bisection."""
        if not 0.0 < checked_real("probability", probability) < 1.0:
            raise ValueError(f"probability must be strictly between 0 and 1, got {probability}")
        return _quantile(self, float(probability))

    def speedup(self, tau: ArrayLike, overhead: float) -> Any:
        """S_eff(tau): micro-batches per second with the threshold over those without, in the long run.

        S_eff = E[completed] (E[T] + T_c) / (M (E[min(tau, T)] + T_c)), by the renewal-reward theorem.
        """
        T_c = checked_overhead(overhead)
        return self.completed(tau) * (self.mean_time() + T_c) / (self.M * (self.capped(tau) + T_c))

    def ideal(self, overhead: float) -> float:
        """The gain if every worker took its mean time: (E[T] + T_c) / (M mu + T_c)."""
        T_c = checked_overhead(overhead)
        return (self.mean_time() + T_c) / (self.M * self.law.mean + T_c)

    def best(self, overhead: float) -> tuple[float, float]:
        """The threshold with the largest S_eff, and that S_eff.

        Warns
        -----
        RuntimeWarning
            Without overhead the best threshold may be as small as can be: see `warn_degenerate`.
        """
        T_c = checked_overhead(overhead)
        warn_degenerate(T_c, math.sqrt(self.law.variance) / self.law.mean)
        tau = self.times.candidates(self.N)
        gains = self.speedup(tau, T_c)
        i = int(np.argmax(gains))
        return float(tau[i]), float(gains[i])


@lru_cache(maxsize=1 << 12)
def _mean_time(step: StepLaw) -> float:
    return float(step.capped(step.times.top(step.N)))


@lru_cache(maxsize=1 << 12)
def _capped(step: StepLaw, workers: int, tau: float) -> float:
    x = np.array([tau])
    return float((x - step.times.power_integral(x, workers))[0])


@lru_cache(maxsize=1 << 12)
def _completed(step: StepLaw, tau: float) -> float:
    return float(step.times.completed(np.array([tau]))[0])


@lru_cache(maxsize=1 << 12)
def _quantile(step: StepLaw, probability: float) -> float:
    low, high = 0.0, step.times.top(step.N)
    for _ in range(100):
        middle = (low + high) / 2
        if not low < middle < high:  # no number lies between
            break
        below = step.times.at_most(np.array([middle]))[0] < probability
        low, high = (middle, high) if below else (low, middle)
    return high


def warn_degenerate(overhead: float, cv: float) -> None:
    """Warn where dropping nearly everything maximises S_eff."""
    if overhead == 0.0 and cv >= 1.0:
        warnings.warn(
            f"overhead = 0 with a coefficient of variation of {cv:.3g} >= 1 is degenerate: S_eff does not fall as tau "
            "goes to 0, so that the best threshold may drop nearly every micro-batch; give the overhead of a step",
            RuntimeWarning,
            stacklevel=3,
        )


def _checked_tau(tau: Any) -> Floats:
    array = as_numbers(tau, "tau", np.float64)
    if array.ndim > 1 or not array.size or not (array > 0).all() or (np.diff(np.atleast_1d(array)) < 0).any():
        raise ValueError(f"tau must be positive, a number or ascending ones, got {shown(tau)}")
    return array
