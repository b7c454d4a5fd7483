"""What certificates about error feedback prove.

A worker's vectors stand for one worker: where a lemma is a mean over workers or an expectation, it is summed, and
squared norms of means are at most means of squared norms. With q = sqrt(1 - alpha) all is rational in q.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from commbounds.theory.feedback import terms as t
from commbounds.theory.model import Goal, Model, by_claim
from commbounds.theory.quantities import alpha

_q = sp.Symbol("q", nonnegative=True)
_e, _g, _new, _d, _move = sp.symbols("e g new d move")
_SHRINKS: Mapping[str, Any] = {"q": _q}
_LESS: Mapping[str, Any] = {"1 - q": 1 - _q}
_SCOPE = "every dimension, every compressor with ||C(x) - x||^2 <= q^2 ||x||^2, every q in [0, 1)"


def _in_q(bound: Any) -> Any:
    return bound.subs(alpha, 1 - _q**2)


# --- error feedback of 2014 -------------------------------------------------------------------------------------------


def _residual(bound: Any) -> tuple[Goal, ...]:
    limit = _q**2 * t.reach**2 / (1 - _q) ** 2
    return (
        Goal(
            "step",
            limit - _new**2,
            given={
                "new residual: q^2 ||e + g||^2 - ||new||^2": _q**2 * (_e + _g) ** 2 - _new**2,
                "old residual: limit - ||e||^2": limit - _e**2,
                "step: M^2 - ||g||^2": t.reach**2 - _g**2,
                **_SHRINKS,
            },
            positive=_LESS,
            vectors=(_e, _g, _new),
            hints=((1 - _q) * _e - _q * _g,),
        ),
        Goal("bound", _in_q(bound) - limit, given={"M^2": t.reach**2, **_SHRINKS}, positive={**_LESS, "1 + q": 1 + _q}),
    )


MODELS = by_claim(
    Model(
        claim="feedback.ef14.residual",
        words="e is the residual, g the step size times the gradient, new what is left of e + g. Induction: at first "
        "there is no residual, and the limit is not negative.",
        scope=f"{_SCOPE}, every M, any number of steps",
        goals=_residual,
        tie=("feedback.ef14.telescoping",),
    ),
    Model(
        claim="feedback.ef14.residual_simple",
        words="As feedback.ef14.residual, whose bound is the smaller one.",
        scope=f"{_SCOPE} and below 1, every M, any number of steps",
        goals=_residual,
        tie=("feedback.ef14.telescoping",),
    ),
)
