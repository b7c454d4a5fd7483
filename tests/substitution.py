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


def powers(expression):
    """How many of its powers numpy computes in different ways for numbers and for arrays, to within an ulp each.

    Not squares, roots and reciprocals, which are exactly rounded either way.
    """
    exact = {sp.Integer(2), sp.Integer(-1), sp.Rational(1, 2), sp.Rational(-1, 2)}
    return sum(power.exp not in exact for power in sp.preorder_traversal(expression) if power.is_Pow)
