"""What certificates prove of descents with memory at printed step sizes, and of what signs leave on the way."""

from typing import Any

import sympy as sp

from commbounds.theory.feedback.terms import smoothness, smoothness_apart, stepsize
from commbounds.theory.finite_laws import never_negative, over_all, proved_by, square_of_mean
from commbounds.theory.model import Goal, Model, vectors
from commbounds.theory.quantities import P, n
from commbounds.theory.smooth_functions import between_parabolas
from commbounds.theory.variance_reduced import terms as t
from commbounds.theory.variance_reduced import zeroone_terms as z

_d, _g, _h, _y, _new = vectors("d g h y new")
_q, _excess, _after, _V, _M, _delta, _sigma = sp.symbols("q excess after V M delta sigma", nonnegative=True)
_LESS = {"1 - q": 1 - _q}


_ADDED = (
    *square_of_mean(),
    *never_negative("workers and outcomes"),
    Goal("twice the squares", 2 * _d**2 + 2 * _y**2 - (_d - _y) ** 2, vectors=(_d, _y), hints=(_d + _y,)),
)
SMOOTH = *between_parabolas(smoothness, -smoothness), *_ADDED
"""What smoothness says of two points, a part's or the average's, and how the workers' squares and means add up."""
CONVEX = *between_parabolas(smoothness, sp.S.Zero), *_ADDED
"""The same of convex functions."""


def _in_q(bound: Any) -> Any:
    return bound.subs(t.kept_share, 1 - _q**2)


def _descent() -> Any:
    """That f falls as smoothness says, by a step along g, where its gradient is h."""
    return _excess - stepsize * _g * _h + smoothness * stepsize**2 * _g**2 / 2 - _after


def _shrinks(offered: Any) -> dict[str, Any]:
    """Of what is offered the compressor leaves q^2 of the square at most, in `new`."""
    return {"q": _q, "what is left": _q**2 * offered**2 - _new**2}


def _gap(bound: Any) -> tuple[Goal, ...]:
    at = _in_q(bound).subs({t.model_gap: _d**2, t.weights_turn: _y**2})
    return (
        Goal(
            "the model",
            at - _new**2,
            given=_shrinks(_y + _d),
            positive=_LESS,
            vectors=(_d, _y, _new),
            hints=((1 - _q) * _d - _q * _y,),
        ),
    )


def _clag(bound: Any) -> tuple[Goal, ...]:
    """The bound with either branch of its Max, which is at most the bound."""
    (largest,) = bound.atoms(sp.Max)
    silent, sent = sorted(largest.args, key=lambda e: not e.has(t.trigger))
    sends, keeps = (bound.xreplace({largest: e}) for e in (sent, silent))
    values = {t.part_gap: _d**2, t.mean_turn: _y**2}
    gaps, turns, after, first, second = sp.symbols("gaps turns after first second", nonnegative=True)
    return (
        *over_all(lambda left, gap, turn: first * gap + second * turn - left, (after, gaps, turns), case="workers: "),
        Goal(
            "who sends",
            _in_q(sends).subs(values) - _new**2,
            given=_shrinks(_y + _d),
            positive=_LESS,
            vectors=(_d, _y, _new),
            hints=((1 - _q) * _d - _q * _y,),
        ),
        Goal(
            "who does not",
            _in_q(keeps).subs(values) - _new**2,
            given={"trigger": t.trigger * _y**2 - _new**2, "q": _q, "q ||d||^2": _q * _d**2},
            vectors=(_d, _y, _new),
        ),
    )


def _ef21p(bound: Any) -> tuple[Goal, ...]:
    """With the gradient at the model, g, and at the weights, h: x+ - x = -gamma g."""
    at = _in_q(bound).subs({t.excess_before: _excess, t.model_gap: _delta, t.squared_slope: _h**2})
    turned = _q * _delta + _q**2 / (1 - _q) * stepsize**2 * _g**2
    return (
        *proved_by("the model", _gap((1 - t.keeping) * t.model_gap + t.adding * t.weights_turn)),
        *between_parabolas(smoothness, -smoothness),
        Goal(
            "step",
            (1 - _q) ** 2 * (at - _after - stepsize * smoothness**2 / (2 * (1 - _q)) * turned),
            given={
                "smooth f": (1 - _q) ** 2 * _descent(),
                "smooth gradients": (1 - _q) ** 2 * (smoothness**2 * _delta - (_g - _h) ** 2),
                "step size": (
                    (1 - _q) ** 2 * (1 - smoothness * stepsize) - (smoothness * stepsize * _q) ** 2
                ) * _g**2,
            },
            positive={"gamma": stepsize, **_LESS},
            vectors=(_g, _h),
        ),
    )  # fmt: skip


