"""What certificates prove of subtractive dithering, of Kashin's representation, and of rounding with feedback."""

from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import drawn_next, over_all
from commbounds.theory.model import Goal
from commbounds.theory.quantities import n
from commbounds.theory.rotations.models_transform import Goals, length, named, of_length
from commbounds.theory.rotations.representations import clip_rate, clip_rounds, clip_share, frame_length
from commbounds.theory.rotations.roundings import grid_parts, nearest_loss, pivot_sum

_place = sp.Symbol("place", nonnegative=True)
_padding, _rest = sp.symbols("padding rest", nonnegative=True)
_before, _after, _loss, _pivot, _other = sp.symbols("before after loss pivot other", nonnegative=True)
_root = sp.Symbol("root", positive=True)
_half = sp.Symbol("half", nonnegative=True)
_rounded, _fed, _last = sp.symbols("rounded fed last", real=True)

# --- dithering -------------------------------------------------------------------------------------------------------


def _moment(power: int) -> sp.Expr:
    """Mean of a power of the error of a number that is `place` above a whole one, over the offset."""
    u = sp.Symbol("u", real=True)
    border, half = sp.Rational(1, 2) - _place, sp.Rational(1, 2)
    below = sp.integrate((-u - _place) ** power, (u, -half, border))
    return below + sp.integrate((1 - u - _place) ** power, (u, border, half))


def _dither_unbiased(bound: Any) -> tuple[Goal, ...]:
    return (Goal("a rotated entry", bound + _moment(1), equal=True),)


def _dither_variance(bound: Any) -> tuple[Goal, ...]:
    each = length * _moment(2) / length
    more = bound.subs(n, n + 1) - bound
    return (
        Goal("no entry", bound.subs(n, 0), equal=True),
        Goal("one more", more - each, equal=True, positive={"d": length}),
    )


def _dither_all(part: Any) -> Goals:
    """That what is left of the errors of all rotated entries is at most the bound."""

    def goals(bound: Any) -> tuple[Goal, ...]:
        return (Goal("a part of all", of_length(bound) - (length * _moment(2) - part), given={"the others": part}),)

    return goals


# --- Kashin's representation -----------------------------------------------------------------------------------------


def _kashin_level(bound: Any) -> tuple[Goal, ...]:
    at = bound.subs(clip_share, _root**2)
    more = at.subs(clip_rounds, clip_rounds + 1) - at
    positive = {"1 - eta": 1 - clip_rate, "the root of delta": _root}
    return (
        Goal("no round", at.subs(clip_rounds, 0), equal=True, positive=positive),
        *over_all(lambda levels, size: levels - size, sp.symbols("level size"), case="rounds: "),
        Goal("one more", more - clip_rate**clip_rounds / _root, equal=True, positive=positive),
    )


def _kashin_residual(bound: Any) -> tuple[Goal, ...]:
    return (
        Goal("no round", bound.subs(clip_rounds, 0) - 1, equal=True),
        Goal(
            "one more",
            bound.subs(clip_rounds, clip_rounds + 1) - _after,
            given={"a round": clip_rate * _before - _after, "up to here": bound - _before, "eta": clip_rate},
        ),
    )


def _kashin_finite(bound: Any) -> tuple[Goal, ...]:
    """`root` is the root of delta N, and eta^t over it the level."""
    (larger,) = bound.atoms(sp.Max)
    (left,) = (argument for argument in larger.args if argument != 0)
    at = bound.xreplace({larger: left}).subs(clip_share, _root**2 / frame_length)
    left = left.subs(clip_share, _root**2 / frame_length)
    level = clip_rate**clip_rounds / _root
    known = {"up to here": at - _before, "eta": clip_rate, "its power": clip_rate**clip_rounds}
    positive = {"root": _root, "1 - eta": 1 - clip_rate}
    return (
        Goal("no round", at.subs(clip_rounds, 0) - 1, equal=True, positive=positive),
        Goal(
            "one more",
            at.subs(clip_rounds, clip_rounds + 1) - _after,
            given={"a round": clip_rate * (clip_rate * _before - level) - _after, **known},
            positive=positive,
        ),
        Goal(
            "nothing is clipped any more",
            level - clip_rate * _before,
            given={"the next is none": -left.subs(clip_rounds, clip_rounds + 1), **known},
            positive=positive,
        ),
        Goal("nothing is left", bound.xreplace({larger: sp.Integer(0)}), equal=True),
    )


# --- rounding with feedback ------------------------------------------------------------------------------------------


