"""What certificates about compression with memory prove."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

import sympy as sp

from commbounds.theory.feedback.terms import smoothness, smoothness_apart, stepsize
from commbounds.theory.finite_laws import never_negative, over_all, over_histories, proved_by, square_with_noise
from commbounds.theory.model import PART, Goal, Model, by_claim, extents, vectors
from commbounds.theory.quantities import P, k, n, norm1, norm2
from commbounds.theory.subset_laws import over_subsets
from commbounds.theory.variance_reduced import terms as t
from commbounds.theory.variance_reduced import zeroone_terms as z
from commbounds.theory.variance_reduced.estimates import ESTIMATE_CLAIMS
from commbounds.theory.variance_reduced.models_descents import CONVEX, DESCENTS, SMOOTH, model_of
from commbounds.theory.variance_reduced.models_lamb import LAMB_MODELS
from commbounds.theory.variance_reduced.models_zeroone import ZEROONE
from commbounds.theory.variance_reduced.shifts import DIANA_CLAIMS

_d, _e, _x, _g, _h, _y = vectors("d e x g h y")
_s = sp.Symbol("s", real=True)
(_total,) = vectors("total")
_entry = sp.Symbol("entry", real=True)
_V, _A, _sigma, _D, _rho, _excess, _after = sp.symbols("V A sigma D rho excess after", nonnegative=True)
_moved = sp.Symbol("moved", real=True)
_a, _w = t.weight, t.omega
_RHS = {claim.name: claim.relation.rhs for claim in (*DIANA_CLAIMS, *ESTIMATE_CLAIMS)}


def _unbiased(offered: Any) -> dict[str, Any]:
    """What is known of the error `e` of a compressed vector."""
    return {"the error has no mean": offered * _e, "its variance": _e**2 - _w * offered**2}


def _past() -> tuple[Goal, ...]:
    """That what is shown given the past, and of one worker, is so in the mean: sums of at most two means are linear."""
    first, second, one, other = sp.symbols("first second one other", real=True)
    of_first, of_second = sp.symbols("of_first of_second", real=True)
    means = {first: one, second: other}
    stated = of_first * first + of_second * second
    return over_histories("pasts and workers", ((sp.S.One, of_first * one + of_second * other),), means, stated)


def _rand_k() -> tuple[Goal, ...]:
    """That Rand-K is unbiased, with omega = n/k - 1: in one entry, and over all subsets of k of n entries."""
    chance, sent = k / n, n * _entry / k
    variance = chance * (sent - _entry) ** 2 + (1 - chance) * _entry**2
    sizes, gain = {"n": n, "k": k}, sp.Symbol("gain", nonnegative=True)
    return (
        *proved_by("Rand-K, products", over_subsets(lambda of, kept: kept / of, sp.S.One, sp.S.Zero)),
        *proved_by(
            "Rand-K, squared errors",
            over_subsets(lambda of, kept: gain**2 * kept / of + 1 - kept / of, gain**2, sp.S.One),
        ),
        *_past(),
        Goal("Rand-K has no bias", chance * sent - _entry, equal=True, positive=sizes),
        Goal("Rand-K's variance", variance - (n / k - 1) * _entry**2, equal=True, positive=sizes),
    )


def _averaged() -> tuple[Goal, ...]:
    """Errors of P workers, whose squares add up to omega P V: that of their average."""
    return (
        *_rand_k(),
        *square_with_noise(),
        Goal("average", _total / P**2 - _w * _V / P, equal=True, positive={"P": P}, zero={"sum": _total - _w * P * _V}),
    )


def _diana_variance(bound: Any) -> tuple[Goal, ...]:
    return (*_averaged(), Goal("bound", bound.subs(t.shift_gap, _V) - _w * _V / P, equal=True, positive={"P": P}))


def _diana_unbiased(bound: Any) -> tuple[Goal, ...]:
    """Of any coordinate: sums over the workers of gradients, shifts, and of what is sent in the mean."""
    gradients, shifts, sent = sp.symbols("gradients shifts sent", real=True)
    zero = {"sent in the mean, all workers": sent - (gradients - shifts)}
    return (
        *_rand_k(),
        *over_all(lambda found, offered: found - offered, sp.symbols("found offered"), case="workers: ", equal=True),
        Goal("the shifts cancel", bound - (shifts + sent - gradients) / P, equal=True, positive={"P": P}, zero=zero),
    )


def _shift(bound: Any) -> Any:
    """The bound less the shift's error after a step, `d` the difference of shift and gradient before."""
    return bound.subs(t.shift_gap, _d**2) - ((1 - _a) * _d + _a * _e) ** 2