def _marina(bound: Any) -> tuple[Goal, ...]:
    """With the estimate g and the gradient h: x+ - x = -gamma g; `root` squared is (1 - p) omega/(p P)."""
    p, root = t.full_probability, sp.Symbol("root", nonnegative=True)
    at = bound.subs({t.excess_before: _excess, t.estimate_gap: (_g - _h) ** 2, t.squared_slope: _h**2})
    error = (1 - p) * (_g - _h) ** 2 + p * root**2 * _V
    pays = 1 - smoothness * stepsize - (smoothness_apart * stepsize * root) ** 2
    known = 1 - smoothness * stepsize - smoothness_apart * stepsize * root
    return (
        *SMOOTH,
        Goal(
            "step size",
            pays,
            given={
                "step size": known,
                "L gamma": smoothness * stepsize,
                "L~ gamma root": smoothness_apart * stepsize * root,
            },
        ),
        Goal(
            "step",
            at - _after - stepsize / (2 * p) * error,
            given={
                "smooth f": _descent(),
                "smooth workers": p * root**2 * (smoothness_apart**2 * stepsize**2 * _g**2 - _V),
                "step size": pays * _g**2,
            },
            positive={"gamma": stepsize, "p": p},
            vectors=(_g, _h),
        ),
        Goal(
            "turns",
            p * root**2 * _V - (1 - p) * t.omega / P * _V,
            equal=True,
            positive={"P": P},
            zero={"root": root**2 * p * P - (1 - p) * t.omega},
        ),
    )


def _dasha(bound: Any) -> tuple[Goal, ...]:
    """With the estimate g and the gradient h, the parts' mean square `sigma`, turns' V and that compressed, M."""
    a = sp.Symbol("a", positive=True)
    omega = (1 - a) / (2 * a)
    values = {t.excess_before: _excess, t.estimate_gap: (_g - _h) ** 2, t.squared_slope: _h**2, t.part_gap: _sigma}
    first = stepsize / (2 * a * (2 - a))
    second = 2 * a * omega * first / P
    error = (1 - a) ** 2 * (_g - _h) ** 2 + omega / P * _M
    parts = (1 - a) ** 2 * _sigma + omega * _M
    pays = a**2 * P * (1 - smoothness * stepsize) - (smoothness_apart * stepsize) ** 2 * (1 - a)
    return (
        *SMOOTH,
        Goal(
            "step",
            bound.subs(values).subs(t.omega, omega) - _after - first * error - second * parts,
            given={
                "smooth f": _descent(),
                "smooth workers": (1 - a) * (smoothness_apart**2 * stepsize**2 * _g**2 - _V),
                "what is compressed": (1 - a) * (2 * _V + 2 * a**2 * _sigma - _M),
                "step size": pays * _g**2,
            },
            positive={"gamma": stepsize, "a": a, "2 - a": 2 - a, "P": P},
            vectors=(_g, _h),
        ),
    )  # fmt: skip


def _dasha_in_code(bound: Any) -> tuple[Goal, ...]:
    """`y` is L~ gamma times the root of omega (4 omega + 1)/P; 4 omega + 1 is (2 - a)/a."""
    a, y, u = sp.symbols("a y u", nonnegative=True)
    step = _dasha(bound)
    pays = a**2 * P * (1 - u) - (smoothness_apart * stepsize) ** 2 * (1 - a)
    left = 1 - u - 2 * y**2 / (2 - a)
    sizes = {"a": a, "2 - a": 2 - a}
    return (
        *step,
        Goal(
            "step size",
            left,
            given={"the code's": 1 - u - y, "alike enough": (2 - a) * u - a * y, "y": y},
            positive=sizes,
        ),
        Goal(
            "in y",
            pays - a**2 * P * left,
            equal=True,
            positive=sizes,
            zero={"y": 2 * a**2 * P * y**2 - (smoothness_apart * stepsize) ** 2 * (1 - a) * (2 - a)},
        ),
    )


