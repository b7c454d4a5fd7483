"""Exact numbers a + b sqrt(d) with rational a, b, d: the field that l2 norms of rational vectors live in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from commbounds.compressors.base import Exact, Law


@dataclass(frozen=True)
class Surd:
    """``rational + factor * sqrt(radicand)``; only numbers of one radicand, which is no square, are combined."""

    rational: Fraction
    factor: Fraction
    radicand: Fraction

    def __add__(self, other: Surd | Fraction | int) -> Surd:
        """The sum."""
        if isinstance(other, Surd):
            return Surd(self.rational + other.rational, self.factor + other.factor, self.radicand)
        return Surd(self.rational + other, self.factor, self.radicand)

    __radd__ = __add__

    def __neg__(self) -> Surd:
        """The negative."""
        return Surd(-self.rational, -self.factor, self.radicand)

    def __sub__(self, other: Surd | Fraction | int) -> Surd:
        """The difference."""
        return self + (-other)

    def __rsub__(self, other: Surd | Fraction | int) -> Surd:
        """The difference."""
        return -self + other

    def __mul__(self, other: Surd | Fraction | int) -> Surd:
        """The product."""
        if isinstance(other, Surd):
            return Surd(
                self.rational * other.rational + self.factor * other.factor * self.radicand,
                self.rational * other.factor + self.factor * other.rational,
                self.radicand,
            )
        return Surd(self.rational * other, self.factor * other, self.radicand)

    __rmul__ = __mul__

    def exact(self) -> Exact:
        """The number as a Fraction where it is rational, else as a sympy number in canonical form."""
        if self.factor == 0:
            return self.rational
        return _rational(self.rational) + _rational(self.factor) * _root(self.radicand)


def _rational(value: Fraction) -> Any:
    import sympy as sp

    return sp.Rational(value.numerator, value.denominator)


@lru_cache(maxsize=256)
def _root(radicand: Fraction) -> Any:
    # sqrt(p/q) = sqrt(p q)/q
    import sympy as sp

    return sp.sqrt(radicand.numerator * radicand.denominator) / radicand.denominator


def root(value: Fraction) -> Fraction | Surd:
    """The square root of `value` >= 0: a Fraction where it is rational."""
    p, q = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if p * p == value.numerator and q * q == value.denominator:
        return Fraction(p, q)
    return Surd(Fraction(0), Fraction(1), value)


def exact_law(law: Law) -> Law:
    """`law` with every surd as a Fraction or sympy number."""

    def exact(value: Any) -> Exact:
        return value.exact() if isinstance(value, Surd) else value

    return [(exact(probability), tuple(exact(v) for v in output)) for probability, output in law]