def _shift_equal(bound: Any) -> tuple[Goal, ...]:
    return (*_rand_k(), Goal("shift", _shift(bound), equal=True, zero=_unbiased(_d), vectors=(_d, _e)))


def _shift_contracts(bound: Any) -> tuple[Goal, ...]:
    given = {"a": _a, "a (1 + omega) <= 1": 1 - _a * (1 + _w), "||d||^2": _d**2}
    return (*_rand_k(), Goal("shift", _shift(bound), given=given, zero=_unbiased(_d), vectors=(_d, _e)))


def _shift_least(bound: Any) -> tuple[Goal, ...]:
    best = (_a * (1 + _w) - 1) * _d
    return (
        *_rand_k(),
        Goal(
            "shift",
            -_shift(bound),
            given={"omega": _w},
            positive={"1 + omega": 1 + _w},
            zero=_unbiased(_d),
            vectors=(_d, _e),
            hints=(best,),
        ),
    )


def _shift_target(bound: Any) -> tuple[Goal, ...]:
    """Shift and gradient are differences from the fixed vector."""
    values = {t.shift_error: _h**2, t.target_gap: _g**2, t.shift_gap: (_g - _h) ** 2}
    after = ((1 - _a) * _h + _a * _g + _a * _e) ** 2
    zero = {
        "the error has no mean, h": _h * _e,
        "the error has no mean, g": _g * _e,
        "its variance": _e**2 - _w * (_g - _h) ** 2,
    }
    return (*_rand_k(), Goal("shift", bound.subs(values) - after, equal=True, zero=zero, vectors=(_g, _h, _e)))


def _rate_sharp(bound: Any) -> tuple[Goal, ...]:
    """Of x - x*, the gradient g of f, the factor c of the shifts' error, and the larger rate, rho."""
    rates = sp.Max(1 - stepsize * t.leastconvexity, 1 - _a)
    left, step, c = 1 - _a * (1 + _w), sp.Symbol("step", positive=True), sp.Symbol("c", nonnegative=True)
    ratio = sp.Symbol("ratio", nonnegative=True)
    factor = stepsize**2 * _w / (P * _a * left)
    values = {t.to_minimiser: _x**2, t.shift_error: _sigma}
    near = _x**2 - 2 * step * _g * _x + step**2 * _g**2 + step**2 * ratio * _V
    shifts = (1 - _a) * _sigma + _a * _A - _a * left * _V
    sizes = {"gamma": stepsize, "a": _a, "1 - a (1 + omega)": left, "P": P}
    pays = stepsize - stepsize**2 * smoothness - factor * _a * t.largest_smoothness
    given = P * left - stepsize * (smoothness * P * left + t.largest_smoothness * _w)
    return (
        *proved_by("diana.shift_target", _shift_target(_RHS["variance_reduced.diana.shift_target"])),
        *CONVEX,
        *_averaged(),
        Goal("step size", pays, given={"step size": given}, positive=sizes),
        Goal(
            "bound",
            bound.xreplace({rates: _rho}).subs(values) - _rho * (_x**2 + factor * _sigma),
            equal=True,
            positive=sizes,
            vectors=(_x,),
        ),
        Goal(
            "step",
            _rho * (_x**2 + c * _sigma) - near - c * shifts,
            given={
                "rho >= 1 - gamma mu": _rho - 1 + step * t.leastconvexity,
                "rho >= 1 - a": _rho - 1 + _a,
                "smooth: 2 L D - ||g||^2": 2 * smoothness * _D - _g**2,
                "smooth workers: 2 L_max D - A": 2 * t.largest_smoothness * _D - _A,
                "strongly convex": _g * _x - _D - t.leastconvexity * _x**2 / 2,
                "step size": step - step**2 * smoothness - c * _a * t.largest_smoothness,
                "D": _D,
                "sigma": _sigma,
                "||x||^2": _x**2,
                "c": c,
            },
            positive={"gamma": step, "a": _a},
            zero={"c a (1 - a (1 + omega)) = gamma^2 ratio": c * _a * left - step**2 * ratio},
            vectors=(_x, _g),
        ),
    )


