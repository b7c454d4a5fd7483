"""Conditions that change with the bound: hypotheses of an induction, which a goal is to show where it begins.

What a model takes for given must not depend on the claim, or the claim proves itself. It does in an induction, whose
hypothesis is the claim so far: such a condition is declared in ``SHOWN_BY`` of the column's models, with the goal that
shows it at first.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import sympy as sp

from commbounds.columns import Registry
from commbounds.theory.model import CASE, PART, STAND_IN, Goal, Model
from commbounds.verify.certify.certificate import CertificateError
from commbounds.verify.certify.letters import goals

_MORE = sp.Rational(1, 1000)


_SHOWN_BY: Registry[Mapping[str, str | tuple[str, ...]]] = Registry("SHOWN_BY", "theory", "models")


def shown_by() -> Registry[Mapping[str, str | tuple[str, ...]]]:
    """``SHOWN_BY`` of all columns' models, by claim."""
    return _SHOWN_BY


def changing(model: Model, bound: Any, at: Mapping[str, Any], named: Mapping[str, Goal]) -> dict[str, set[str]]:
    """The conditions that are others at another bound, and the goals that have them.

    Raises
    ------
    CertificateError
        The model has no goals at any other bound, so that this cannot be seen.
    """
    for other in _others(bound):
        try:
            others = [*goals(model, other, at).values()]
        except (ArithmeticError, ValueError):
            continue
        if len(others) == len(named):
            break
    else:
        raise CertificateError("the model has goals for the claim's bound alone: no other one can be tried")
    found: dict[str, set[str]] = {}
    for goal, now in zip(named.values(), others, strict=True):
        for kind in ("given", "positive", "zero"):
            for name, condition in getattr(goal, kind).items():
                if getattr(now, kind).get(name) != condition:
                    found.setdefault(name, set()).add(goal.name)
    return found


def _others(bound: Any) -> Iterator[Any]:
    """A bound that is a little larger; and one of the same cases, of which every one is."""
    yield bound + _MORE
    if isinstance(bound, sp.Piecewise):
        yield sp.Piecewise(*((e + _MORE, condition) for e, condition in bound.args))
    elif isinstance(bound, (sp.Min, sp.Max)):
        yield bound.func(*(e + _MORE for e in bound.args))


def require_shown(model: Model, bound: Any, at: Mapping[str, Any], named: Mapping[str, Goal]) -> None:
    """Whether every condition that changes with the bound is declared, and shown by a goal that has it not.

    Raises
    ------
    CertificateError
        One is not.
    """
    if not any(goal.given or goal.positive or goal.zero for goal in named.values()):
        return
    declared = shown_by().get(model.claim, {})
    for name, having in changing(model, bound, at, named).items():
        if name not in declared:
            raise CertificateError(f"the condition {name!r} changes with the bound: no induction is declared")
        first = declared[name]
        if first in (STAND_IN, PART, CASE):
            continue
        for goal in (first,) if isinstance(first, str) else first:
            if goal not in named or goal in having:
                raise CertificateError(f"no goal {goal!r} shows the condition {name!r} where its induction begins")