def _ldlq_average(bound: Any) -> tuple[Goal, ...]:
    """Of m = 2 `half` + 1 parts: the squares of -half, ..., half, over m^3."""
    parts = 2 * _half + 1

    def total(half: Any) -> Any:
        return (bound.subs(pivot_sum, 1) * grid_parts**3).subs(grid_parts, 2 * half + 1)

    more = bound.subs(pivot_sum, _before + _pivot) - bound.subs(pivot_sum, _before) - bound.subs(pivot_sum, _pivot)
    return (
        *drawn_next("pivot times square", sp.Symbol("mean_square")),
        Goal("one part", total(sp.Integer(0)), equal=True),
        Goal(
            "two more parts",
            total(_half + 1) - total(_half) - 2 * (_half + 1) ** 2,
            equal=True,
            positive={"parts": parts, "two more": parts + 2},
        ),
        Goal("one more pivot", more, equal=True, positive={"parts": grid_parts}),
    )


def _ldlq_worst(bound: Any) -> tuple[Goal, ...]:
    more = bound.subs(pivot_sum, _before + _pivot) - (_loss + _pivot * _rounded**2)
    return (
        Goal("no pivot", bound.subs(pivot_sum, 0), equal=True),
        Goal(
            "one more pivot",
            more,
            given={
                "up to here": bound.subs(pivot_sum, _before) - _loss,
                "half a unit": sp.Rational(1, 4) - _rounded**2,
                "the pivot": _pivot,
            },
        ),
    )


def _ldlq_pair(bound: Any) -> tuple[Goal, ...]:
    nearest = _pivot * _rounded**2 + _other * _last**2
    fed = _pivot * _fed**2 + _other * _last**2
    return (
        Goal(
            "the first weight",
            bound.subs(nearest_loss, nearest) - fed,
            given={"the nearest of all whole numbers": _rounded**2 - _fed**2, "the pivot": _pivot},
        ),
    )


_OFFSET = (
    "A rotated entry is `place` above a whole number of steps, in [0, 1): its error is -u - place for offsets u below "
    "1/2 - place, and else one more. "
)

FURTHER = (
    named(
        "dithered_hadamard.unbiased",
        _OFFSET + "Rotating back is linear.",
        "every vector, step and pattern of signs, without overload, one offset or one for each",
        _dither_unbiased,
    ),
    named(
        "dithered_hadamard.variance",
        _OFFSET
        + "Errors are independent, with mean zero: rotated back, an entry is the sum of d of them, each over the "
        "root of d.",
        "every vector, step and pattern of signs, without overload, an offset for each",
        _dither_variance,
    ),
    named(
        "dithered_hadamard.one_offset_bound",
        _OFFSET + "Rotating back keeps the squared norm, of which the padding has a part, `padding`.",
        "every vector, step and pattern of signs, without overload, one offset",
        _dither_all(_padding),
    ),
    named(
        "dithered_hadamard.entry",
        _OFFSET + "Rotating back keeps the squared norm, of which all other entries have a part, `rest`.",
        "every vector, step and pattern of signs, without overload, one offset or one for each",
        _dither_all(_rest),
    ),
    named(
        "kashin.level",
        "A round adds at most its level, eta^t times ||x|| over the root of delta N, to a coefficient; in the unit of "
        "||x|| over the root of N, with `root` that of delta.",
        "every vector but zero, frame, number of rounds, rate below one and share",
        _kashin_level,
    ),
    named(
        "kashin.residual",
        "At most delta N coefficients exceed the level, as their squares add up to the squared norm; the image of "
        "what is clipped off is `after`, at most eta times as long, by the uncertainty principle, and the level "
        "shrinks by eta.",
        "every vector but zero, every frame with the uncertainty principle, every number of rounds",
        _kashin_residual,
    ),
    named(
        "kashin.finite",
        "What is clipped off, c, and the level M on its support are coefficients, at most eta `before` long by the "
        "principle: (eta `before`)^2 >= ||c||^2 + 2 M ||c||_1 + M^2 >= (||c|| + M)^2, where anything is clipped; "
        "`after` is at most eta ||c||. Nothing is where eta `before` is at most the level.",
        "every vector but zero, every frame with the uncertainty principle, every number of rounds",
        _kashin_finite,
    ),
    named(
        "ldlq.average",
        "The rounding error of a weight runs through -half/m, ..., half/m, m = 2 half + 1, each equally often, for any "
        "later weights, so that it adds `mean_square` times the pivot: the loss is the sum of pivots times squares.",
        "every L with whole entries, all pivots, every odd m",
        _ldlq_average,
    ),
    named(
        "ldlq.worst",
        "The loss is the sum of pivots times squares of rounding errors, none of which is above one half.",
        "all weights and every positive definite Hessian, without limits",
        _ldlq_worst,
    ),
    named(
        "ldlq.nearest_pair",
        "Both round the last weight to nearest, with the error `last`. Given that, the first has an error `fed`, of "
        "all whole numbers the least, and rounded to nearest without feedback `rounded`, of one of them.",
        "every two weights, every positive definite Hessian, without limits",
        _ldlq_pair,
    ),
)
