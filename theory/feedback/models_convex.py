"""What certificates about strongly convex functions prove; vectors as in `commbounds.theory.feedback.models`."""

from collections.abc import Mapping
from typing import Any

import sympy as sp

from commbounds.theory.feedback import terms as t
from commbounds.theory.finite_laws import about_means, never_negative
from commbounds.theory.model import Goal, untied, vectors
from commbounds.theory.quantities import alpha
from commbounds.theory.smooth_functions import between_parabolas

_q = sp.Symbol("q", nonnegative=True)
_z, _middle = sp.symbols("z middle", positive=True)
_e, _d, _new, _slope, _turn = vectors("e d new slope_at_x turn")
_SHRINKS: Mapping[str, Any] = {"q": _q}
_LESS: Mapping[str, Any] = {"1 - q": 1 - _q}
_SPREAD = (_z**2 - _q) / ((1 - _q) * _z)
_CURVATURES: Mapping[Any, Any] = {t.smoothness: _middle * (1 + _SPREAD), t.convexity: _middle * (1 - _SPREAD)}
_ROOT = t.waved.subs(alpha, 1 - _q**2)
_CONVEX_STEP = (1 - _q) / (1 + _q) / _middle


def _root_of_rate() -> Goal:
    return Goal(
        "root",
        ((_z + _q / _z) ** 2 - _ROOT**2).subs(_CURVATURES),
        equal=True,
        positive={"z": _z, "1 - q": 1 - _q, "middle": _middle},
    )


def _of_functions() -> tuple[Goal, ...]:
    """The root in the bound, and what smoothness and strong convexity say of two points."""
    return _root_of_rate(), *between_parabolas(t.smoothness, t.convexity)


def _of_workers() -> tuple[Goal, ...]:
    """The same of all workers' functions, and of their averages and what they differ from these by."""
    return *_of_functions(), _over(), *about_means(), *never_negative("workers")


def _bent(away: Any, turn: Any, apart: Any) -> Any:
    """What the sum of two points' interpolation inequalities leaves over; `apart` is what turns differ by."""
    left = (t.smoothness + t.convexity) * turn * away - t.smoothness * t.convexity * away**2 - turn**2
    return left.subs(_CURVATURES) - apart**2


_BENT = "smooth and convex: (L + mu) <change of grad, change of x> - L mu ||.||^2 - ||change of grad||^2"
_RATE_IS = {"z": _z, "z^2 - q": _z**2 - _q, "1 + q": 1 + _q, **_LESS, "middle": _middle}
_ABOVE = _z**2 - _q**2
_OVER = _z**2 - _q**3


def _over() -> Goal:
    """That the multiplier of what smoothness and convexity give pays for what workers differ by."""
    return Goal("apart", _OVER, given=_SHRINKS, positive=_RATE_IS)


def _fallen(bound: Any, own: Mapping[Any, Any], after: Any) -> Any:
    return bound.subs(alpha, 1 - _q**2).subs(_ROOT, _z + _q / _z).subs(_CURVATURES).subs(own) - after


def _energy(bound: Any, d: Any, slope: Any, turn: Any) -> tuple[Any, Any, Any, Any]:
    """What falls, what is known, and whose square is left; `d`, `slope`, `turn` are what workers differ by."""
    fallen = _fallen(bound, {t.slope: _slope**2, t.lag: (_d - _slope) ** 2 + (d - slope) ** 2}, _q * _turn**2 + _new**2)
    bent = _bent(_CONVEX_STEP * _d, _slope - _turn, slope - turn)
    kept = _q**2 * ((_d - _turn) ** 2 + (d - turn) ** 2) - _new**2
    return fallen, bent, kept, (1 + _q) * (_z**2 * _slope - _q * _turn) - _ABOVE * _d


def _strongly_convex(bound: Any) -> tuple[Goal, ...]:
    fallen, bent, kept, hint = _energy(bound, 0, 0, 0)
    return (
        *_of_functions(),
        Goal(
            "step",
            (1 + _q) * (_z**2 - _q) * fallen,
            given={_BENT: bent, "new lag: q^2 ||g - grad+||^2 - ||new||^2": kept, **_SHRINKS},
            positive=_RATE_IS,
            vectors=(_d, _slope, _turn, _new),
            hints=(hint,),
        ),
    )


def _strongly_convex_workers(bound: Any) -> tuple[Goal, ...]:
    d, slope, turn = vectors("d_apart slope_apart turn_apart")
    fallen, bent, kept, hint = _energy(bound, d, slope, turn)
    scale = (1 + _q) * (_z**2 - _q) * _ABOVE
    return (
        *_of_workers(),
        Goal(
            "step",
            scale * fallen,
            given={
                _BENT: _q * (1 + _q) ** 2 * _z**2 * _ABOVE * bent,
                "new lag: q^2 ||g - grad+||^2 - ||new||^2": scale * kept,
                "q (1 + q) z^2 (z^2 - q^3)": _q * (1 + _q) * _z**2 * _OVER,
                "z^2 - q^2": _ABOVE,
            },
            positive=_RATE_IS,
            vectors=(_d, _slope, _turn, _new, d, slope, turn),
            hints=(hint, _ABOVE * (d - slope) - _q**2 * (slope - turn), slope - turn),
        ),
    )


