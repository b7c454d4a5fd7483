"""What certificates about 1-bit LAMB prove."""

from typing import Any

import sympy as sp

from commbounds.theory.feedback.terms import stepsize
from commbounds.theory.finite_laws import at_most_each, over_all, share_of_squares
from commbounds.theory.model import Goal
from commbounds.theory.quantities import P, n, norm1, norm2
from commbounds.theory.variance_reduced import lamb_terms as lt
from commbounds.theory.variance_reduced import terms as t
from commbounds.theory.variance_reduced import zeroone_terms as z
from commbounds.theory.variance_reduced.models_descents import model_of

_s, _x, _y = sp.symbols("s x y", real=True)
_f, _after, _q = sp.symbols("f after q", nonnegative=True)
_theta, _T = lt.lamb_threshold, lt.lamb_steps


def _frozen_share(bound: Any) -> tuple[Goal, ...]:
    """The share after a step, and after one more."""
    b, T = lt.trust_factor, lt.lamb_steps
    more = bound.subs(T, T + 1) - b * bound - (1 - b)
    return (Goal("one step", bound.subs(T, 1) - (1 - b), equal=True), Goal("one step more", more, equal=True))


def _scaled_share(bound: Any) -> tuple[Goal, ...]:
    """With the message's scale s, the root r of the layer's entries, and q^2 = n/m."""
    r, q, m = sp.symbols("r q m", positive=True)
    left = norm2**2 - 2 * _s * norm1 + r**2 * _s**2
    zero = {"scale": r * _s - q * norm2, "flatness": r * norm2 * z.flatness - norm1}
    at = bound.subs({n: q**2 * m, lt.fused_length: m})
    x = sp.Symbol("x", nonnegative=True)
    entries = over_all(
        lambda found, squares, magnitudes, many: found - (squares - 2 * _s * magnitudes + _s**2 * many),
        ((x - _s) ** 2, x**2, x, sp.S.One),
        case="entries: ",
        equal=True,
    )
    return (*entries, Goal("error", at * norm2**2 - left, equal=True, positive={"r": r, "norm": norm2}, zero=zero))


def _equally_flat(bound: Any) -> tuple[Goal, ...]:
    """With Q = sum n_l s_l^2, R = sum n_l s_l, and s the root mean square of all."""
    Q, R = sp.symbols("Q R", nonnegative=True)
    plain = 2 * Q - 2 * _s * z.flatness * R
    N, own = sp.symbols("N own", nonnegative=True)
    layer = N * own**2, N * own, N
    return (
        *over_all(
            lambda error, squares, roots, size: error - (squares - 2 * _s * z.flatness * roots + _s**2 * size),
            (N * (own**2 - 2 * _s * z.flatness * own + _s**2), *layer),
            case="layers' errors: ",
            equal=True,
        ),
        *over_all(
            lambda off, squares, roots, size: off - (squares - 2 * _s * roots + _s**2 * size),
            (N * (own - _s) ** 2, *layer),
            case="layers about one scale: ",
            equal=True,
        ),
        Goal(
            "all layers",
            bound.subs(lt.plain_error, plain) - 2 * (1 - z.flatness) * Q,
            given={"sum n_l (s_l - s)^2": Q - 2 * _s * R + n * _s**2, "phi": z.flatness},
            zero={"scale": n * _s**2 - Q},
        ),
    )


def _at_most_double(bound: Any) -> tuple[Goal, ...]:
    """A layer of N entries with root mean square `own`, mean magnitude a, and the message's scale s."""
    N, own, a = sp.symbols("N own a", nonnegative=True)
    plain = N * (own**2 - 2 * _s * a + _s**2)
    return (
        *share_of_squares("layers"),
        Goal(
            "a layer",
            bound.subs(lt.plain_error, plain) - 2 * N * own * (own - a),
            given={
                "entries": N,
                "means": own - a,
                "the least flat": a - z.flatness * own,
                "square": N * (_s - a) ** 2,
                "product": N * (own - a) * (a - z.flatness * own),
            },
            positive={"1 + phi": 1 + z.flatness},
        ),
    )


def _reconstructed(bound: Any) -> tuple[Goal, ...]:
    """Of an entry before, x, and after, y."""
    beta = z.momentum_factor
    given = {
        "beta": beta, "x at most": lt.size_before - _x, "x at least": lt.size_before + _x,
        "y at most": lt.size_after - _y, "y at least": lt.size_after + _y,
    }  # fmt: skip
    sizes, rebuilt = {"1 - beta": 1 - beta}, (_y - beta * _x) / (1 - beta)
    return (
        Goal("from above", bound - rebuilt, given=given, positive=sizes),
        Goal("from below", bound + rebuilt, given=given, positive=sizes),
    )