def _marina_error(bound: Any) -> tuple[Goal, ...]:
    """With the coin: nothing, or the old error and that of the average of compressed turns."""
    p = t.full_probability
    values = {t.estimate_gap: _d**2, t.mean_turn: _V}
    return (
        *_averaged(),
        Goal(
            "both sides of the coin",
            bound.subs(values) - (1 - p) * (_d + _e) ** 2,
            equal=True,
            positive={"P": P},
            zero={"the error has no mean": _d * _e, "its variance": _e**2 - _w * _V / P},
            vectors=(_d, _e),
        ),
    )


def _bias(part: Any) -> Any:
    def goals(bound: Any) -> tuple[Goal, ...]:
        left = bound.subs(t.estimate_gap, _d**2) - ((1 - part) * _d) ** 2
        return (*_rand_k(), Goal("bias", left, equal=True, vectors=(_d,)))

    return goals


def _marina_sharp(bound: Any) -> tuple[Goal, ...]:
    """With the estimate g and the gradient h: x+ - x = -gamma g; the turns' mean square is V."""
    p = t.full_probability
    at = bound.subs({t.excess_before: _excess, t.estimate_gap: (_g - _h) ** 2, t.squared_slope: _h**2})
    error = (1 - p) * ((_g - _h) ** 2 + _w * _V / P)
    return (
        *_marina_error((1 - p) * (t.estimate_gap + _w / P * t.mean_turn)),
        *SMOOTH,
        Goal(
            "step",
            at - _after - stepsize / (2 * p) * error,
            given={
                "smooth f": _excess - stepsize * _g * _h + smoothness * stepsize**2 * _g**2 / 2 - _after,
                "smooth workers": smoothness_apart**2 * stepsize**2 * _g**2 - _V,
                "step size": p * P * (1 - smoothness * stepsize) - (smoothness_apart * stepsize) ** 2 * (1 - p) * _w,
                "p <= 1": 1 - p,
                "omega": _w,
                "||g||^2": _g**2,
            },
            positive={"gamma": stepsize, "p": p, "P": P},
            vectors=(_g, _h),
        ),
    )


def _dasha_part(bound: Any) -> tuple[Goal, ...]:
    """Of what the part is off by, d, and the turn y."""
    offered = _y - _a * _d
    values = {t.part_gap: _d**2, t.part_offer: offered**2}
    zero = {"no mean, d": _d * _e, "no mean, turn": _y * _e, "its variance": _e**2 - _w * offered**2}
    left = bound.subs(values) - (_d + offered + _e - _y) ** 2
    return (*_rand_k(), Goal("part", left, equal=True, zero=zero, vectors=(_d, _y, _e)))


def _dasha_error(bound: Any) -> tuple[Goal, ...]:
    values = {t.estimate_gap: _d**2, t.part_offer: _V}
    return (
        *_averaged(),
        Goal(
            "estimate",
            bound.subs(values) - ((1 - _a) * _d + _e) ** 2,
            equal=True,
            positive={"P": P},
            zero={"the error has no mean": _d * _e, "its variance": _e**2 - _w * _V / P},
            vectors=(_d, _e),
        ),
    )


def _dasha_contracts(bound: Any) -> tuple[Goal, ...]:
    offered = _y - _a * _d
    left = bound.subs({t.part_gap: _d**2, t.mean_turn: _y**2}) - (1 - _a) ** 2 * _d**2 - _w * offered**2
    return (
        *_dasha_part((1 - _a) ** 2 * t.part_gap + _w * t.part_offer),
        *never_negative("workers and pasts"),
        Goal(
            "contraction",
            left,
            given={
                "a": _a,
                "a (1 + 2 omega) <= 1": 1 - _a * (1 + 2 * _w),
                "omega": _w,
                "||d||^2": _d**2,
                "||y + a d||^2": (_y + _a * _d) ** 2,
            },
            vectors=(_d, _y),
        ),
    )


