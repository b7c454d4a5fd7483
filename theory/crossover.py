"""Where one cost beats another, as a symbol grows: `crossover`."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import sympy as sp

from commbounds.theory.quantities import P

_POINTS = 2001


@dataclass(frozen=True)
class Crossover:
    """Where the first of two costs is the smaller.

    Parameters
    ----------
    symbol : sympy.Symbol
        What varies.
    condition : sympy relation, true, false or None
        Exactly where, for P >= 2; None where only numbers could be had.
    intervals : tuple of (float, float)
        Where, within the range that was searched, if `condition` is None.
    """

    symbol: Any
    condition: Any = None
    intervals: tuple[tuple[float, float], ...] = ()

    @property
    def exact(self) -> bool:
        """Whether `condition` says it all."""
        return self.condition is not None


def crossover(first: Any, second: Any, symbol: Any, low: float = 2.0, high: float = 1e9) -> Crossover:
    """Where ``first < second``, over `symbol`, with P >= 2 and all symbols positive.

    The difference is factored. Factors whose sign is known are dropped. What is left is solved exactly where it is
    linear in `symbol` with a slope of known sign, or a polynomial in `symbol` alone.
    Else it is evaluated at 2001 points between `low` and `high`, evenly spaced in the logarithm, and every change of
    sign is refined by Brent's method: two crossings between neighbouring points, 1 % apart or less for a range of nine
    decades, are not seen.

    Parameters
    ----------
    first, second : sympy expression
        Costs.
    symbol : sympy.Symbol
        What varies.
    low, high : float
        Range of the numeric search.

    Raises
    ------
    ValueError
        Neither can be done: other symbols stand in the way and need values.

    Examples
    --------
    >>> from commbounds.theory.cost import cost
    >>> from commbounds.theory.quantities import P, k
    >>> from commbounds.theory.schedules import SCHEDULES
    >>> oktopk, dense = cost(SCHEDULES["oktopk"]).words, cost(SCHEDULES["rabenseifner"]).words
    >>> crossover(oktopk, dense, k).condition
    k < n/3
    >>> crossover(oktopk, cost(SCHEDULES["topk_allgather"]).words, P).condition
    P > 3
    """
    left, sign = _undecided(sp.factor(first - second))
    if left == 1:
        return Crossover(symbol, sp.S.true if sign < 0 else sp.S.false)
    if left == 0:
        return Crossover(symbol, sp.S.false)
    if symbol in left.free_symbols:
        exact = _solved(sign * left, symbol)
        if exact is not None:
            return Crossover(symbol, exact)
    others = sorted(s.name for s in left.free_symbols - {symbol})
    if others:
        raise ValueError(f"where the costs cross over {symbol} depends on {', '.join(others)}: give values")
    return Crossover(symbol, intervals=_searched(sp.lambdify([symbol], sign * left, ["scipy", "numpy"]), low, high))


def _sign(expression: Any) -> int:
    """1 or -1 where the sign of `expression` is the same for all P >= 2 and all positive values; else 0."""
    beyond = sp.Symbol("beyond", integer=True, nonnegative=True)
    shifted = sp.expand(expression.subs(P, beyond + 2))
    return 1 if shifted.is_positive else -1 if shifted.is_negative else 0


def _undecided(difference: Any) -> tuple[Any, int]:
    """The product of the factors of unknown sign, and the sign of the others."""
    left, sign = sp.Integer(1), 1
    if difference == 0:
        return difference, 0
    for base, power in difference.as_powers_dict().items():
        known = _sign(base)
        if known and power.is_integer:
            sign *= known if power.is_odd else 1
        elif not known:
            left *= base**power
    return left, sign


def _solved(expression: Any, symbol: Any) -> Any:
    """Where `expression` < 0, exactly, or None."""
    if not expression.is_polynomial(symbol):
        return None
    if sp.degree(expression, symbol) == 1:
        expanded = sp.expand(expression)
        slope, rest = expanded.coeff(symbol, 1), expanded.coeff(symbol, 0)
        if _sign(slope):
            at = sp.factor(-rest / slope)
            return symbol < at if _sign(slope) > 0 else symbol > at
        return None
    if expression.free_symbols != {symbol}:
        return None
    x = sp.Symbol("x", real=True)
    return sp.reduce_inequalities([expression.subs(symbol, x) < 0, x > 0], x).subs(x, symbol)


def _searched(function: Any, low: float, high: float) -> tuple[tuple[float, float], ...]:
    """Intervals of [low, high] where `function` is negative."""
    import numpy as np
    from scipy.optimize import brentq

    points = [low * (high / low) ** (i / (_POINTS - 1)) for i in range(_POINTS)]
    with np.errstate(all="ignore"):
        values = [float(function(x)) for x in points]
    if any(map(math.isnan, values)):
        raise ValueError(f"the costs are not defined everywhere between {low} and {high}")
    ends = [low]
    for i in range(_POINTS - 1):
        if (values[i] < 0) != (values[i + 1] < 0):
            at_point = next((points[j] for j in (i, i + 1) if values[j] == 0), None)
            ends.append(float(brentq(function, points[i], points[i + 1])) if at_point is None else at_point)
    ends.append(high)
    begins_below = values[0] < 0
    return tuple((a, b) for i, (a, b) in enumerate(itertools.pairwise(ends)) if (i % 2 == 0) == begins_below)