def _saved(bound: Any) -> tuple[Goal, ...]:
    """Of the bytes of a step with either stage."""
    T, warm, w, m = lt.lamb_steps, lt.lamb_warm, t.scalebytes, lt.fused_length
    plain, signs = 2 * (P - 1) * n * w / P, 2 * (P - 1) * (m / (8 * P) + w)
    later = sp.Symbol("later", nonnegative=True)
    sent = warm * plain + later * signs
    return (
        Goal(
            "bytes",
            bound.subs(T, warm + later) * sent - (warm + later) * plain,
            equal=True,
            positive={"P": P, "bytes": 8 * w * n * warm + later * (m + 8 * w * P)},
        ),
    )


_u, _plain, _g, _e, _left, _first = sp.symbols("u plain g e left first", real=True)


def _changes(f: Any, more: Any) -> tuple[Any, Any]:
    """By how much a step changes what nothing_lost says is zero, and A; factors f before it and `more` in it.

    Of an entry: momentum u and uncompressed one `plain` before the step, gradient g, errors `first`, e and `left` at
    first, before and after.
    """
    beta = z.momentum_factor
    new, rest = beta * _u + (1 - beta) * _g + _e - _left, beta * _plain + (1 - beta) * _g
    so_far = (_first - _e - beta * (_u - _plain)) / (1 - beta)
    now = (_first - _left - beta * (new - rest)) / (1 - beta)
    return -more * new + more * rest + more * now - f * so_far, so_far


def _nothing_lost(bound: Any) -> tuple[Goal, ...]:
    """One step more, with the same factor."""
    changed, _ = _changes(_f, _f)
    return (Goal("one step more", changed - bound, equal=True, positive={"1 - beta": 1 - z.momentum_factor}),)


def _leak(bound: Any) -> tuple[Goal, ...]:
    """One step more, with a factor that may change by theta of it; `a` is the magnitude of A."""
    A, a = sp.Symbol("A", real=True), sp.Symbol("a", nonnegative=True)
    changed, so_far = _changes(_f, _after)
    given = {
        "not above": _theta * _f - (_after - _f), "not below": _theta * _f + (_after - _f), "a": a - A, "-a": a + A,
    }  # fmt: skip
    step = bound.subs(lt.carried_errors, _f * a)
    return (
        *over_all(lambda carried, moved: _theta * carried - moved, sp.symbols("carried moved"), case="steps: "),
        Goal("changes", changed - (_after - _f) * so_far, equal=True, positive={"1 - beta": 1 - z.momentum_factor}),
        Goal("from above", step - (_after - _f) * A, given=given),
        Goal("from below", step + (_after - _f) * A, given=given),
    )


def _is_square(e: Any) -> bool:
    return bool(e.is_Pow and e.exp == 2 and isinstance(e.base, sp.Abs))


def _scale_moves(bound: Any) -> tuple[Goal, ...]:
    """Of an entry: what was left out, e, at the coefficient c, and is sent at kappa c."""
    c, size = sp.Symbol("c", positive=True), sp.Symbol("size", nonnegative=True)
    leak = (_e - _left) / (lt.rescaled * c) - _e / c + _left / (lt.rescaled * c)
    return (
        Goal(
            "squares",
            (bound.subs(lt.left_behind, size) ** 2).replace(_is_square, lambda e: e.base.args[0] ** 2) - leak**2,
            equal=True,
            positive={"c": c, "kappa": lt.rescaled},
            zero={"size": size**2 * c**2 - _e**2},
        ),
    )


