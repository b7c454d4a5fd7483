"""The goals of a claim's model at numbers: which of them a run meets the conditions of, and what they show there."""

from fractions import Fraction
from functools import cache

import sympy as sp

from commbounds.theory import claims
from commbounds.verify.certify import models


@cache
def _compiled(expression):
    expression = sp.sympify(expression)
    symbols = sorted(expression.free_symbols, key=str)
    parts = [sp.lambdify(symbols, part, "math") for part in sp.fraction(sp.together(expression))]
    return [str(symbol) for symbol in symbols], parts


def value(expression, values):
    """A rational function at numbers by name, exactly where they are integers or fractions."""
    names, (numerator, denominator) = _compiled(expression)
    given = [Fraction(values[name]) for name in names]
    return Fraction(numerator(*given)) / Fraction(denominator(*given))


@cache
def _goals(claim, at):
    model = models()[claim]
    return tuple(model.goals(claims()[claim].relation.rhs, **dict(at)))


def _symbols(goal):
    expressions = [goal.show, *goal.given.values(), *goal.positive.values(), *goal.zero.values()]
    return {str(symbol) for expression in expressions for symbol in sp.sympify(expression).free_symbols}


def met(claim, values, at=()):
    """The goals of the claim's model that have conditions, and values for all symbols, and meet the conditions there.

    Parameters
    ----------
    claim : str
        Its name.
    values : mapping from str to int or Fraction
        By the symbols' names.
    at : tuple of (str, int)
        The model's enumerated parameters.

    Returns
    -------
    dict of Goal to Fraction
        With what each shows there.
    """
    found = {}
    for number, goal in enumerate(_goals(claim, tuple(at))):
        if (
            (goal.given or goal.zero)
            and _symbols(goal) <= set(values)
            and all(value(e, values) >= 0 for e in goal.given.values())
            and all(value(e, values) > 0 for e in goal.positive.values())
            and all(value(e, values) == 0 for e in goal.zero.values())
        ):
            found[number, goal.name] = value(goal.show, values)
    return found


def confirm(claim, values, bound, measured, at=()):
    """That the model covers this run, and says that bound and measured are as far from each other as they are."""
    shown = met(claim, values, at)
    assert shown, f"{claim}: no goal's conditions are met at {values}"
    away = measured - bound if claims()[claim].relation.rel_op == ">=" else bound - measured
    assert min(shown.values()) == away >= 0, f"{claim}: {shown}, measured {measured}, bound {bound}, at {values}"
