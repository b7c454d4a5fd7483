"""The goals of a model at the values that its symbols have in one run of a kernel."""

from fractions import Fraction

import sympy as sp

from commbounds import theory
from commbounds.verify import certify


def sympified(value):
    return sp.Rational(value.numerator, value.denominator) if isinstance(value, Fraction) else sp.sympify(value)


def check_goals(claim, names, values, **at):
    """Assert that the conditions of the goals `names` hold, and what is to be shown, at `values`, by symbol name.

    Returns the values of what is to be shown, so that a case of equality can be told from others.
    """
    goals = certify.models()[claim].goals_at(theory.claims()[claim].relation.rhs, at)
    shown = []
    for name in names:
        goal = goals[name]
        every = [goal.show, *goal.given.values(), *goal.positive.values(), *goal.zero.values()]
        symbols = set().union(*(sp.sympify(e).free_symbols for e in every))
        point = {s: sympified(values[s.name]) for s in symbols}

        def at_point(expression, point=point):
            # by xreplace, so that no assumption about a symbol decides anything
            value = sp.sympify(expression).xreplace(point)
            return value if value.is_Rational else sp.simplify(value.doit())

        for condition, expression in goal.given.items():
            assert at_point(expression) >= 0, (claim, name, condition, values)
        for condition, expression in goal.positive.items():
            assert at_point(expression) > 0, (claim, name, condition, values)
        for condition, expression in goal.zero.items():
            assert at_point(expression) == 0, (claim, name, condition, values)
        value = at_point(goal.show)
        assert value == 0 if goal.equal else value >= 0, (claim, name, values)
        shown.append(value)
    return shown
