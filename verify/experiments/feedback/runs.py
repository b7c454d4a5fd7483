"""Quadratics on which error feedback is run: with integers and dyadic step sizes every number of a run is exact."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives.feedback.sgd import FeedbackSGDState
from commbounds.compressors import Compressor, TopK
from commbounds.compressors.base import Law, Message, checked_array, checked_exact
from commbounds.compressors.sparsifiers.unranked import Dense
from commbounds.verify.family import Family
from commbounds.verify.space import Of
from commbounds.verify.study import Curve

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Shrunk(Compressor):
    """Returns 1 - q of its input: contractive by q^2 with equality, so extremal wherever only contraction counts."""

    q: float

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Dense:
        """Every entry, times 1 - q."""
        array = checked_array(x)
        return Dense(array.shape, array.dtype, array * array.dtype.type(1 - self.q))

    def decompress(self, message: Message) -> Array:
        """What the message holds."""
        assert isinstance(message, Dense)
        return message.values

    def law(self, x: Any) -> Law:
        """The output, with probability one."""
        return [(Fraction(1), tuple((1 - Fraction(self.q)) * v for v in checked_exact(x)))]


Kept = int | float
"""How much is kept: k entries, by Top-K, or 1 - q of every entry, for the float q."""
ALL = Of("n", lambda n: n)
MOST = Of("n - n // 4", lambda n: n - n // 4)
BUT_ONE = Of("n - 1, at least 1", lambda n: max(n - 1, 1))
HALVES = Of("half of n", lambda n: max(n // 2, 1))


def compressor_of(kept: Kept) -> Compressor:
    """Top-K, or the one that returns 1 - q of its input."""
    return TopK(kept) if isinstance(kept, int) else Shrunk(kept)


def contraction(kept: Kept, n: int) -> Fraction:
    """Alpha of it."""
    return Fraction(kept, n) if isinstance(kept, int) else 1 - Fraction(kept) ** 2


def is_rational(kept: Kept, n: int) -> bool:
    """Whether the root of 1 - alpha is."""
    return isinstance(root(1 - contraction(kept, n)), Fraction)


def over_kept(family: Family, label: str, n: int, **fixed: Any) -> Curve:
    """Shares of the bound over alpha: Top-K, which is typical, and what shrinks its input, which is worst."""

    def points(seed: int) -> Any:
        for k in range(1, n):
            pair = (k, float(root(1.0 - k / n)))
            yield (
                k / n,
                [family.case(family.space.at(**{"n": n, "kept": kept, "seed": seed, **fixed})) for kept in pair],
            )

    return Curve("alpha", label, points, typical=1, relative=True)


def drawn_values(rng: np.random.Generator, exact: bool, *shape: int, most: int = 3) -> Array:
    """Small integers, for exact arithmetic, or normal numbers."""
    return rng.integers(-most, most + 1, shape).astype(float) if exact else rng.standard_normal(shape)


def lifted(array: Any, exact: bool) -> Array:
    """The array as it is, or its numbers as Fractions."""
    given = np.asarray(array, np.float64)
    if not exact:
        return given
    return np.array([Fraction(v) for v in given.ravel().tolist()], dtype=object).reshape(given.shape)


def square(x: Array) -> Any:
    """Sum of squares."""
    return (x * x).sum()


def squares(rows: Array, exact: bool) -> list[Any]:
    """Sums of squares of rows of floats; the same as Fractions where they are exact, added up in whole numbers."""
    if not exact:
        return list((rows * rows).sum(axis=1).tolist())
    found = []
    for row in rows.tolist():
        pairs = [v.as_integer_ratio() for v in row]
        scale = max(divisor for _, divisor in pairs)
        found.append(Fraction(sum((number * (scale // divisor)) ** 2 for number, divisor in pairs), scale**2))
    return found


def root(value: Any) -> Any:
    """Square root: exact of a Fraction, and a Fraction again where it can be; else a float."""
    if isinstance(value, Fraction):
        found = Fraction(isqrt(value.numerator), isqrt(value.denominator))
        return found if found**2 == value else sp.sqrt(sp.Rational(value.numerator, value.denominator))
    return float(np.sqrt(value))


def dyadic(value: float, exact: bool) -> float:
    """The value, or the largest number of five binary digits that is not above it, with room for its rounding."""
    if not exact:
        return value
    below = value * (1 - 8 * EPS)
    exponent = int(np.floor(np.log2(below))) - 4
    return float(np.floor(below * 2.0**-exponent) * 2.0**exponent)


def divisible(P: int, averages: int) -> float:
    """The number that can be divided so often by P without remainder but binary digits: a power of P's odd part."""
    return float((P // (P & -P)) ** averages)


@dataclass(frozen=True, eq=False)
class Quadratics:
    """f_i(x) = sum_j a_ij (x_j - c_ij)^2 / 2, in floats and, where `exact`, in Fractions too."""

    a: Array
    c: Array
    exact: bool

    @classmethod
    def drawn(cls, P: int, n: int, seed: int, exact: bool, spread: float = 1.0, steps: int = 0) -> Quadratics:
        """Curvatures between 1 and 8 (powers of two where exact), centres integers or normal, `apart`.

        Exact centres are multiples of what keeps so many averages over P workers exact.
        """
        rng = np.random.default_rng([seed, P, n])
        if exact:
            unit = divisible(P, steps) * spread
            return cls(2.0 ** rng.integers(0, 3, (P, n)), unit * rng.integers(-3, 4, (P, n)), True)
        return cls(np.exp(rng.standard_normal((P, n))), spread * rng.standard_normal((P, n)), False)

    def steeper(self, times: float) -> Quadratics:
        """With curvatures that are so many times larger."""
        return self if times == 1.0 else replace(self, a=times * self.a)

    @cached_property
    def _lifted(self) -> tuple[Array, Array]:
        return lifted(self.a, self.exact), lifted(self.c, self.exact)

    @cached_property
    def _centre(self) -> tuple[Array, Array]:
        """Mean curvatures, and the minimiser."""
        a, c = self._lifted
        mean = a.sum(axis=0) / len(a)
        return mean, (a * c).sum(axis=0) / len(a) / mean

    @property
    def best(self) -> Array:
        """The minimiser, in floats."""
        return np.asarray(self._centre[1], np.float64)

    @property
    def L(self) -> Any:
        """Smoothness of the average."""
        return max(self._centre[0])

    @property
    def mu(self) -> Any:
        """Its least curvature."""
        return min(self._centre[0])

    @property
    def Lt_square(self) -> Any:
        """Mean squared smoothness of the workers' functions."""
        return (lambda top: (top * top).sum() / len(top))(self._lifted[0].max(axis=1))

    def gradients(self, x: Array) -> Array:
        """Every worker's, in floats."""
        return np.asarray(self.a * (x - self.c))

    def own(self, x: Array) -> Array:
        """Every worker's, lifted."""
        a, c = self._lifted
        return np.asarray(a * (lifted(x, self.exact) - c))

    def mean(self, x: Array) -> Array:
        """The average gradient, lifted."""
        return np.asarray(self.own(x).sum(axis=0) / len(self.a))

    def gap(self, x: Array) -> Any:
        """Excess over the minimum."""
        mean, best = self._centre
        away = lifted(x, self.exact) - best
        return (mean * away * away).sum() / 2


@dataclass(frozen=True, eq=False)
class Wells:
    """f_i(x) = sum_j a_ij w(x_j - c_ij) with w(z) = z^2 / (2 (1 + z^2)): bounded, smooth, not convex beyond 1/sqrt(3).

    w' = z / (1 + z^2)^2, and w'' = (1 - 3 z^2) / (1 + z^2)^3 lies in [-1/4, 1]. It has what `Quadratics` has.
    """

    a: Array
    c: Array
    exact: bool = False

    @classmethod
    def drawn(cls, P: int, n: int, seed: int, spread: float = 1.0) -> Wells:
        """Heights about 1, centres `spread` or so to one side of zero."""
        rng = np.random.default_rng([seed, P, n, 2])
        return cls(np.exp(rng.standard_normal((P, n))), spread * (1 + 0.5 * rng.standard_normal((P, n))))

    @property
    def L(self) -> float:
        """Smoothness of the average, as w'' is at most 1."""
        return float(self.a.mean(axis=0).max())

    @property
    def Lt_square(self) -> float:
        """Mean squared smoothness of the workers' functions."""
        return float(np.square(self.a.max(axis=1)).mean())

    def gradients(self, x: Array) -> Array:
        """Every worker's."""
        z = x - self.c
        return np.asarray(self.a * z / np.square(1 + z * z))

    def own(self, x: Array) -> Array:
        """The same."""
        return self.gradients(x)

    def mean(self, x: Array) -> Array:
        """The average gradient."""
        return np.asarray(self.gradients(x).mean(axis=0))

    def _value(self, x: Array) -> Array:
        """By entries, of any number of points (..., n)."""
        z = x[..., None, :] - self.c
        return np.asarray((self.a * (0.5 - 0.5 / (1 + z * z))).mean(axis=-2))

    @cached_property
    def lowest(self) -> float:
        """At most the minimum: the least value on a lattice, less what an entry can fall within half of its width h."""
        steps = 2000
        low, high = self.c.min(axis=0), self.c.max(axis=0)  # no minimum lies outside
        lattice = low + (high - low) * np.linspace(0, 1, steps + 1)[:, None]
        room = self.a.mean(axis=0) * np.square((high - low) / steps) / 8  # L (h/2)^2 / 2
        return float((self._value(lattice).min(axis=0) - room).sum())

    def gap(self, x: Array) -> float:
        """Excess over the minimum, or a little more."""
        return float(self._value(np.asarray(x)).sum()) - self.lowest


@dataclass(eq=False)
class FeedbackRun:
    """A descent, step by step: the states after every step, beginning with the one before the first."""

    states: list[FeedbackSGDState]

    @classmethod
    def of(cls, sgd: Any, problem: Quadratics | Wells, x: Array, steps: int, noise: Array | None = None) -> FeedbackRun:
        """`steps` steps from x; `noise` (steps, P, n) is added to the gradients."""
        return cls([sgd.start(x, len(problem.a))]).further(sgd, problem, steps, noise)

    @classmethod
    def of_all_signs(
        cls, sgd: Any, problem: Quadratics | Wells, x: Array, steps: int, noise: Array, noisy: int
    ) -> Iterator[FeedbackRun]:
        """Runs with all signs of the noise (n,) that every worker can have in each of the first `noisy` steps.

        Steps that several runs begin with are made once.
        """
        P, runs = len(problem.a), iter([cls.of(sgd, problem, x, 0)])
        noisy = noisy if noise.any() else 0
        ways = itertools.product((1.0, -1.0), repeat=P) if noisy else ()
        signs = [np.reshape(some, (1, P, 1)) for some in ways]
        for _ in range(noisy):
            runs = (run.further(sgd, problem, 1, some * noise) for run in runs for some in signs)
        return (run.further(sgd, problem, steps - noisy) for run in runs)

    def further(self, sgd: Any, problem: Quadratics | Wells, steps: int, noise: Array | None = None) -> FeedbackRun:
        """The run and `steps` steps more."""
        states = list(self.states)
        for t in range(steps):
            gradients = problem.gradients(states[-1].weights)
            states.append(sgd.step(gradients if noise is None else gradients + noise[t], states[-1])[0])
        return FeedbackRun(states)

    def x(self, t: int) -> Array:
        """Weights before step t."""
        return self.states[t].weights

    def memory(self, t: int, exact: bool) -> Array:
        """(P, n): g or e of every worker in step t, that is after it; lifted."""
        return lifted([w.memory for w in self.states[t + 1].workers], exact)

    def momentum(self, t: int, exact: bool) -> Array:
        """(P, n): h of every worker in step t."""
        return lifted([w.momentum for w in self.states[t + 1].workers], exact)
