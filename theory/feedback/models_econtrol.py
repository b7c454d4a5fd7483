"""What certificates about EControl prove; vectors as in `commbounds.theory.feedback.models`."""

from collections.abc import Mapping
from typing import Any

import sympy as sp

from commbounds.theory.feedback import terms as t
from commbounds.theory.model import Goal, Model, untied, vectors
from commbounds.theory.quantities import alpha

_q, _rho = sp.symbols("q rho", positive=True)
_e, _w, _r = vectors("e w r")
_x, _error, _estimate, _gradient = sp.symbols("x error estimate gradient")
_eta = t.error_weight
_ABOVE = _rho * (_rho + 1 - _eta) / (1 + (1 + _eta) * _rho)
"""q, where rho^2 = b rho + q."""
_BELOW = _rho * (_rho - 1 + _eta) / (1 - (1 + _eta) * _rho)
"""q, where rho^2 = -b rho + q."""
_NEXT_E = (1 - _eta) * _e + _r
_NEXT_W = (1 + _eta) * _r - _eta**2 * _e
_b = t.surplus.subs(alpha, 1 - _q**2)
_PACE = t.pace.subs(alpha, 1 - _q**2)


def _of(bound: Any, size: Any) -> Any:
    """The bound in q and rho, where |b| is `size`, and rho half the sum of that and the root of b^2 + 4 q."""
    return bound.subs(alpha, 1 - _q**2).subs(_PACE, 2 * _rho - size).subs(sp.Max(_b, -_b), size)


def _root(name: str, size: Any, q: Any, positive: Mapping[str, Any]) -> Goal:
    """That the other part of 2 rho is the root."""
    return Goal(f"root, {name}", ((2 * _rho - size) ** 2 - _b**2 - 4 * _q).subs(_q, q), equal=True, positive=positive)


def _telescoping(bound: Any) -> tuple[Goal, ...]:
    after = _x - t.stepsize * _estimate - t.stepsize * (_error + _gradient - _estimate)
    before = _x - t.stepsize * _error
    return (Goal("step", after - before + t.stepsize * _gradient - bound, equal=True),)


def _falls(bound: Any) -> tuple[Goal, ...]:
    above, below, goals = _rho + 1 - _eta, _rho + _q * (1 + _eta), []
    for name, size, q, lead, hint, part, of_part in (
        ("b >= 0", _b, _ABOVE, above, _eta * (above * _e + _r), "rho + 1 - eta", _rho + 1 - _eta),
        ("b <= 0", -_b, _BELOW, below, below * _r - _q * _eta**2 * _e, "rho - 1 + eta", _rho - 1 + _eta),
    ):
        allowed = _of(bound, size).subs({t.squared_error: _e**2, t.squared_offer: _w**2})
        fallen = _q * lead * (allowed - _eta**2 * _NEXT_E**2 - _q * _NEXT_W**2)
        contraction = lead * _rho**2 * (_q**2 * _w**2 - _r**2)
        of_q = {"q > 0": _q, "what q is divided by": sp.fraction(q)[1]}
        goals += [
            _root(name, size, q, {"what q is divided by": of_q["what q is divided by"], part: of_part}),
            Goal(
                f"step, {name}",
                fallen.subs(_q, q),
                given={
                    "contraction: q^2 ||w||^2 - ||r||^2": contraction.subs(_q, q),
                    name: size.subs(_q, q),
                    f"q times {name}": (_q * size).subs(_q, q),
                },
                positive={**{key: value.subs(_q, q) for key, value in of_q.items()}, part: of_part},
                vectors=(_e, _w, _r),
                hints=(sp.numer(sp.together(hint.subs(_q, q))),),
            ),
        ]
    return tuple(goals)


def _grows(bound: Any) -> tuple[Goal, ...]:
    at = _of(bound, _b)
    wide = (1 - _eta + _rho) / _q
    start = {_e: 1, _r: -_q * wide}
    known = {"what q is divided by": 1 + (1 + _eta) * _rho, "rho": _rho, "rho + 1 - eta": _rho + 1 - _eta}
    return (
        _root("b >= 0", _b, _ABOVE, known),
        Goal("first", at.subs(t.horizon, 0) - 1, equal=True),
        Goal("error", _NEXT_E.subs(start) + _rho, equal=True),
        Goal(
            "what is compressed next", (_NEXT_W.subs(start) + _rho * wide).subs(_q, _ABOVE), equal=True, positive=known
        ),
        Goal("step", at.subs(t.horizon, t.horizon + 1) - _rho * at, equal=True),
    )


_STEP = (
    "e is the error, w what is compressed, r what that leaves out; q = sqrt(1 - alpha), b = (1 + q) eta - (1 - q), and "
    "rho the positive number with rho^2 = |b| rho + q, by which q is written; 'root' says that rho is half of |b| and "
    "the root of b^2 + 4 q. "
)

ECONTROL_MODELS = (
    Model(
        claim="feedback.econtrol.telescoping",
        words="x, error, estimate and gradient are the weights before a step, the mean error before it, and the means "
        "of the estimates after it and of the gradients: x - gamma error moves by -gamma gradient. Induction: the "
        "error is zero at first.",
        scope="every number of workers, every dimension, every message, every step size and weight of the error, any "
        "number of steps, in real arithmetic",
        goals=_telescoping,
    ),
    untied(
        claim="feedback.econtrol.rate",
        words=_STEP + "What is shown is multiplied by q (rho + 1 - eta) for b >= 0 and by q (rho + q (1 + eta)) for "
        "b <= 0, and contraction by the second factor and rho^2; both are positive, as eta <= 1 and rho > 0.",
        scope="every dimension, every compressor with ||C(x) - x||^2 <= q^2 ||x||^2, every q in (0, 1), every weight "
        "of the error in [0, 1], every state, in real arithmetic",
        goals=_falls,
    ),
    Model(
        claim="feedback.econtrol.growth",
        words=_STEP + "e is 1, w is (1 - eta + rho)/q, and r is -q w: a step multiplies both by -rho.",
        scope="every q in (0, 1), every weight of the error from (1 - q)/(1 + q) to 1, any number of steps, in real "
        "arithmetic",
        goals=_grows,
    ),
)