def _lag_error(bound: Any) -> tuple[Goal, ...]:
    values = {t.mean_turn: _y**2}
    return (
        Goal("who sends", bound.subs(values), given={"zeta": t.trigger, "||y||^2": _y**2}, vectors=(_y,)),
        Goal(
            "who does not", bound.subs(values) - _d**2, given={"trigger": t.trigger * _y**2 - _d**2}, vectors=(_d, _y)
        ),
    )


def of_entries() -> tuple[Goal, ...]:
    """That entries x which become s times their sign leave ||x||^2 - 2 s ||x||_1 + n s^2, entry by entry."""
    x = sp.Symbol("x", nonnegative=True)
    return over_all(
        lambda left, squares, magnitudes, many: left - (squares - 2 * _s * magnitudes + _s**2 * many),
        ((x - _s) ** 2, x**2, x, sp.S.One),
        case="entries: ",
        equal=True,
    )


def _sign_error(bound: Any) -> tuple[Goal, ...]:
    """With the scale s and r, the root of n."""
    r = sp.Symbol("r", positive=True)
    left = norm2**2 - 2 * _s * norm1 + r**2 * _s**2
    at = bound.subs(sp.sqrt(n), r)
    return (
        *of_entries(),
        Goal(
            "error", at * norm2**2 - left, equal=True, positive={"r": r, "norm": norm2},
            zero={"scale": r * _s - norm2},
        ),
    )  # fmt: skip


def _sign_worst(bound: Any) -> tuple[Goal, ...]:
    r = sp.Symbol("r", positive=True)
    error = 2 * (1 - norm1 / (r * norm2))
    total, squares, x = sp.symbols("magnitudes squares x", nonnegative=True)
    more = {"entries before": total**2 - squares, "magnitudes": total, "x": x}
    return (
        Goal("||p||_1^2 >= ||p||^2, one more entry", (total + x) ** 2 - squares - x**2, given=more),
        *_sign_error(2 * (1 - norm1 / (sp.sqrt(n) * norm2))),
        Goal(
            "worst", bound.subs(sp.sqrt(n), r) - error, given={"norms": norm1 - norm2}, positive={"r": r, "norm": norm2}
        ),
    )


def _silent(bound: Any) -> tuple[Goal, ...]:
    """A step: the residual's magnitude, and a scale that is no larger than the largest."""
    e, s = sp.symbols("e_ s_", nonnegative=True)
    given = {"up to here": bound - e, "e": e, "s": s, "s is not above the largest": t.largest_scale - s}
    return (
        Goal("no step", bound, given={"a scale": t.largest_scale}),
        Goal("residual less scale", bound - (e - s), given=given),
        Goal("scale less residual", bound - (s - e), given=given),
    )


def _fused(bound: Any) -> tuple[Goal, ...]:
    """With the message's scale s and r, the root of the layer's entries."""
    r = sp.Symbol("r", positive=True)
    left = norm2**2 - 2 * _s * norm1 + r**2 * _s**2
    zero = {"scale": r * _s - z.scale_ratio * norm2, "flatness": r * norm2 * z.flatness - norm1}
    return (
        *of_entries(),
        Goal("error", bound * norm2**2 - left, equal=True, positive={"r": r, "norm": norm2}, zero=zero),
    )


def _momentum_kept(bound: Any) -> tuple[Goal, ...]:
    """H times the bound is the sum of the H powers."""
    total, sizes = z.local_steps * bound, {"1 - beta": 1 - z.momentum_factor, "H": z.local_steps}
    longer = (z.local_steps + 1) * bound.subs(z.local_steps, z.local_steps + 1)
    step = longer - total - z.momentum_factor ** (z.local_steps + 1)
    return (
        Goal("one step", bound.subs(z.local_steps, 1) - z.momentum_factor, equal=True, positive=sizes),
        Goal("one step more", step, equal=True, positive={**sizes, "H + 1": z.local_steps + 1}),
    )


