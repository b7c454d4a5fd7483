"""Functions that several columns use and sympy does not have in the form that the book needs."""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy as sp


class ExactFunction(sp.Function):  # type: ignore[misc]
    """A function of integers and rationals with an exact value; in floats the same, entry by entry."""

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        """The function of these arguments, none of which is a text: sympy would run it."""
        return super().__new__(cls, *(sp.sympify(a, strict=True) for a in arguments), **options)

    @classmethod
    def exact(cls, *arguments: Any) -> Fraction:
        """The value."""
        raise NotImplementedError

    @classmethod
    def eval(cls, *arguments: Any) -> Any:
        """The value where all arguments are numbers; not a number where there is none."""
        if not all(a.is_Rational for a in arguments):
            return None
        try:
            value = cls.exact(*(int(a) if a.is_Integer else Fraction(int(a.p), int(a.q)) for a in arguments))
        except ZeroDivisionError:
            return sp.nan
        return sp.Rational(value.numerator, value.denominator)

    @classmethod
    def _imp_(cls, *arguments: Any) -> Any:
        import numpy as np

        function: Any = cls
        return np.vectorize(lambda *numbers: _in_floats(function, *numbers), otypes=[np.float64])(*arguments)


class nearest_float(ExactFunction):
    """The number of `b` significant bits that is nearest to v, halves to the even one; exponents have no limits."""

    nargs = 2

    @classmethod
    def exact(cls, *arguments: Any) -> Fraction:
        """The value at v, a rational number, and b, at least 1."""
        value, bits = Fraction(arguments[0]), int(arguments[1])
        if value == 0:
            return value
        exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()  # that of v, or one more
        if abs(value) < Fraction(2) ** exponent:
            exponent -= 1
        unit = Fraction(2) ** (exponent - bits + 1)
        return round(value / unit) * unit


@lru_cache(maxsize=1 << 14)
def _in_floats(function: Any, *numbers: float) -> float:
    try:
        return float(function.exact(*(int(v) if v == int(v) else Fraction(float(v)) for v in numbers)))
    except ZeroDivisionError:
        return math.nan
    except OverflowError:
        return math.inf


class harmonic_number(sp.Function):  # type: ignore[misc]
    """H_N = 1 + 1/2 + ... + 1/N."""

    nargs = 1
    is_positive = True

    @classmethod
    def eval(cls, count: Any) -> Any:
        """The value of a number that is not large."""
        return sp.harmonic(count) if count.is_Integer and count <= 4096 else None

    def _eval_evalf(self, prec: int) -> Any:
        return (sp.digamma(self.args[0] + 1) + sp.EulerGamma)._eval_evalf(prec)

    def _latex(self, printer: Any, **_: Any) -> str:
        return rf"H_{{{printer.doprint(self.args[0])}}}"

    @staticmethod
    def _imp_(count: Any) -> Any:
        from scipy.special import digamma

        return digamma(count + 1.0) - digamma(1.0)
