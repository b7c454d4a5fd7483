"""Whether what a model takes as given holds of a run, and what it shows: at the run's numbers, exactly."""

from __future__ import annotations

from typing import Any

import sympy as sp

from commbounds.theory import claims
from commbounds.theory.model import Goal
from commbounds.verify.certify.certificate import models


def goals(claim: str, **instance: Any) -> dict[str, Goal]:
    """The goals of a claim's model, about the claim's bound, by name."""
    return models()[claim].goals_at(claims()[claim].relation.rhs, instance)


def at(expression: Any, **values: Any) -> Any:
    """An expression at numbers, by the symbols' names; symbols without one stay."""
    whole = sp.sympify(expression)
    return whole.subs({s: sp.Rational(values[s.name]) for s in whole.free_symbols if s.name in values})


def bound_of(claim: str, **values: Any) -> Any:
    """A claim's bound at numbers, by the symbols' names."""
    return at(claims()[claim].relation.rhs, **values)


def failing(goal: Goal, **values: Any) -> list[str]:
    """Names of the goal's conditions that do not hold at these values, and ``show`` where that does not.

    Values are by the symbols' names; conditions that speak of other symbols are left out, what is shown is not.
    """
    kinds = ((goal.given, lambda v: v >= 0), (goal.positive, lambda v: v > 0), (goal.zero, lambda v: v == 0))
    wrong = [
        name
        for conditions, holds in kinds
        for name, condition in conditions.items()
        if not (value := at(condition, **values)).free_symbols and not holds(value)
    ]
    shown = at(goal.show, **values)
    if shown.free_symbols:
        raise ValueError(f"{goal.name} needs values of {shown.free_symbols}")
    if not (shown == 0 if goal.equal else shown >= 0):
        wrong.append("show")
    return wrong