_ERROR = (
    "`e` is the error of a compressed vector: no mean, so that its product with what is known before is zero in the "
    "mean, and a variance of omega times the vector's squared norm; Rand-K has both, with omega = n/k - 1: all subsets "
    "of k of n entries, entry by entry. Statements given the past also hold in the mean over pasts. "
)
_ALL = "every P, n >= k >= 1, every vector, real arithmetic"

_ERRORS: Mapping[str, Mapping[str, Any]] = {
    "diana.rate": {"diana.variance": _diana_variance, "diana.shift_target": _shift_target},
    "marina.descent": {"marina.error": _marina_error},
    "dasha.descent": {"dasha.error": _dasha_error, "dasha.part_error": _dasha_part},
    "dasha.code_step_alike": {"dasha.error": _dasha_error, "dasha.part_error": _dasha_part},
}
"""Claims about the errors after a step that descents rest on."""


def _on_errors(model: Model) -> Model:
    """A descent with the goals of the claims about errors that it rests on."""
    errors = _ERRORS.get(model.claim.removeprefix("variance_reduced."))
    if errors is None:
        return model

    def goals(bound: Any) -> tuple[Goal, ...]:
        known = (proved_by(name, of(_RHS[f"variance_reduced.{name}"])) for name, of in errors.items())
        return *chain.from_iterable(known), *model.goals(bound)

    return replace(model, goals=goals)