def _rise(bound: Any) -> tuple[Goal, ...]:
    """With q^2 = 1/beta_2, the factor f before a step, and roots a of the frozen and b of the fresh variance."""
    a, b, epsilon, largest, share, r = sp.symbols("a b epsilon largest share r", nonnegative=True)
    q = sp.Symbol("q", positive=True)
    goals = []
    for arg in bound.args:
        now = arg.subs(lt.second_factor, q**-2)
        later = now.subs(_T, _T + 1)
        name = "second moment" if now.has(q) else "threshold" if now.has(_theta) else "top"
        known = {"before": now - _f, "f": _f, "theta": _theta, "q >= 1": q - 1, "now": now}
        known |= {"inside": lt.factor_most - 1}
        goals.append(Goal(f"{name}, at first", now.subs(_T, 0) - 1, given={"inside": lt.factor_most - 1}))
        goals.append(Goal(f"{name}, lowered by theta", later - (1 - _theta) * _f, given=known))
        if name == "top":
            known["cut"] = lt.factor_most - _after
        elif name == "threshold":
            known["followed"] = (1 + _theta) * _f - _after
        else:
            up = {"later >= 1": later - 1}
            goals += [
                Goal(
                    "a step of the fresh variance",
                    later**2 * (q**-2 * b**2 + (1 - q**-2) * r**2) - a**2,
                    given={"before": now**2 * b**2 - a**2, "r": now**2 * r**2 * (q**2 - 1)},
                    positive={"q": q},
                ),
                Goal(
                    "with epsilon",
                    later * (b + epsilon) - (a + epsilon),
                    given={"roots": later * b - a, "epsilon": epsilon, **up},
                ),
                Goal(
                    "mixed with one",
                    later - largest * share - (1 - share),
                    given={"largest": later - largest, "share": share, "1 - share": 1 - share, **up},
                ),
                Goal("cut from below", later - lt.factor_least, given={"inside": 1 - lt.factor_least, **up}),
            ]
            continue
        goals.append(Goal(f"{name}, otherwise", later - _after, given=known))
    return tuple(goals)


def _fall(bound: Any) -> tuple[Goal, ...]:
    """With the factor f before a step, and what is `cut` to the bounds: after it that, or what theta lets it be."""
    goals, cut = [], sp.Symbol("cut", nonnegative=True)
    low, high = (1 - _theta) * _f, (1 + _theta) * _f
    for arg in bound.args:
        later, name = arg.subs(_T, _T + 1), "threshold" if arg.has(_theta) else "bottom"
        known = {"before": _f - arg, "theta": _theta, "1 - theta": 1 - _theta, "f": _f}
        known["cut from below"] = cut - lt.factor_least
        goals.append(Goal(f"{name}, at first", 1 - arg.subs(_T, 0), given={"inside": 1 - lt.factor_least}))
        goals += [
            Goal(f"{name}, as cut", cut - later, given={**known, "no lower than theta lets it": cut - low}),
            Goal(f"{name}, lowered by theta", low - later, given={**known, "the cut is lower": low - cut}),
            Goal(f"{name}, raised by theta", high - later, given=known),
        ]
    return tuple(goals)


def _masked(bound: Any) -> tuple[Goal, ...]:
    """With the largest ratio, at least one; `share` of it is mixed with one."""
    largest, share = sp.symbols("largest share", nonnegative=True)
    one = {"largest": largest - 1, "share": share, "top": lt.factor_most - 1, "before": _f - 1, "theta": _theta}
    return (
        Goal("mixed with one", largest * share + 1 - share - bound, given=one),
        Goal("cut to the top", lt.factor_most - bound, given=one),
        Goal("held back by theta", (1 + _theta) * _f - bound, given={**one, "f": _f}),
    )


def _step_length(bound: Any) -> tuple[Goal, ...]:
    """Of an entry: its momentum's magnitude y, and the root of its variance."""
    y, root = sp.symbols("y root", nonnegative=True)
    one = bound.subs(lt.layer_size, 1)
    length = stepsize * lt.frozen_trust * lt.lamb_factor
    given = {
        "root": root - lt.least_root, "size": lt.size_after - y, "y": y, "c": lt.frozen_trust, "f": lt.lamb_factor
    }  # fmt: skip
    sizes = {"least root": lt.least_root, "its root": root, "gamma": stepsize}
    most, total = sp.symbols("most total", nonnegative=True)
    return (
        *at_most_each("entries", most, lt.layer_size, total),
        Goal("an entry", one - length * y / root, given=given, positive=sizes),
        Goal("all entries", bound**2 - lt.layer_size * one**2, equal=True, positive={"least root": lt.least_root}),
    )


