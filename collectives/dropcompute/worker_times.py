"""The law of a worker's elapsed times S_1 < S_2 < ... < S_M: closed forms, exact lattices, or convolution by FFT."""

import math
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from commbounds.array_types import Array, Floats, Integers
from commbounds.collectives.dropcompute.latency_laws import Gamma, LatencyLaw, Normal
from commbounds.collectives.dropcompute.weighted_latencies import LATTICE_EDGE, Lattice

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_CELLS = 1 << 17
"""Cells of the grid on which laws without closed sums are convolved."""
_NEGLIGIBLE = 1e-9
"""Seconds that the slowest of N workers may spend beyond the grid, in means of a step."""


class WorkerTimes(Protocol):
    """What `StepLaw` asks of the sums of M latencies."""

    error: float
    """Largest error of an expected time, in seconds, that the discretisation surely keeps; 0 for closed forms."""

    def at_most(self, x: Floats) -> Floats:
        """P(S_M <= x)."""

    def completed(self, x: Floats) -> Floats:
        """Sum over m of P(S_m < x)."""

    def power_integral(self, x: Floats, N: int) -> Floats:
        """Integral of P(S_M <= t)^N over t < x; `x` ascending."""

    def top(self, N: int) -> float:
        """Where P(S_M <= x)^N is 1 up to rounding: of closed sums P(S_M > x) is 1e-20/N there."""

    def candidates(self, N: int) -> Floats:
        """Thresholds, ascending, among which the best one is looked for.

        With closed sums 4001, evenly spaced, from 0.02 of the mean (normal) or a thousandth of the way from base to
        mean to `top`; on a lattice all that S_1 .. S_M can be, but for a share of 1e-12 and 1e-8 of a unit more, or
        2^14 evenly spaced if these are more than 2^16; else 20001, from a thousandth of the way from the low end to
        the mean to 4 means and 12 standard deviations of S_M, or the end of the grid.
        """


def _power(at_most: Floats, N: int) -> Floats:
    return np.asarray(at_most**N)


class ClosedTimes:
    """Normal and gamma latencies: S_m is of the same family."""

    error = 0.0

    def __init__(self, law: Normal | Gamma, M: int) -> None:
        self.law, self.M = law, M
        self._knots: dict[int, Floats] = {}

    def _survival(self, m: int | Array, x: Floats) -> Floats:
        from scipy.special import gammaincc, ndtr

        law = self.law
        if isinstance(law, Normal):
            return np.asarray(ndtr((m * law.average - x) / (law.deviation * np.sqrt(m))))
        return np.asarray(gammaincc(m * law.shape, np.maximum(x - m * law.base, 0.0) / law.scale))

    def quantile(self, survival: Floats) -> Floats:
        """Where P(S_M > x) is `survival`."""
        from scipy.special import gammainccinv, ndtri

        law, M = self.law, self.M
        if isinstance(law, Normal):
            return np.asarray(M * law.average - law.deviation * math.sqrt(M) * ndtri(survival))
        return np.asarray(M * law.base + law.scale * gammainccinv(M * law.shape, survival))

    def at_most(self, x: Floats) -> Floats:
        return 1.0 - self._survival(self.M, x)

    def log_at_most(self, x: Floats) -> Floats:
        from scipy.special import gammainc, log_ndtr

        law, M = self.law, self.M
        if isinstance(law, Normal):
            return np.asarray(log_ndtr((x - M * law.average) / (law.deviation * math.sqrt(M))))
        scaled = np.maximum(x - M * law.base, 0.0) / law.scale
        survival = self._survival(M, x)
        with np.errstate(divide="ignore"):
            return np.where(survival < 0.5, np.log1p(-survival), np.log(gammainc(M * law.shape, scaled)))

    def completed(self, x: Floats) -> Floats:
        m = np.arange(1, self.M + 1)[:, None]
        return np.asarray((1.0 - self._survival(m, np.asarray(x)[None, :])).sum(axis=0))

    def top(self, N: int) -> float:
        return float(self.quantile(np.array(1e-20 / N)))

    def power_integral(self, x: Floats, N: int) -> Floats:
        # 16-point Gauss-Legendre between quantiles of S_M and of the largest of N, which resolve both, and every x
        if N not in self._knots:
            levels = np.concatenate([1 - np.logspace(-14, -1, 14) ** (1 / N), np.linspace(0.02, 0.98, 49) / N])
            levels = np.concatenate([levels, np.logspace(0, -20, 41) * 0.9 / N, np.linspace(0.02, 0.98, 33)])
            self._knots[N] = self.quantile(levels)
        knots = self._knots[N]
        low = min(float(knots.min()), float(x.min()))
        if isinstance(self.law, Gamma):
            low = self.M * self.law.base
        knots = np.unique(np.concatenate([knots, x, [low]]))
        knots = knots[(knots >= low) & (knots <= x.max())]
        if knots.size < 2:
            return np.zeros(x.shape)
        half = np.diff(knots) / 2
        nodes = (knots[:-1] + half)[:, None] + half[:, None] * _NODES
        pieces = half * (np.exp(N * self.log_at_most(nodes)) @ _WEIGHTS)
        totals = np.append(0.0, np.cumsum(pieces))
        return np.where(x < low, 0.0, totals[np.clip(np.searchsorted(knots, x), 0, knots.size - 1)])

    def candidates(self, N: int) -> Floats:
        law = self.law
        low = 0.02 * law.mean if isinstance(law, Normal) else law.base + 1e-3 * (law.mean - law.base)
        return np.linspace(low, self.top(N), 4001)