def _diana_rate(bound: Any) -> tuple[Goal, ...]:
    """Of x - x*, the gradient g of f, D = f - f*, the larger rate rho, and r = gamma^2 omega/P."""
    x = _d
    r, rho, D, A = sp.symbols("r rho D A", nonnegative=True)
    a, rates = t.weight, sp.Max(1 - stepsize * t.leastconvexity, 1 - t.weight / 2)
    values = {t.to_minimiser: x**2, t.shift_error: _sigma}
    near = x**2 - 2 * stepsize * _g * x + stepsize**2 * _g**2 + r * _V
    shifts = (1 - a) * _sigma + a * A
    sizes = {"gamma": stepsize, "a": a}
    return (
        *CONVEX,
        Goal(
            "bound",
            bound.xreplace({rates: rho}).subs(values) - rho * (x**2 + 4 * r / a * _sigma),
            equal=True,
            positive={"a": a, "P": P},
            zero={"r": r * P - stepsize**2 * t.omega, "a (1 + omega) = 1": a * (1 + t.omega) - 1},
        ),
        Goal(
            "step",
            rho * (x**2 + 4 * r / a * _sigma) - near - 4 * r / a * shifts,
            given={
                "rho >= 1 - gamma mu": (rho - 1 + stepsize * t.leastconvexity) * x**2,
                "rho >= 1 - a/2": (rho - 1 + a / 2) * r * _sigma,
                "gradients less shifts": r * (2 * A + 2 * _sigma - _V),
                "smooth": stepsize**2 * (2 * smoothness * D - _g**2),
                "smooth workers": r * (2 * t.largest_smoothness * D - A),
                "strongly convex": stepsize * (_g * x - D - t.leastconvexity * x**2 / 2),
                "step size": (stepsize - stepsize**2 * smoothness - 6 * r * t.largest_smoothness) * D,
            },
            positive=sizes,
            vectors=(x, _g),
        ),
        Goal(
            "step size",
            P * (stepsize - stepsize**2 * smoothness - 6 * r * t.largest_smoothness),
            given={
                "the theorem's": stepsize
                * (P - stepsize * t.largest_smoothness * P - 6 * stepsize * t.largest_smoothness * t.omega),
                "L <= L_max": stepsize**2 * P * (t.largest_smoothness - smoothness),
            },
            zero={"r": r * P - stepsize**2 * t.omega},
        ),
    )


# --- signs -----------------------------------------------------------------------------------------------------------

_u, _more, _e, _left, _first, _start = sp.symbols("u more e left first start", real=True)


def _nothing_lost(bound: Any) -> tuple[Goal, ...]:
    """A step of one entry, in the unit in which weights move; `start` and `first` are momentum and errors at first."""
    beta = z.momentum_factor
    after = beta * _u + (1 - beta) * _more + _e - _left

    def rest(momentum: Any, errors: Any) -> Any:
        return (beta * (_start - momentum) + _first - errors) / (1 - beta)

    changed = -after + _more + rest(after, _left) - rest(_u, _e)
    return (
        Goal("at first", rest(_start, _first) - bound, equal=True, positive={"1 - beta": 1 - beta}),
        Goal("one step more", changed - bound, equal=True, positive={"1 - beta": 1 - beta}),
    )


def _averaged_weights(bound: Any) -> tuple[Goal, ...]:
    """An entry: `moved` is the root of the variance times what ranks moved on average, `sent` what all get."""
    moved, sent, x, root = sp.symbols("moved sent x root", real=True)
    off = root * ((x - sent / root) - (x - moved / root)) - (_left - _e)
    return (
        Goal(
            "an entry", bound - off, equal=True, positive={"root^2": root**2},
            zero={"what is left out": sent + _left - moved - _e},
        ),
    )  # fmt: skip


def _silent_move(bound: Any) -> tuple[Goal, ...]:
    """With r, the root of n, and the scale of what was moved."""
    r, scale = sp.symbols("r scale", positive=True)
    sign, before = sp.symbols("sign before", real=True)
    moved = stepsize * (1 - z.momentum_factor) * z.gradient_norm
    momentum = z.momentum_factor * before + (1 - z.momentum_factor) * z.gradient_norm
    return (
        Goal("momentum from zero", stepsize * momentum - moved, equal=True, zero={"none before": before}),
        Goal(
            "a sign times the scale: the server's root mean square is the scale",
            (sign * scale) ** 2 - scale**2,
            equal=True,
            zero={"sign": sign**2 - 1},
        ),
        Goal(
            "a silent entry",
            bound.subs(sp.sqrt(n), r) - scale / z.adam_epsilon,
            equal=True,
            positive={"r": r, "epsilon": z.adam_epsilon},
            zero={"root mean square": r * scale - moved},
        ),
    )


