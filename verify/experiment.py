"""How much work is done, and how a measured value is compared with a bound."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import Any

import sympy as sp

from commbounds.theory import Claim

Implementations = Mapping[str, Any]
"""Compressor name -> class or callable that stands in for the project's own: how mutants are confronted."""


@dataclass(frozen=True)
class Budget:
    """How much work each method may do.

    Parameters
    ----------
    level : int
        Grid level of the exact method: 0, 1, 2.
    sizes : tuple of int
        Sizes at which the hostile corpus is taken.
    examples : int
        Hypothesis examples.
    observations : int
        Entries (elementwise compressors) or draws that the sequential test sees.
    evaluations : int
        Evaluations of the attack, in all.
    first : bool
        Whether the first violation that a search or a stream of draws finds is enough, as found: where only the verdict
        is asked for.
    """

    level: int
    sizes: tuple[int, ...]
    examples: int
    observations: int
    evaluations: int
    first: bool = False


budgets: dict[str, Budget] = {
    "quick": Budget(0, (1, 2, 3, 8, 33), 60, 40_000, 600),
    "standard": Budget(1, (1, 2, 3, 5, 8, 33, 257), 600, 1_000_000, 6_000),
    "thorough": Budget(2, (1, 2, 3, 4, 5, 7, 8, 16, 33, 257, 4099), 5_000, 20_000_000, 60_000),
}


def bound_at(claim: Claim, values: Mapping[str, Any]) -> Any:
    """`claim.bound(**values)`.

    Raises
    ------
    TypeError
        A symbol of the bound has no value.
    ValueError
        The bound is singular there.
    """
    try:
        bound = claim.bound(**values)
    except TypeError as error:
        missing = ", ".join(name for name in claim.parameters if name not in values)
        if not missing:
            raise
        raise TypeError(
            f"the bound of {claim.name} has symbols without a value: {missing}. A family gives values in `facts=`, the "
            "study of a compressor in `values=`, a function of the run, and a trial in Outcome(measured, {name: value})"
        ) from error
    if isinstance(bound, sp.Expr) and bound.has(sp.zoo, sp.nan):
        at = ", ".join(f"{name} = {values[name]}" for name in claim.parameters)
        raise ValueError(f"the bound of {claim.name}, {claim.relation.rhs}, is singular at {at}")
    return bound


def violates(relation: Any, measured: Any, bound: Any, slack: float = 0.0) -> bool:
    """Whether `measured` breaks the relation with `bound` by more than `slack`.

    Exact numbers are compared exactly, and then `slack` is zero; NaN violates everything.
    """
    if isinstance(measured, float) or isinstance(bound, float):
        gap = decimal(measured) - decimal(bound)
        if math.isnan(gap):
            return True
        sign = 0 if abs(gap) <= slack else (1 if gap > 0 else -1)
    else:
        sign = _order(measured, bound)
    if isinstance(relation, sp.Le):
        return sign > 0
    return sign < 0 if isinstance(relation, sp.Ge) else sign != 0


def _order(x: Any, y: Any) -> int:
    """Sign of x - y for exact numbers."""
    if isinstance(x, int | Fraction) and isinstance(y, int | Fraction):
        return (x > y) - (x < y)
    near, by = decimal(x), decimal(y)
    # both are good to 15 digits
    if abs(near - by) > 1e-12 * (abs(near) + abs(by)):
        return 1 if near > by else -1
    return _sign(_symbolic(x) - _symbolic(y))


def decimal(value: Any) -> float:
    """A number as a float; one that is irrational and exact is worked out once."""
    if isinstance(value, Fraction):
        return value.numerator / value.denominator
    return float(value) if isinstance(value, float | int) else _decimal(value)


@lru_cache(maxsize=1 << 12)
def _decimal(value: Any) -> float:
    return float(value)


def _symbolic(value: Any) -> Any:
    """An exact number as sympy's."""
    return sp.Rational(int(value.numerator), int(value.denominator)) if isinstance(value, Rational) else value


def _sign(value: Any) -> int:
    """Sign of an exact sympy number."""
    if value.is_Rational:
        return int(sp.sign(value))
    digits = value.evalf(40)
    if abs(digits) > sp.Float("1e-30"):
        return 1 if digits > 0 else -1
    return 0 if sp.simplify(value) == 0 else int(sp.sign(value.evalf(200)))


def ratio(measured: float, bound: float) -> float | None:
    """Measured / bound, None where both are zero (nothing is learned there)."""
    if bound == 0.0:
        return None if measured == 0.0 else math.inf
    return measured / bound