class LatticeTimes:
    """Latencies on a lattice: S_m = m base + unit J_m, and the law of J_m by repeated convolution."""

    def __init__(self, law: Lattice, M: int) -> None:
        from scipy.fft import irfft, next_fast_len, rfft

        self.law, self.M, self.error = law, M, 0.0
        size = next_fast_len(M * (law.weights.size - 1) + 1, real=True)
        transform = rfft(law.weights, size)
        self._below: list[Floats] = []  # cumulative laws of J_1 .. J_M; rounding of the FFT is cut at zero
        power = np.ones_like(transform)
        for m in range(1, M + 1):
            power = power * transform
            pmf = np.maximum(irfft(power, size)[: m * (law.weights.size - 1) + 1], 0.0)
            self._below.append(np.minimum(np.cumsum(pmf) / pmf.sum(), 1.0))
        self._at = M * law.base + law.unit * np.arange(self._below[-1].size)

    def _index(self, m: int, x: Floats, strict: bool) -> Integers:
        # the number of lattice points of S_m below x, or at most x
        scaled = (np.asarray(x) - m * self.law.base) / self.law.unit
        index = np.ceil(scaled - LATTICE_EDGE) if strict else np.floor(scaled + LATTICE_EDGE) + 1
        return np.asarray(np.clip(index, 0, self._below[m - 1].size).astype(np.int64))

    def _cumulative(self, m: int, x: Floats, strict: bool) -> Floats:
        return np.asarray(np.append(0.0, self._below[m - 1])[self._index(m, x, strict)])

    def at_most(self, x: Floats) -> Floats:
        return self._cumulative(self.M, x, False)

    def completed(self, x: Floats, strict: bool = True) -> Floats:
        return np.asarray(sum(self._cumulative(m, x, strict) for m in range(1, self.M + 1)))

    def top(self, N: int) -> float:
        return float(self._at[-1])

    def power_integral(self, x: Floats, N: int) -> Floats:
        steps = _power(self._below[-1], N)
        totals = np.append(0.0, np.cumsum(steps) * self.law.unit)  # integral up to the j-th lattice point
        index = self._index(self.M, x, False)
        last = np.maximum(index - 1, 0)
        inside = totals[last] + steps[last] * (x - self._at[last])
        return np.where(index > 0, inside, 0.0)

    def candidates(self, N: int) -> Floats:
        # between atoms nothing more is completed, so the best threshold lies just beyond one
        law, size = self.law, self.law.weights.size
        points = [m * law.base + law.unit * np.arange(m * (size - 1) + 1) for m in range(1, self.M + 1)]
        atoms = np.unique(np.concatenate(points)) if sum(map(len, points)) <= 1 << 16 else None
        atoms = np.linspace(law.low, self._at[-1], 1 << 14) if atoms is None else atoms
        return np.asarray(atoms[atoms > 0] * (1 + 1e-12) + 1e-8 * law.unit)