LAMB_MODELS = (
    model_of(
        "lamb.frozen_share",
        "The average of coefficients that are all the same, over that one: it begins with zero, and a step keeps b of "
        "it and adds 1 - b. Induction over the steps.",
        "every number of steps, every b, real arithmetic",
        _frozen_share,
    ),
    model_of(
        "lamb.scaled_share",
        "`s` is the message's scale over the layer's coefficient, and `r` the root of the layer's entries; layers have "
        "one root mean square when they are fused, the padding is zero, so that the message's is q = sqrt(n/m) times "
        "it. An entry x leaves x^2 - 2 s |x| + s^2.",
        "every number and sizes of layers, every padding, every layer but zero, real arithmetic",
        _scaled_share,
    ),
    model_of(
        "lamb.equally_flat",
        "`Q` and `R` are sums over the layers of their entries times the squares of their root mean squares s_l, and "
        "times those; `s` is the root mean square of all. Unscaled, signs leave sum n_l (s_l^2 - 2 s phi s_l + s^2) = "
        "2 Q - 2 s phi R, and at one scale sum n_l 2 (1 - phi) s_l^2.",
        "every number and sizes of layers that are equally flat, real arithmetic",
        _equally_flat,
    ),
    model_of(
        "lamb.at_most_double",
        "`N` are a layer's entries, `own` is their root mean square, `a` their mean magnitude and `s` the scale of the "
        "unscaled message; phi times `own` is at most `a`. Both sides are sums over the layers.",
        "every number and sizes of layers, every message, real arithmetic",
        _at_most_double,
    ),
    model_of(
        "lamb.reconstructed",
        "`x` and `y` are an entry of the momentum before and after a step, and what is reconstructed (y - beta x)/(1 - "
        "beta).",
        "every momentum, every beta below 1, real arithmetic",
        _reconstructed,
    ),
    model_of(
        "lamb.saved",
        "`later` are the steps of the compression stage; a step of the warm-up sends 2 (P - 1) n w/P bytes, and a "
        "later one those of variance_reduced.lamb.bytes.",
        "every P >= 2 that divides n, every padding and warm-up, some step",
        _saved,
    ),
    model_of(
        "lamb.nothing_lost",
        "One entry, in the unit in which the weights move, errors over the layer's coefficient: `u` and `plain` are "
        "compressed and uncompressed momentum before a step, `g` the mean gradient, `first`, `e` and `left` the errors "
        "at first, before and after it: u+ = beta u + (1 - beta) g + e - left. What is said to be zero is zero at "
        "first, and a step does not change it.",
        "every P, n, layers and coefficients, every number of steps, every gradients and errors, real arithmetic",
        _nothing_lost,
    ),
    model_of(
        "lamb.leak",
        "As variance_reduced.lamb.nothing_lost, with factors `f` before the step and `after` in it, which are theta f "
        "apart at most: the step changes what is said to be zero by (after - f) A. `a` is the magnitude of A, and the "
        "sum over steps of f a what is carried.",
        "every P, n, layers and coefficients, every number of steps, every gradients and errors, real arithmetic",
        _leak,
    ),
    model_of(
        "lamb.scale_moves",
        "One entry: `e` was left out of a message with coefficient c, and `left` is with kappa c, so that the momentum "
        "takes in (e - left)/(kappa c). `size` is the magnitude of e/c, the largest of which bounds all.",
        "every P, n and layers, every errors, every kappa, real arithmetic",
        _scale_moves,
    ),
    model_of(
        "lamb.rise",
        "Induction over the steps, for each part of the least: `f` is the factor before a step, and q = "
        "1/sqrt(beta_2). After it the factor is (1 - theta) f, or at most (1 + theta) f and at most what is cut to the "
        "bounds: the largest ratio of roots, mixed with one. `a` and `b` are the roots of frozen and fresh variance of "
        "an entry, r its reconstructed gradient.",
        "every layer, every number of steps, every reconstructed gradients, with and without decay, real arithmetic",
        _rise,
    ),
    model_of(
        "lamb.fall",
        "Induction over the steps, for each part of the most: `f` is the factor before a step, `cut` what is cut to "
        "the bounds. After it the factor is that, but not below (1 - theta) f, nor above (1 + theta) f: three cases.",
        "every layer, every number of steps, every reconstructed gradients, real arithmetic",
        _fall,
    ),
    model_of(
        "lamb.masked",
        "Induction over the steps: `f` is the factor before a step, `largest` the largest ratio of the layer's "
        "entries, among which one is epsilon over epsilon. The factor after it is one of three, or above it: the "
        "mixed ratio, its upper bound, and (1 + theta) f.",
        "every layer of which an entry is masked, every number of steps, real arithmetic",
        _masked,
    ),
    model_of(
        "lamb.step_length",
        "One entry: `y` is its momentum's magnitude, and `root` that of its variance, epsilon added. A layer has as "
        "many as its size, and the square of its norm is the sum of theirs.",
        "every layer, every momentum and variance, real arithmetic",
        _step_length,
    ),
)  # fmt: skip
