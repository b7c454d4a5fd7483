"""Properties of whole laws, measured as distances that a claim says are zero."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.base import Exact, Law
from commbounds.verify.compressor_run import CompressorRun
from commbounds.verify.kernel_law import Outcomes
from commbounds.verify.marginals import Marginals
from commbounds.verify.measures import Measure, Reading, simplified

_SEEDS = 4
"""Draws that are compared where a law cannot be read off."""


def _negated(x: Any) -> Any:
    return tuple(_negated(v) for v in x) if isinstance(x, tuple) else -x


def _scaled(x: Any, factor: Fraction) -> Any:
    return tuple(_scaled(v, factor) for v in x) if isinstance(x, tuple) else x * factor


def _total_variation(first: Law, second: Law) -> Exact:
    if first == second:
        return Fraction(0)
    masses: dict[Any, Exact] = {}
    for law, sign in ((first, 1), (second, -1)):
        for p, y in law:
            key = tuple(simplified(v) for v in y)
            masses[key] = masses.get(key, Fraction(0)) + sign * p
    gaps = [simplified(v) for v in masses.values()]
    return sum((abs(v) for v in gaps), start=Fraction(0)) / 2


def _merged(law: Outcomes) -> Outcomes:
    if len(law.p) == 1:
        return law
    y, inverse = np.unique(law.y, axis=0, return_inverse=True)
    return Outcomes(np.bincount(inverse.ravel(), weights=law.p).astype(np.float64), y)


def _law_distance(first: Marginals | Outcomes, second: Marginals | Outcomes, rounding: float) -> Reading:
    """Total variation between two kernel laws; for marginals the largest over the entries, a lower bound of it.

    Outputs count as equal when they differ by at most `rounding` relative to the largest of the first law.
    """
    if isinstance(first, Marginals) and isinstance(second, Marginals):
        allowance = rounding * float(np.abs(first.upper).max() + np.abs(first.lower).max())
        sides = [(first.upper, first.p), (first.lower, 1.0 - first.p)]
        others = [(second.upper, second.p), (second.lower, 1.0 - second.p)]
        shared = sum(np.where(np.abs(a - b) <= allowance, np.minimum(p, q), 0.0) for a, p in sides for b, q in others)
        # sums and products of probabilities that are multiples of the resolution are exact
        return Reading(float(np.maximum(1.0 - shared, 0.0).max()))
    if isinstance(first, Outcomes) and isinstance(second, Outcomes):
        one, two = _merged(first), _merged(second)
        allowance = rounding * float(np.abs(one.y).max())
        same = np.abs(one.y[:, None, :] - two.y[None, :, :]).max(axis=2) <= allowance
        value = float(max(0.0, 1.0 - np.minimum(one.p, same @ two.p).sum()))
        return Reading(value, 2.0 * (len(first.p) + len(second.p)) * float(np.finfo(np.float64).eps))
    raise TypeError(f"cannot compare {type(first).__name__} with {type(second).__name__}")


@dataclass(frozen=True)
class SignDefect(Measure):
    """Total variation distance between the laws of C(-x) and -C(x).

    Where the kernel's law cannot be read off: how often they differ with the same draws, which is no less.

    Parameters
    ----------
    rounding : float
        Relative difference up to which float outputs count as equal, in units of the dtype's precision.
    """

    rounding: float = 0.0

    def exact(self, run: CompressorRun) -> Exact:
        return _total_variation(run.law(_negated(run.x)), [(p, _negated(y)) for p, y in run.law()])

    def read(self, run: CompressorRun) -> Reading | None:
        x = run.x
        here, there = run.kernel(), run.kernel(-x)
        if here is None or there is None:
            return _coupled(run, -1.0, self.rounding * _eps(x))
        return _law_distance(_times(here, -1.0), there, self.rounding * _eps(x))


def _eps(x: Array) -> float:
    return float(np.finfo(x.dtype).eps)


def _by_value(reading: Reading) -> float:
    return reading.value


def _times(law: Marginals | Outcomes, factor: float) -> Marginals | Outcomes:
    if isinstance(law, Marginals):
        return Marginals(factor * law.upper, factor * law.lower, law.p, law.resolution)
    return Outcomes(law.p, factor * law.y)


def _coupled(run: CompressorRun, factor: float, rounding: float) -> Reading:
    """Share of seeds for which C(factor x) is not factor C(x); total variation is at most the probability of that."""
    c, x, differing = run.c, run.x, 0
    scaled = (x * x.dtype.type(factor)).astype(x.dtype)
    for seed in range(_SEEDS):
        here = factor * c(x, np.random.default_rng(seed)).astype(np.float64)
        there = c(scaled, np.random.default_rng(seed)).astype(np.float64)
        differing += bool(np.abs(here - there).max() > rounding * np.abs(here).max())
    return Reading(differing / _SEEDS)


def _powers_of_two(_c: Any) -> tuple[Fraction, ...]:
    return (Fraction(2), Fraction(1, 4))


def _any_factors(_c: Any) -> tuple[Fraction, ...]:
    return (Fraction(3), Fraction(1, 2))


@dataclass(frozen=True)
class ScaleDefect(Measure):
    """Total variation distance between the laws of C(c x) and c C(x); as for `SignDefect` where it cannot be read off.

    Parameters
    ----------
    factors : callable (compressor) -> tuple of Fraction
        The factors c tried; the defect is the largest over them.
    exact_factors : callable (compressor) -> tuple of Fraction
        The factors tried in exact arithmetic.
    rounding : float
        Relative difference up to which float outputs count as equal, in units of the dtype's precision.
    """

    factors: Callable[[Any], tuple[Fraction, ...]] = _powers_of_two
    exact_factors: Callable[[Any], tuple[Fraction, ...]] = _any_factors
    rounding: float = 0.0

    def exact(self, run: CompressorRun) -> Exact:
        law = run.law()
        return max(
            (
                _total_variation(run.law(_scaled(run.x, f)), [(p, _scaled(y, f)) for p, y in law])
                for f in self.exact_factors(run.c)
            ),
            key=float,
        )

    def read(self, run: CompressorRun) -> Reading | None:
        c, x, here = run.c, run.x, run.kernel()
        worst = Reading(0.0)
        if here is None:
            coupled = [_coupled(run, float(factor), self.rounding * _eps(x)) for factor in self.factors(c)]
            return max(coupled, key=_by_value)
        for factor in self.factors(c):
            there = run.kernel((x * x.dtype.type(float(factor))).astype(x.dtype))
            assert there is not None
            worst = max(
                worst, _law_distance(_times(here, float(factor)), there, self.rounding * _eps(x)), key=_by_value
            )
        return worst


@dataclass(frozen=True)
class IdempotenceDefect(Measure):
    """Probability that compressing the output once more changes it.

    Parameters
    ----------
    rounding : float
        Relative difference up to which float outputs count as equal, in units of the dtype's precision; a level times
        as much is also the probability with which rounding may make an entry move to its next level.
    """

    rounding: float = 0.0

    def exact(self, run: CompressorRun) -> Exact:
        x = run.x
        total: Exact = Fraction(0)
        for p, y in run.law():
            again = tuple(y[i : i + len(x[0])] for i in range(0, len(y), len(x[0]))) if isinstance(x[0], tuple) else y
            total += p * sum(
                q for q, z in run.law(again) if any(simplified(v - w) != 0 for v, w in zip(y, z, strict=True))
            )
        return simplified(total)

    def read(self, run: CompressorRun) -> Reading | None:
        c, x, law = run.c, run.x, run.kernel()
        if law is None:
            return None
        worst = Reading(0.0)
        for y in [law.upper, law.lower] if isinstance(law, Marginals) else law.y[:: max(1, len(law.y) // 16)]:
            again = run.kernel(y.reshape(x.shape).astype(x.dtype))
            assert again is not None
            still = Outcomes(np.ones(1), y.reshape(1, -1))
            if isinstance(again, Marginals):
                allowance = self.rounding * _eps(x)
                moved = [np.abs(z - y) > allowance * np.abs(y).max() for z in (again.upper, again.lower)]
                change = Reading(
                    float(np.maximum(again.p * moved[0], (1 - again.p) * moved[1]).max()),
                    allowance * float(getattr(c, "levels", 1)),
                )
            else:
                change = _law_distance(still, again, self.rounding * _eps(x))
            worst = max(worst, change, key=_by_value)
        return worst