class GridTimes:
    """Any other law: latencies rounded to a grid of step h, and their sums by FFT.

    Every latency moves by at most h/2, so S_m by at most m h/2: `error` is M h/2, and surely bounds the error of an
    expected time. The rounding errors being nearly independent and centred, what is seen is of the order h^2.
    The 2^17 points of the grid reach from M times the law's low end to M times its high end; where that is infinite to
    r + (M - 1) mean + 6 standard deviations of S_M, r being where E max(t - r, 0) falls to 1e-9 mean/N.
    """

    def __init__(self, law: LatencyLaw, M: int, N: int) -> None:
        from scipy.fft import irfft, rfft

        self.law, self.M = law, M
        start = law.low
        # beyond the grid: E(S_M - reach)^+ <= M E(t - reach/M)^+, and one long latency is what it takes to get there
        reach = M * law.high if math.isfinite(law.high) else self._reach(N)
        span = reach - M * start
        self.step = span / (_CELLS - 1)
        edges = start + self.step * (np.arange(_CELLS + 1) - 0.5)
        pmf = np.diff(law.cdf(edges))
        transform = rfft(pmf, 2 * _CELLS)
        power, powers = np.ones_like(transform), np.zeros_like(transform)
        shift = start / self.step
        self._counts = np.zeros(_CELLS)
        if M * start == 0.0:
            for _ in range(M):
                power = power * transform
                powers += power
            self._counts = np.cumsum(np.maximum(irfft(powers, 2 * _CELLS)[:_CELLS], 0.0))
            self._each: list[Floats] = []
        else:
            self._each = []
            for _ in range(M):
                power = power * transform
                self._each.append(np.cumsum(np.maximum(irfft(power, 2 * _CELLS)[:_CELLS], 0.0)))
        self._shift = shift
        self._law_of_last = np.minimum(np.cumsum(np.maximum(irfft(power, 2 * _CELLS)[:_CELLS], 0.0)), 1.0)
        self._ends = M * start + self.step * (np.arange(_CELLS) + 0.5)  # right ends of the cells of S_M
        self.error = M * self.step / 2
        self._integrals: dict[int, Floats] = {}

    def _reach(self, N: int) -> float:
        law, M = self.law, self.M
        allowed = _NEGLIGIBLE * law.mean / N
        low, high = law.mean, 2 * law.mean
        while law.excess(high) > allowed:
            low, high = high, 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if law.excess(middle) > allowed else (low, middle)
        return high + (M - 1) * law.mean + 6 * math.sqrt(M * law.variance)

    def at_most(self, x: Floats) -> Floats:
        return np.asarray(np.interp(x, self._ends, self._law_of_last, left=0.0))

    def completed(self, x: Floats) -> Floats:
        if not self._each:
            return np.asarray(np.interp(x, self._ends, self._counts, left=0.0))
        steps = self.step * (np.arange(_CELLS) + 0.5)
        starts = self.law.low * np.arange(1, self.M + 1)
        return np.asarray(sum(np.interp(x, s + steps, f, left=0.0) for s, f in zip(starts, self._each, strict=True)))

    def top(self, N: int) -> float:
        beyond = np.flatnonzero(self._law_of_last >= 1 - 1e-14)
        return float(self._ends[beyond[0] if beyond.size else -1])

    def power_integral(self, x: Floats, N: int) -> Floats:
        pieces = self._integral(N)
        inside = np.interp(x, self._ends, pieces, left=0.0)
        return np.asarray(inside + np.maximum(x - self._ends[-1], 0.0))

    def _integral(self, N: int) -> Floats:
        if N not in self._integrals:
            powers = _power(self._law_of_last, N)
            self._integrals[N] = np.append(0.0, np.cumsum((powers[1:] + powers[:-1]) / 2 * self.step))
        return self._integrals[N]

    def candidates(self, N: int) -> Floats:
        law = self.law
        low = law.low + 1e-3 * (law.mean - law.low)
        reach = min(self._ends[-1], 4 * self.M * law.mean + 12 * math.sqrt(self.M * law.variance))
        return np.linspace(low, reach, 20001)


@lru_cache(maxsize=64)
def _closed(law: Normal | Gamma, M: int) -> ClosedTimes:
    return ClosedTimes(law, M)


@lru_cache(maxsize=64)
def _lattice(law: Lattice, M: int) -> LatticeTimes:
    return LatticeTimes(law, M)


@lru_cache(maxsize=48)
def _grid(law: LatencyLaw, M: int, decades: int) -> GridTimes:
    return GridTimes(law, M, 10**decades)


def worker_times(law: LatencyLaw, N: int, M: int) -> Any:
    """The law of a worker's elapsed times, precise enough for the slowest of N workers."""
    if isinstance(law, Normal | Gamma):
        return _closed(law, M)
    if isinstance(law, Lattice):
        return _lattice(law, M)
    return _grid(law, M, max(math.ceil(math.log10(N)), 4))  # up to 10^4 workers share a grid