MODELS = by_claim(
    model_of(
        "diana.variance",
        _ERROR + "`total` is the sum of the errors of some workers, whose squares add up; V is the mean of ||g_i - "
        "h_i||^2.",
        _ALL,
        _diana_variance,
    ),
    model_of(
        "diana.unbiased",
        _ERROR + "For any coordinate a server adds the average shift to the average of what is sent, whose mean is "
        "gradients less shifts.",
        _ALL,
        _diana_unbiased,
    ),
    model_of("diana.shift", _ERROR + "`d` is h - g; the shift after is off by (1 - a) d + a e.", _ALL, _shift_equal),
    model_of("diana.shift_contracts", _ERROR + "As variance_reduced.diana.shift.", _ALL, _shift_contracts),
    model_of("diana.shift_least", _ERROR + "As variance_reduced.diana.shift.", _ALL, _shift_least),
    model_of(
        "diana.shift_target",
        _ERROR + "`h` and `g` are shift and gradient less the fixed vector; the mean over the workers is linear.",
        _ALL,
        _shift_target,
    ),
    model_of(
        "diana.rate_sharp",
        _ERROR + "`x` is x - x*, `g` the gradient of f there, D = f - f*, A and sigma the mean squared distances of "
        "gradients and shifts from the workers' gradients at x*, V that of gradients from shifts, which "
        "variance_reduced.diana.shift_target and variance_reduced.diana.variance speak of; rho is the larger rate, "
        "ratio = omega/P. Smooth convex functions have ||grad||^2 <= 2 L D, and over the workers A <= 2 L_max D.",
        "every P, n >= k >= 1, every strongly convex smooth f of convex smooth parts, every shifts, real arithmetic",
        _rate_sharp,
    ),
    model_of(
        "marina.error",
        _ERROR + "`d` is g - grad before, `e` the error of the average of the compressed turns, of mean square V.",
        _ALL,
        _marina_error,
    ),
    model_of("marina.bias", "`d` is g - grad before; what is compressed has no bias.", _ALL, _bias(t.full_probability)),
    model_of(
        "marina.descent_sharp",
        _ERROR + "`g` is the estimate, `h` the gradient of f, so that x+ - x = -gamma g; f+ is `after`, and the mean "
        "squared turn V.",
        "every P, n >= k >= 1, every smooth f of smooth parts, every estimate, real arithmetic",
        _marina_sharp,
    ),
    model_of("dasha.error", _ERROR + "`d` is g - grad before; V is the mean square of what is compressed.", _ALL,
           _dasha_error),
    model_of("dasha.part_error", _ERROR + "`d` is what the part is off by, `y` the turn.", _ALL, _dasha_part),
    model_of("dasha.bias", "`d` is g - grad before; what is compressed has no bias.", _ALL, _bias(_a)),
    model_of(
        "dasha.part_contracts",
        _ERROR + "`d` is what the part is off by, `y` the turn; the mean over the workers is linear.",
        _ALL,
        _dasha_contracts,
    ),
    model_of(
        "lag.error",
        "`d` is g - grad+ and `y` the turn of a worker. A worker that sends has no error; one that does not has "
        "||d||^2 <= zeta ||y||^2. The mean over the workers is linear.",
        "every P and n, every vector, real arithmetic",
        _lag_error,
    ),
    model_of(
        "onebit.error",
        "`s` is the scale and `r` the root of n: r s = ||p||; an entry x leaves x^2 - 2 s |x| + s^2.",
        "every n, every vector but zero, real arithmetic",
        _sign_error,
    ),
    model_of(
        "onebit.worst",
        "`s` is the scale and `r` the root of n: r s = ||p||; an entry x leaves x^2 - 2 s |x| + s^2. ||p||_1 >= ||p||.",
        "every n, every vector but zero, real arithmetic",
        _sign_worst,
    ),
    model_of(
        "onebit.silent_entry",
        "`e_` is the residual's magnitude before a step, and `s_` its scale: after the step it is |e_ - s_|, as the "
        "sign sent is the residual's, or any sign where that is zero. Induction over the steps, from a residual of "
        "zero.",
        "every number of steps without momentum, every gradients of the other entries, real arithmetic",
        _silent,
    ),
    model_of(
        "lamb.fused",
        "`s` is the message's scale and `r` the root of the layer's entries; an entry x leaves x^2 - 2 s |x| + s^2.",
        "every message, every layer of it but zero, real arithmetic",
        _fused,
    ),
    model_of(
        "zeroone.kept",
        "After t steps without gradients the momentum is beta^t times what it was, and what was moved over the sum of "
        "step sizes the mean of beta^1, ..., beta^H. Induction over H.",
        "every number of local steps, every beta below 1, real arithmetic",
        _momentum_kept,
    ),
    *map(_on_errors, DESCENTS),
    *ZEROONE,
    *LAMB_MODELS,
)  # fmt: skip

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "variance_reduced.onebit.silent_entry": {"up to here": "no step"},
    "variance_reduced.zeroone.decay_tenfold": {"up to here": "no average"},
    "variance_reduced.lamb.rise": {
        "before": ("top, at first", "second moment, at first", "threshold, at first"),
        "now": ("top, at first", "second moment, at first", "threshold, at first"),
        "later >= 1": "second moment, at first",
        "r": PART,
        "roots": "a step of the fresh variance",
        "largest": "with epsilon",
    },
    "variance_reduced.lamb.fall": {"before": ("bottom, at first", "threshold, at first")},
}
"""By claim: conditions that change with its bound, and the goals that show them where an induction begins."""

EXTENTS = extents(
    "variance_reduced",
    {
        (): (
            "ef21p.gap onebit.silent_entry onebit.nothing_lost zeroone.kept zeroone.decay_momentum "
            "zeroone.decay_tenfold zeroone.silent_move lamb.frozen_share lamb.nothing_lost lamb.scale_moves "
            "lamb.reconstructed lamb.rise lamb.fall lamb.masked diana.unbiased diana.shift diana.shift_contracts "
            "diana.shift_least diana.shift_target marina.bias dasha.part_error dasha.bias diana.variance marina.error "
            "dasha.error dasha.part_contracts onebit.error onebit.worst lamb.fused lamb.scaled_share clag.error "
            "lamb.equally_flat lamb.at_most_double lamb.leak lamb.step_length diana.rate marina.descent dasha.descent "
            "dasha.code_step_alike ef21p.descent marina.descent_sharp diana.rate_sharp"
        )
    },
    by_definition="lag.error zeroone.step_bytes zeroone.run_bytes lamb.saved",
)
