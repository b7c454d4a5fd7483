"""DropCompute: expected times by a second way, for bounds on gains: it shares no code with `StepLaw`."""

import math
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from commbounds.array_types import Floats
from commbounds.collectives import Gamma, LatencyLaw, Lattice, Normal

_CELLS = 1 << 16
_PANELS = 128
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


class ReferenceTimes:
    """Sums of up to M latencies of a law, and the slowest of N workers.

    Normal and gamma latencies by the laws of their sums and one quadrature; latencies on a lattice by polynomial
    multiplication; others are put on a lattice first.

    Parameters
    ----------
    law : LatencyLaw
        Of one micro-batch.
    M : int
        Micro-batches of a worker.

    Attributes
    ----------
    error : float
        Seconds by which the lattice can move an elapsed time; 0 where the law is its own or has closed sums.
    """

    def __init__(self, law: LatencyLaw, M: int) -> None:
        self.law, self.M = law, M
        self.closed = isinstance(law, Normal | Gamma)
        self.error = 0.0
        self._slowest: dict[int, float] = {}
        if self.closed:
            return
        if isinstance(law, Lattice):
            self._base, self._unit, weights = law.base, law.unit, law.weights
        else:
            reach = (law.high if math.isfinite(law.high) else _far(law)) - law.low
            # a sum gets far by one long latency, while the others are what they are on average
            span = min(M * reach, reach + M * law.mean + 8 * math.sqrt(M * law.variance))
            self._base, self._unit = law.low, span / _CELLS
            edges = law.low + self._unit * (np.arange(math.ceil(reach / self._unit) + 2) - 0.5)
            weights = np.diff(law.cdf(edges))
            self.error = M * self._unit / 2
        self._laws = _powers(weights, M)

    def _beyond(self, m: Any, x: Any) -> Floats:
        """P(S_m > x) where sums have a closed form."""
        from scipy import special

        law = self.law
        if isinstance(law, Normal):
            return np.asarray(special.ndtr((m * law.average - x) / (law.deviation * np.sqrt(m))))
        assert isinstance(law, Gamma)
        return np.asarray(special.gammaincc(m * law.shape, np.maximum(x - m * law.base, 0.0) / law.scale))

    def slowest(self, N: int) -> float:
        """E of the largest of N sums of M latencies, in seconds."""
        if N not in self._slowest:
            self._slowest[N] = self._integrated(N) if self.closed else self._summed(N)
        return self._slowest[N]

    def _summed(self, N: int) -> float:
        below = np.minimum(np.cumsum(self._laws[-1]), 1.0)
        return float(self.M * self._base + self._unit * np.sum(1.0 - below**N))

    def _integrated(self, N: int) -> float:
        law, M = self.law, self.M
        mean, deviation = M * law.mean, math.sqrt(M * law.variance)
        low = mean - 10 * deviation if isinstance(law, Normal) else max(M * law.low, mean - 40 * deviation)
        reach = 2 * (mean - low) + deviation
        while float(self._beyond(M, low + reach)) * N > 1e-20:
            reach *= 1.25
        # x = low + reach s^8 resolves the singularity of a gamma law of small shape at its left end
        edges = np.linspace(0.0, 1.0, _PANELS + 1)
        half = 0.5 / _PANELS
        s = (edges[:-1] + half)[:, None] + half * _NODES
        with np.errstate(divide="ignore"):  # nobody has ended: log 0
            beyond = -np.expm1(N * np.log1p(-self._beyond(M, low + reach * s**8)))
        return float(low + reach * half * np.sum((beyond * 8 * s**7) @ _WEIGHTS))

    def below(self, tau: float) -> float:
        """Sum over m = 1 .. M of P(S_m < tau)."""
        if self.closed:
            counts = np.arange(1, self.M + 1)
            return float(np.sum(1.0 - self._beyond(counts, tau)))
        total = 0.0
        for m, weights in enumerate(self._laws, 1):
            place = (tau - m * self._base) / self._unit
            if self.error:  # a cell holds what is within half a unit of its centre
                whole = math.floor(place + 0.5)
                part = place + 0.5 - whole
            else:
                whole, part = math.ceil(place - 1e-9), 0.0
            total += float(
                weights[: max(whole, 0)].sum() + (part * weights[whole] if 0 <= whole < weights.size else 0.0)
            )
        return float(total)

    @cached_property
    def density(self) -> float:
        """How much `below` moves a second, at most: the largest density of a sum, M times."""
        return 0.0 if not self.error else float(self.M * max(law.max() for law in self._laws) / self._unit)


def _powers(weights: Floats, M: int) -> list[Floats]:
    """The laws of J_1 .. J_M, for sums of J with these weights."""
    size = min(1 << (M * (weights.size - 1) + 1).bit_length(), 2 * _CELLS)
    transform, power = np.fft.rfft(weights, size), np.ones(size // 2 + 1, np.complex128)
    laws = []
    for m in range(1, M + 1):
        power = power * transform
        laws.append(np.maximum(np.fft.irfft(power, size)[: m * (weights.size - 1) + 1], 0.0))
    return laws


def _far(law: LatencyLaw) -> float:
    """Seconds beyond which a latency counts for nothing."""
    high = 2 * law.mean
    while law.excess(high) > 1e-12 * law.mean:
        high *= 1.25
    return high


@lru_cache(maxsize=128)
def reference_times(law: LatencyLaw, M: int) -> ReferenceTimes:
    """`ReferenceTimes`, made once for a law and M."""
    return ReferenceTimes(law, M)
