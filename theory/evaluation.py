"""Sympy expressions as functions of numbers: in Python's rationals where the value is rational, in float64 otherwise.

An expression is compiled once. Where a value is irrational, or an argument is, sympy substitutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from numbers import Rational
from operator import eq, ge, gt, le, lt, mod, ne
from typing import Any

import sympy as sp
from sympy.printing.numpy import SciPyPrinter

from commbounds.theory.rational import Irrational, rational_function


@cache
def evaluator(expression: Any) -> Evaluator:
    """The one evaluator of an expression.

    Parameters
    ----------
    expression : sympy expression, relation or Boolean
        Its symbols differ in their names.
    """
    return Evaluator(expression)


class Evaluator:
    """A sympy expression as a function of its symbols' values."""

    def __init__(self, expression: Any) -> None:
        self.expression = expression
        self._symbols = tuple(sorted(expression.free_symbols, key=lambda s: s.name))
        self.names = tuple(s.name for s in self._symbols)
        """Names of the symbols, sorted."""

    def __reduce__(self) -> Any:
        return evaluator, (self.expression,)

    def __call__(self, values: Mapping[str, Any], what: str) -> Any:
        """The value of the expression.

        Parameters
        ----------
        values : mapping from name to int, Fraction, sympy number, float or array
            One value for every name in `names`; further names are ignored.
        what : str
            What is evaluated, for the message of an error.

        Returns
        -------
        Fraction, bool, sympy.Basic, float or ndarray
            With exact values only: a Fraction where the value is rational, a bool where it is a truth value, else the
            exact sympy number. With a float or an array among the values: float64, broadcast.

        Raises
        ------
        TypeError
            A value is missing.
        """
        try:
            arguments = [values[name] for name in self.names]
        except KeyError:
            missing = ", ".join(name for name in self.names if name not in values)
            raise TypeError(f"{what} needs {missing}") from None
        for value in arguments:
            if type(value) is not int and type(value) is not Fraction:
                break
        else:
            return self._exactly(arguments)
        if type(value) is float:
            return self._in_floats(arguments)
        if any(isinstance(value, sp.Float) or not isinstance(value, Rational | sp.Expr) for value in arguments):
            return self._in_floats(arguments)
        arguments = [_plain(value) if isinstance(value, Rational) else value for value in arguments]
        if any(isinstance(value, sp.Expr) for value in arguments):
            return self._substituted(*arguments)
        return self._exactly(arguments)

    def _exactly(self, arguments: list[Any]) -> Any:
        if self._exact is not None:
            try:
                return self._exact(*arguments)
            except (Irrational, ZeroDivisionError):
                pass  # an irrational number on the way; a pole
        return self._substituted(*arguments)

    def _in_floats(self, arguments: list[Any]) -> Any:
        # what is not a number, overflows or divides by zero is left to numpy's rules
        try:
            numbers = [value if type(value) is float else _number(value) for value in arguments]
            value = self._float(*numbers)
            if math.isfinite(value) and math.isfinite(sum(numbers)):
                return float(value)
        except (ArithmeticError, TypeError, ValueError):
            pass
        return self._array(arguments)

    @cached_property
    def _exact(self) -> Callable[..., Any] | None:
        """The value at ints and Fractions; None where it is never rational."""
        return rational_function(self.expression, self._symbols)

    @cached_property
    def _substituted(self) -> Callable[..., Any]:
        """The value by sympy, remembered."""

        @lru_cache(maxsize=1 << 12)
        def substituted(*arguments: Any) -> Any:
            numbers = (
                sp.Rational(v.numerator, v.denominator) if isinstance(v, int | Fraction) else v for v in arguments
            )
            value = self.expression.xreplace(dict(zip(self._symbols, numbers, strict=True)))
            if value.is_Boolean or value.is_Relational:
                return bool(value)
            return Fraction(int(value.p), int(value.q)) if value.is_Rational else value

        return substituted

    @cached_property
    def _summed(self) -> Any:
        """The expression, with what floats lose in products less one added up instead."""
        return self.expression.replace(is_product_less_one, added_up)

    @property
    def _is_summed(self) -> bool:
        return bool(self._summed != self.expression)

    @cached_property
    def _float(self) -> Callable[..., Any]:
        """The value at floats, by the operations of `_array` on Python's floats."""
        printer = _ScalarPrinter({"fully_qualified_modules": False, "inline": True, "allow_unknown_functions": True})
        modules = [_ON_FLOATS, "scipy", "numpy"]
        return sp.lambdify(self._symbols, self._summed, modules=modules, printer=printer, cse=self._is_summed)  # type: ignore[no-any-return]

    @cached_property
    def _array(self) -> Callable[[list[Any]], Any]:
        """The value at arrays."""
        import numpy as np

        function = sp.lambdify(self._symbols, self._summed, modules=["scipy", "numpy"], cse=self._is_summed)

        def evaluate(arguments: list[Any]) -> Any:
            result = function(*(np.asarray(value, dtype=np.float64) for value in arguments))
            return float(result) if np.ndim(result) == 0 else result

        return evaluate


def is_product_less_one(expression: Any) -> bool:
    """Whether it is a product of powers of 1 + error, less 1."""
    if not (expression.is_Add and len(expression.args) == 2 and expression.args[0] == -1):
        return False
    factors = [factor.as_base_exp() for factor in sp.Mul.make_args(expression.args[1])]
    return len(factors) > 1 and all(
        base.is_Add and base.args[0] == 1 and power.is_Integer and 0 < power < 16 for base, power in factors
    )


def added_up(expression: Any) -> Any:
    """The same without cancellation: the errors, one after another."""
    total = sp.S.Zero
    for base, power in (factor.as_base_exp() for factor in sp.Mul.make_args(expression.args[1])):
        for _ in range(int(power)):
            total = total + (base - 1) + total * (base - 1)
    return total


def _plain(value: Any) -> int | Fraction:
    """A rational number of any library as Python's."""
    numerator, denominator = int(value.numerator), int(value.denominator)
    return numerator if denominator == 1 else Fraction(numerator, denominator)


def _number(value: Any) -> float:
    """A number as a float; TypeError for arrays and sequences."""
    if getattr(value, "shape", ()) != ():
        raise TypeError("an array is no number")  # which is caught: to write it out would take longer than to evaluate
    return float(value)


class _ScalarPrinter(SciPyPrinter):  # type: ignore[misc]
    """Squares of symbols as products, which is how numpy squares an array."""

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:
        if expr.exp == 2 and expr.base.is_Symbol:
            return f"({self._print(expr.base)}*{self._print(expr.base)})"
        return str(super()._print_Pow(expr, rational=rational))


def _select(conditions: list[bool], values: list[float], default: float) -> float:
    return next((value for condition, value in zip(conditions, values, strict=True) if condition), default)


_ON_FLOATS: dict[str, Any] = {
    "sqrt": math.sqrt,
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "mod": mod,
    # as numpy's, NaN if either is
    "maximum": lambda x, y: x if x >= y or x != x else y,
    "minimum": lambda x, y: x if x <= y or x != x else y,
    "select": _select,
    "equal": eq,
    "not_equal": ne,
    "less": lt,
    "less_equal": le,
    "greater": gt,
    "greater_equal": ge,
}
"""Numpy's functions on Python's floats, to the same bits.

Powers are Python's. Where numpy has vectorised ones of its own, which depend on the processor and on their arguments'
shapes, the two differ in the last place.
"""
