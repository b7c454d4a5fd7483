"""The goals of a model at the values that its symbols have in one run of a kernel."""

from fractions import Fraction
from functools import cache

import sympy as sp

from commbounds import theory
from commbounds.verify import certify


@cache
def _goals(claim, at):
    return certify.models()[claim].goals_at(theory.claims()[claim].relation.rhs, dict(at))


@cache
def _compiled(claim, name, at):
    goal = _goals(claim, at)[name]
    expressions = [*goal.given.values(), *goal.positive.values(), *goal.zero.values(), goal.show]
    expressions = [sp.sympify(e) for e in expressions]
    symbols = sorted(set().union(*(e.free_symbols for e in expressions)), key=str)
    return [s.name for s in symbols], sp.lambdify(symbols, expressions, modules="sympy")


def exact(value):
    """A number as sympy's, without its rounding."""
    return sp.Rational(value.numerator, value.denominator) if isinstance(value, Fraction) else sp.sympify(value)


def check_goals(claim, names, values, **at):
    """Assert that the conditions of the goals `names` hold, and what is to be shown, at `values`, by symbol name.

    Returns the values of what is to be shown, so that a case of equality can be told from others.
    """
    shown, at = [], tuple(at.items())
    for name in names:
        goal = _goals(claim, at)[name]
        symbols, function = _compiled(claim, name, at)
        *conditions, show = (sp.radsimp(sp.sympify(v)) for v in function(*(exact(values[s]) for s in symbols)))
        context = claim, name, values
        for condition, value in zip([*goal.given, *goal.positive, *goal.zero], conditions, strict=True):
            if condition in goal.given:
                assert value >= 0, (condition, *context)
            elif condition in goal.positive:
                assert value > 0, (condition, *context)
            else:
                assert sp.simplify(value) == 0, (condition, *context)
        assert sp.simplify(show) == 0 if goal.equal else show >= 0, context
        shown.append(show)
    return shown
