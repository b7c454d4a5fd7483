"""`ValuesAt`: many expressions at many points at once."""

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from commbounds.array_types import Array
from commbounds.theory.evaluation import added_up, is_product_less_one
from commbounds.theory.functions import ExactFunction
from commbounds.theory.mutation import Regime


class ValuesAt:
    """Values of expressions at many points at once, in float64; what expressions share is worked out once.

    Parameters
    ----------
    points : dict of symbol's name to (count,) array
        A value for every symbol.
    """

    def __init__(self, points: Mapping[str, Array]) -> None:
        self._points = {name: np.asarray(values, np.float64) for name, values in points.items()}
        self._known: dict[Any, Any] = {}
        self.count = max((len(values) for values in self._points.values()), default=1)

    def __call__(self, expression: Any) -> Array:
        """(count,) values; not a number, or infinite, where the expression has none."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a mutant may ask for a point where an integral does not converge
            return np.broadcast_to(np.asarray(self._value(expression), np.float64), (self.count,))

    def size(self, expression: Any) -> Array:
        """(count,) sums of the terms' magnitudes, which tell how exact a sum is; the magnitude of anything else."""
        terms = expression.args if expression.is_Add else (expression,)
        total: Array = np.sum([np.abs(self(term)) for term in terms], axis=0)
        return total

    def entered(self, regime: Regime) -> Array:
        """(count,) of bool: where the point is in the regime; where two sides of a Min or Max agree, it is in both."""
        with np.errstate(all="ignore"):
            if isinstance(regime.node, sp.Piecewise):
                inside: Array = np.ones(self.count, bool)
                for number, (_, condition) in enumerate(regime.node.args):
                    here = np.broadcast_to(np.asarray(self._value(condition), bool), (self.count,))
                    if number == regime.branch:
                        inside &= here
                        return inside
                    inside &= ~here
            branch = sorted(regime.node.args, key=sp.default_sort_key)[regime.branch]
            same: Array = np.isclose(self(branch), self(regime.node), rtol=1e-12, atol=0.0)
            return same

    def _value(self, e: Any) -> Any:
        if e not in self._known:
            self._known[e] = self._worked_out(e)
        return self._known[e]

    def _worked_out(self, e: Any) -> Any:
        if e.is_Symbol:
            return self._points[e.name]
        if e.is_Boolean and not isinstance(e, sp.Rel):
            if e in (sp.true, sp.false):
                return bool(e)
            parts = [np.asarray(self._value(a), bool) for a in e.args]
            if isinstance(e, sp.And | sp.Or):
                return (np.logical_and if isinstance(e, sp.And) else np.logical_or).reduce(np.broadcast_arrays(*parts))
            if isinstance(e, sp.Not):
                return ~parts[0]
        if e.is_number and not e.is_Boolean:
            return float(e) if e.is_real else np.nan
        if e.is_Piecewise:
            chosen = np.full(self.count, np.nan)
            for branch, condition in reversed(e.args):
                chosen = np.where(self._value(condition), self._value(branch), chosen)
            return chosen
        if is_product_less_one(e):
            return self._value(added_up(e))
        operation = _OPERATIONS.get(e.func)
        if operation is not None:
            return operation(*(self._value(a) for a in e.args))
        arguments = [self._value(a) for a in e.args]
        if issubclass(e.func, ExactFunction):
            return _one_by_one(e.func, np.broadcast_arrays(*arguments))
        return _lambdified(e.func, len(e.args))(*arguments)


def _one_by_one(function: Any, arguments: Sequence[Array]) -> Array:
    """The values of an exact function; not a number where a mutant asks for what is outside its domain."""
    values: Array = np.full(np.shape(arguments[0]), np.nan)
    for index in np.ndindex(values.shape):
        numbers = [float(a[index]) for a in arguments]
        if np.isfinite(numbers).all():
            with contextlib.suppress(ArithmeticError, ValueError, TypeError):
                values[index] = float(function.exact(*(int(v) if v == int(v) else Fraction(v) for v in numbers)))
    return values


@cache
def _lambdified(function: Any, count: int) -> Callable[..., Any]:
    symbols = sp.symbols(f"x:{count}", real=True)
    numeric: Callable[..., Any] = sp.lambdify(symbols, function(*symbols), modules=["scipy", "numpy"])
    return numeric


def _folded(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def folded(first: Any, *others: Any) -> Any:
        for other in others:
            first = operation(first, other)
        return first

    return folded


_OPERATIONS: dict[Any, Callable[..., Any]] = {
    sp.Add: _folded(np.add),
    sp.Mul: _folded(np.multiply),
    sp.Pow: lambda base, exponent: np.power(np.asarray(base, np.float64), exponent),
    sp.Min: _folded(np.minimum),
    sp.Max: _folded(np.maximum),
    sp.Abs: np.abs,
    sp.floor: np.floor,
    sp.ceiling: np.ceil,
    sp.exp: np.exp,
    sp.log: lambda x, base=np.e: np.log(x) / np.log(base),
    sp.Le: np.less_equal,
    sp.Lt: np.less,
    sp.Ge: np.greater_equal,
    sp.Gt: np.greater,
    sp.Eq: np.equal,
    sp.Ne: np.not_equal,
}
