"""Expressions evaluated by substitution in sympy, or by sympy's own translation to numpy."""

from fractions import Fraction
from numbers import Rational

import numpy as np
import sympy as sp


def substituted(expression, values):
    """The exact value, a Fraction or a bool where it is one, with sympy's number in place of every symbol."""
    numbers = {
        s: sp.Rational(int(v.numerator), int(v.denominator)) if isinstance(v, Rational) else v
        for s, v in ((s, values[s.name]) for s in expression.free_symbols)
    }
    value = expression.xreplace(numbers)
    if value in (sp.true, sp.false):
        return bool(value)
    return Fraction(int(value.p), int(value.q)) if value.is_Rational else value


def in_arrays(expression, values):
    """The value at arrays, by numpy."""
    symbols = list(expression.free_symbols)
    function = sp.lambdify(symbols, expression, modules=["scipy", "numpy"])
    return function(*(np.asarray(values[s.name], dtype=np.float64) for s in symbols))


def in_floats(expression, values):
    """The value at floats, by numpy on arrays of no dimension."""
    return float(in_arrays(expression, values))
