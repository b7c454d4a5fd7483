"""The goals of a claim's model at numbers from a run: whether the conditions hold there, and what is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import sympy as sp

from commbounds.theory import claims
from commbounds.theory.evaluation import evaluator
from commbounds.theory.model import Goal
from commbounds.verify.certify import models


def goals(claim: str, **instance: Any) -> dict[str, Goal]:
    """The goals of a claim's model, about the claim's bound, by name."""
    return _goals(claim, tuple(instance.items()))


@cache
def _goals(claim: str, instance: Any) -> dict[str, Goal]:
    found: dict[str, Goal] = models()[claim].goals_at(claims()[claim].relation.rhs, dict(instance))
    _CLAIMS.update((id(goal), claim) for goal in found.values())
    return found


_CLAIMS: dict[int, str] = {}
SEEN: dict[str, dict[str, set[str]]] = {}
"""Of claims, by the names of their models' goals: the values at which conditions held, and what is shown."""


def seen_at(claim: str, goal: str, values: Mapping[str, Any]) -> None:
    """Keep in mind that a goal's conditions were met at a run, and that it held there."""
    met = SEEN.setdefault(claim, {}).setdefault(goal, set())
    met.add(str(sorted((name, str(v)) for name, v in values.items())))


def _note(goal: Goal, values: Mapping[str, Any]) -> None:
    seen_at(_CLAIMS.get(id(goal), ""), goal.name, values)


def exact(number: Any) -> Any:
    """A number as sympy's, without its rounding."""
    return sp.Rational(number.numerator, number.denominator) if isinstance(number, Fraction) else sp.sympify(number)


def value(expression: Any, values: Mapping[str, Any]) -> Any:
    """A rational function at numbers by name: a Fraction, or sympy's number where one of them is irrational."""
    given = {name: Fraction(v) if isinstance(v, float | str) else v for name, v in values.items()}
    found = evaluator(sp.sympify(expression))(given, "a goal")
    return sp.simplify(sp.radsimp(found)) if isinstance(found, sp.Expr) else found


def bound_of(claim: str, **values: Any) -> Any:
    """A claim's bound at numbers, by the symbols' names; symbols without one stay."""
    bound = claims()[claim].relation.rhs
    return bound.subs({s: exact(values[s.name]) for s in bound.free_symbols if s.name in values})


@cache
def _names(expression: Any) -> set[str]:
    return {symbol.name for symbol in sp.sympify(expression).free_symbols}


@cache
def _everything(claim: str, instance: Any, name: str) -> set[str]:
    goal = _goals(claim, instance)[name]
    expressions = [goal.show, *goal.given.values(), *goal.positive.values(), *goal.zero.values()]
    return set().union(*map(_names, expressions))


def failing(goal: Goal, **values: Any) -> list[str]:
    """Names of the goal's conditions that do not hold at these values, and ``show`` where that does not.

    Values are by the symbols' names; conditions that speak of other symbols are left out, what is shown is not.
    """
    wrong, shown = list(_broken(goal, values)), value(goal.show, values)
    if not (shown == 0 if goal.equal else shown >= 0):
        wrong.append("show")
    if not wrong:
        _note(goal, values)
    return wrong


def _broken(goal: Goal, values: Mapping[str, Any]) -> Iterator[str]:
    kinds = ((goal.given, lambda v: v >= 0), (goal.positive, lambda v: v > 0), (goal.zero, lambda v: v == 0))
    for conditions, holds in kinds:
        for name, condition in conditions.items():
            if _names(condition) <= set(values) and not holds(value(condition, values)):
                yield name


def check_goals(claim: str, names: Any, values: Mapping[str, Any], **instance: Any) -> list[Any]:
    """Assert that the conditions of the goals `names` hold, and what is to be shown, at `values`, by symbol name.

    Returns the values of what is to be shown, so that a case of equality can be told from others.
    """
    chosen = [goals(claim, **instance)[name] for name in names]
    for goal in chosen:
        assert _everything(claim, tuple(instance.items()), goal.name) <= set(values), (claim, goal.name)
        wrong = failing(goal, **values)
        assert not wrong, (wrong, claim, goal.name, values)
    return [value(goal.show, values) for goal in chosen]


def met(claim: str, values: Mapping[str, Any], instance: Any = ()) -> dict[Any, Any]:
    """The goals of the claim's model that have conditions, and values for all symbols, and meet the conditions there.

    By number and name, each with what it shows there.
    """
    found = {}
    for number, goal in enumerate(goals(claim, **dict(instance)).values()):
        told = _everything(claim, tuple(instance), goal.name) <= set(values)
        if told and (goal.given or goal.zero) and next(_broken(goal, values), None) is None:
            found[number, goal.name] = shown = value(goal.show, values)
            if shown == 0 if goal.equal else shown >= 0:
                _note(goal, values)
    return found


def confirm(claim: str, values: Mapping[str, Any], bound: Any, measured: Any, instance: Any = ()) -> None:
    """That the model covers this run, and says that bound and measured are as far from each other as they are."""
    shown = met(claim, values, instance)
    assert shown, f"{claim}: no goal's conditions are met at {values}"
    away = measured - bound if claims()[claim].relation.rel_op == ">=" else bound - measured
    assert min(shown.values()) == away >= 0, f"{claim}: {shown}, measured {measured}, bound {bound}, at {values}"