def model_of(name: str, words: str, scope: str, goals: Any) -> Model:
    """The model of a claim of the column, tied to the claim's own cases."""
    claim = f"variance_reduced.{name}"
    return Model(claim=claim, words=words, scope=scope, goals=goals)


_STEP = "`g` is the estimate and `h` the gradient of f, so that x+ - x = -gamma g; f+ is `after`. "
_LEFT = "A compressor leaves at most q^2 of a vector's square, q^2 = 1 - k/n for Top-K; its error is `new`. "

DESCENTS = (
    model_of(
        "ef21p.gap",
        _LEFT + "The model is off by `d`, and the weights turn by `y` away from it, so that y + d is offered.",
        "every dimension, every compressor with ||C(x) - x||^2 <= q^2 ||x||^2, every q in [0, 1)",
        _gap,
    ),
    model_of(
        "ef21p.descent",
        "`g` is the gradient at the model, `h` that at the weights, so that x+ - x = -gamma g; f+ is `after`, `delta` "
        "the squared distance of the model. Its distance after the step is that of variance_reduced.ef21p.gap.",
        "every dimension, every smooth f, every compressor with ||C(x) - x||^2 <= q^2 ||x||^2, every q in [0, 1)",
        _ef21p,
    ),
    model_of(
        "clag.error",
        _LEFT + "A part is off by `d` before its gradient turns by `y` away from it. A worker that sends offers y + d; "
        "one that does not has at most the trigger's error. The mean over the workers is linear.",
        "every P, every dimension, every compressor with ||C(x) - x||^2 <= q^2 ||x||^2, every q in [0, 1), every "
        "trigger",
        _clag,
    ),
    model_of(
        "marina.descent",
        _STEP + "The mean squared turn is V, and the error after the step is that of variance_reduced.marina.error. "
        "`root` is that of (1 - p) omega/(p P).",
        "every P, every smooth f of smooth parts, every estimate, every unbiased compressor with variance omega, real "
        "arithmetic",
        _marina,
    ),
    model_of(
        "dasha.descent",
        _STEP + "a = 1/(2 omega + 1). `sigma` is the parts' mean squared error, V the mean squared turn, and M <= 2 V "
        "+ 2 a^2 sigma that of what is compressed, turn less a times the error; the errors after the step are those of "
        "variance_reduced.dasha.error and variance_reduced.dasha.part_error.",
        "every P, every smooth f of smooth parts, every estimate that is the mean of its parts, every unbiased "
        "compressor with variance omega, real arithmetic",
        _dasha,
    ),
    model_of(
        "dasha.code_step_alike",
        "As variance_reduced.dasha.descent, whose step size this one is: `y` is L~ gamma times the root of omega (4 "
        "omega + 1)/P, `u` is L gamma and a = 1/(2 omega + 1). That workers are alike says y^2 <= ((4 omega + 1) u)^2.",
        "every P, every smooth f of smooth parts, every estimate that is the mean of its parts, every unbiased "
        "compressor with variance omega, real arithmetic",
        _dasha_in_code,
    ),
    model_of(
        "diana.rate",
        "As variance_reduced.diana.rate_sharp, with a (1 + omega) = 1: `d` is x - x*, A and sigma the mean squared "
        "distances of gradients and shifts from the workers' gradients at x*, V that of gradients from shifts, at most "
        "2 A + 2 sigma. `r` is gamma^2 omega/P and rho the larger rate.",
        "every P, every strongly convex smooth f of convex smooth parts, every shifts, every unbiased compressor with "
        "variance omega, real arithmetic",
        _diana_rate,
    ),
    model_of(
        "onebit.nothing_lost",
        "One entry, in the unit in which weights move: the momentum `u` takes the mean gradient, `more`, and errors "
        "`e` become `left`, those of the ranks on average and of the server. Induction over the steps.",
        "every P and n, all gradients, every number of steps, every beta below 1, either scale, real arithmetic",
        _nothing_lost,
    ),
    model_of(
        "zeroone.nothing_lost",
        "One entry: `sent` and the errors after it, `left`, are what was `moved` and the errors before, `e`; ranks go "
        "back to x and take `sent` over the root of the variance.",
        "every P and n, all gradients, every number of local steps, real arithmetic",
        _averaged_weights,
    ),
    model_of(
        "zeroone.silent_move",
        "What was moved has (1 - beta) gamma ||g|| for its norm, and `scale` for its root mean square, which signs are "
        "multiplied by, by the ranks and once more by the server; `r` is the root of n.",
        "every n, every gradient, every step size, every beta below 1, real arithmetic",
        _silent_move,
    ),
)