def _virtual_energy(bound: Any, e: Any, slope: Any) -> tuple[Any, Any, Any, Any]:
    """What falls, what is known, and whose square is left; `e` and `slope` are what workers differ by."""
    after = _q * (_d - _e - _CONVEX_STEP * _slope) ** 2 + _new**2
    fallen = _fallen(bound, {t.virtual: (_d - _e) ** 2, t.residual: _e**2 + e**2}, after)
    kept = _q**2 * ((_e + _CONVEX_STEP * _slope) ** 2 + (e + _CONVEX_STEP * slope) ** 2) - _new**2
    hint = (1 + _q) * (_z**2 - _q) * _middle * _e + _q * (1 - _z**2) * _middle * _d - _q * (1 - _q) * _slope
    return fallen, _bent(_d, _slope, slope), kept, hint


def _ef14_strongly_convex(bound: Any) -> tuple[Goal, ...]:
    fallen, bent, kept, hint = _virtual_energy(bound, 0, 0)
    return (
        *_of_functions(),
        Goal(
            "step",
            (1 + _q) * (_z**2 - _q) * fallen,
            given={_BENT: bent, "new residual: q^2 ||e + gamma grad||^2 - ||new||^2": kept, **_SHRINKS},
            positive=_RATE_IS,
            vectors=(_e, _d, _slope, _new),
            hints=(hint,),
        ),
    )


def _ef14_strongly_convex_workers(bound: Any) -> tuple[Goal, ...]:
    e, slope = vectors("e_apart slope_apart")
    fallen, bent, kept, hint = _virtual_energy(bound, e, slope)
    scale = (1 + _q) ** 2 * _middle**2 * (_z**2 - _q) * _ABOVE
    paid = _q * _z**2 * (1 - _q) ** 2
    return (
        *_of_workers(),
        Goal(
            "step",
            scale * fallen,
            given={
                _BENT: paid * (1 + _q) * _ABOVE * bent,
                "new residual: q^2 ||e + gamma grad||^2 - ||new||^2": scale * kept,
                "q z^2 (1 - q)^2 (z^2 - q^3)": paid * _OVER,
                "z^2 - q^2": _ABOVE,
            },
            positive=_RATE_IS,
            vectors=(_e, _d, _slope, _new, e, slope),
            hints=(hint, (1 + _q) * _middle * _ABOVE * e - _q**2 * (1 - _q) * slope, slope),
        ),
    )


_RATE_OF_CONVEX = (
    "middle is (L + mu)/2. Every k in (0, 1) is (z^2 - q)/((1 - q) z) for one z > 0, with z^2 > q; 'root' says that "
    "the root in the bound is then z + q/z. What smoothness and convexity give is the sum of the two interpolation "
    "inequalities of"
)
_SCALED = "What falls is multiplied by (1 + q)(z^2 - q)"
_APART = (
    "The mean of inner products is that of the averages plus that of the deviations, as these have mean zero; the "
    "workers' inequalities are summed and divided by their number."
)
_SCOPE = "every dimension, every compressor with ||C(x) - x||^2 <= q^2 ||x||^2, every q in [0, 1)"
_CONVEX_SCOPE = (
    "every L-smooth mu-strongly convex f, 0 < mu < L, the step size 2/(L + mu) (1 - q)/(1 + q), in real arithmetic"
)

CONVEX_MODELS = (
    untied(
        claim="feedback.ef14.strongly_convex",
        words="e is the residual, d is x - x*, slope_at_x is grad f(x), new the residual after the step. x+ - e+ is "
        f"x - e - gamma grad f(x). {_RATE_OF_CONVEX} x and x*, where the gradient is zero, {_SCALED} > 0.",
        scope=f"one worker, {_SCOPE}, {_CONVEX_SCOPE}",
        goals=_ef14_strongly_convex,
    ),
    untied(
        claim="feedback.ef14.strongly_convex_workers",
        words="As feedback.ef14.strongly_convex, e and slope_at_x being the averages of the workers' residuals and "
        "gradients, d the same for all; e_apart and slope_apart are what they differ by, and new is all workers' "
        f"residuals after the step. {_APART} All gradients are zero at x*. {_SCALED}(z^2 - q^2) > 0.",
        scope=f"every number of workers, {_SCOPE}, {_CONVEX_SCOPE.replace('f,', 'f_i of one minimiser,')}",
        goals=_ef14_strongly_convex_workers,
    ),
    untied(
        claim="feedback.ef21.strongly_convex",
        words="slope_at_x is grad f(x), d the estimate g along which x moves, turn grad f(x+), new what g+ lacks of "
        f"it. {_RATE_OF_CONVEX} x and x+, {_SCALED} > 0.",
        scope=f"one worker, {_SCOPE}, {_CONVEX_SCOPE}",
        goals=_strongly_convex,
    ),
    untied(
        claim="feedback.ef21.strongly_convex_workers",
        words="As feedback.ef21.strongly_convex, d, slope_at_x and turn being the averages of the workers' estimates "
        "and gradients; d_apart, slope_apart and turn_apart are what they differ by, and new is what all workers' "
        f"estimates lack. {_APART} {_SCALED}(z^2 - q^2) > 0.",
        scope=f"every number of workers, {_SCOPE}, {_CONVEX_SCOPE.replace('f,', 'f_i,')}",
        goals=_strongly_convex_workers,
    ),
)
