"""What certificates about rounding to powers prove."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import Draws, mean, over_entries
from commbounds.theory.model import Goal, Model, cases
from commbounds.theory.quantities import b, index_bits, itembits, n, s
from commbounds.theory.quantizers.models_dithering import UNBIASED, shrunk, shrunk_model, unbiased, unbiased_model
from commbounds.theory.quantizers.models_signs import other_sign
from commbounds.theory.quantizers.powers import BASE_OMEGA, NATURAL_DITHERING_OMEGA, NATURAL_OMEGA

_t = sp.Symbol("t", positive=True)
_w, _U = sp.symbols("w U", positive=True)
_y, _v, _up, _low, _high = sp.symbols("y v up low high", nonnegative=True)
_LARGE = sp.Ge(n, sp.Rational(81, 64) * 4**s)
_OCTAVE = {"t - 1": _t - 1, "2 - t": 2 - _t}


def _all(bound: Any, square: Any, draws: Draws) -> tuple[Goal, ...]:
    """The claim for all entries, from that for one, t times a power `low`."""
    entries, squares = sp.symbols("n squares", nonnegative=True)

    def statement(_: Any, squares: Any, error: Any) -> Any:
        return bound * squares - error

    return over_entries(statement, square, draws, (entries, squares), lambda error: bound * squares - error)


def _variance(base: Any, hint: Any, positive: Any) -> Callable[[Any], tuple[Goal, ...]]:
    def goals(bound: Any) -> tuple[Goal, ...]:
        given = {"t - 1": _t - 1, "base - t": base - _t}
        up = (_t - 1) / (base - 1)
        draws = (1 - up, (1 - _t) ** 2), (up, (base - _t) ** 2)
        show, known = bound * _t**2 - mean(draws), {**positive, "base - 1": base - 1}
        whole = _all(bound, (_low * _t) ** 2, [(chance, _low**2 * error) for chance, error in draws])
        of_power = {"over the power's square": bound * _t**2 - mean(draws)}
        scaled = _low**2 * show
        return (
            Goal("entry", show, given=given, positive=known, hints=(hint,)),
            Goal("times its power", scaled, given=of_power, positive=known, hints=(_low,)),
            *(replace(goal, positive={**goal.positive, **known}) for goal in whole),
        )

    return goals


def _nearest(bound: Any) -> tuple[Goal, ...]:
    error = sp.Symbol("off", nonnegative=True)
    return (
        Goal("down", bound * _t**2 - (_t - 1) ** 2, given={"t - 1": _t - 1, "3/2 - t": sp.Rational(3, 2) - _t}),
        Goal("up", bound * _t**2 - (2 - _t) ** 2, given={"t - 3/2": _t - sp.Rational(3, 2), "2 - t": 2 - _t}),
        Goal(
            "times its power",
            bound * (_low * _t) ** 2 - _low**2 * error,
            given={"over the power's square": bound * _t**2 - error},
            hints=(_low,),
        ),
        *_all(bound, (_low * _t) ** 2, ((1, _low**2 * error),)),
    )


def _bits(bound: Any) -> tuple[Goal, ...]:
    return tuple(
        Goal(f"float{size}", bound.subs(itembits, size) - n * index_bits(2 * (2**width - 2) + 1), equal=True)
        for size, width in ((32, 8), (64, 11))
    )


def _of_roots(bound: Any) -> Any:
    """The bound in w = sqrt(n) and U = 2^s."""

    def power(base: Any, exponent: Any) -> Any:
        constant, slope = (sp.expand(exponent).coeff(s, i) for i in (0, 1))
        twos = sp.log(base, 2)
        return 2 ** (twos * constant) * _U ** (twos * slope)

    return bound.replace(lambda e: e.is_Pow and e.base in (2, 4) and e.exp.has(s), lambda e: power(e.base, e.exp)).subs(
        n, _w**2
    )


def _dithering_cases(bound: Any) -> tuple[tuple[str, Any, dict[str, Any]], ...]:
    large, small = cases(bound, _LARGE)
    return ("64 n >= 81 4^s", _of_roots(large), {"8 w - 9 U": 8 * _w - 9 * _U}), ("64 n < 81 4^s", _of_roots(small), {})


def _per_entry(name: str, bound: Any, multiplier: Any, known: Any, hint: Any) -> tuple[Goal, ...]:
    """The inequality for an entry below the smallest level 2/U, for one t times a level v, and for all entries."""
    positive, least = {"w": _w, "U": _U}, 2 / _U

    def statement(entries: Any, squares: Any, error: Any) -> Any:
        return (bound - multiplier) / _w**2 * entries + multiplier * squares - error

    up = _y / least
    below = (1 - up, _y**2), (up, (least - _y) ** 2)
    above = (2 - _t, (_v - _v * _t) ** 2), (_t - 1, (2 * _v - _v * _t) ** 2)
    first, second = _v * (3 * _t - 4), _v * _t
    return (
        Goal(
            f"{name}, below",
            statement(1, _y**2, mean(below)),
            given={**known, "y": _y, "2 - U y": 2 - _U * _y},
            positive=positive,
            hints=(hint, _y),
        ),
        Goal(
            f"{name}, above",
            statement(1, (_v * _t) ** 2, mean(above)),
            given={**known, **_OCTAVE},
            positive=positive,
            hints=(first, second),
        ),
        *over_entries(
            statement,
            _y**2,
            ((1 - _up, _low), (_up, _high)),
            (_w**2, sp.S.One),
            lambda error: bound - error,
            f"{name}, ",
            positive,
        ),
    )


def _dithering(bound: Any) -> tuple[Goal, ...]:
    (large, of_large, known), (small, of_small, _) = _dithering_cases(bound)
    return (
        *_per_entry(large, of_large, _w / _U - 1, known, _w * _y - 1),
        *_per_entry(small, of_small, sp.Rational(1, 8), {}, 9 * _U * _y - 8),
    )


def _dithering_printed(bound: Any) -> tuple[Goal, ...]:
    goals: list[Goal] = []
    least = next(iter(bound.atoms(sp.Min)), None)
    for i, branch in enumerate(least.args if least is not None else (None,)):
        of_branch = _of_roots(bound if branch is None else bound.xreplace({least: branch}))
        multiplier = sp.Rational(1, 8) + (_w / _U if branch == 1 else 0)
        goals += _per_entry(f"branch {i + 1}", of_branch, multiplier, {}, _w * _y - 1)
    return tuple(goals)


def _dithering_shrunk(bound: Any) -> tuple[Goal, ...]:
    omegas = cases(NATURAL_DITHERING_OMEGA, _LARGE)
    return tuple(
        shrunk(least, _of_roots(omega), {"w": _w, "U": _U, "81 U^2 + 64 n": 81 * _U**2 + 64 * _w**2}, name)
        for (name, least, _), omega in zip(_dithering_cases(bound), omegas, strict=True)
    )


def _run(name: str, bound: Any = sp.S.Zero) -> Goal:
    return Goal("every float32", bound, equal=True, run=f"{name}.float32")


_power, _place, _other, _factor = sp.symbols("power place other factor", positive=True)
_WHOLE = {"a power": _power * (1 + _place) - _power}
_MULTIPLE = {"the multiple": _factor * (_power * (1 + _place)) - _factor * _power * (1 + _other)}
_A_POWER = Goal("place of a power", _power * _place, equal=True, zero=_WHOLE)
_PLACES = {
    "sign_symmetry": (other_sign(),),
    "fixed_points": (_A_POWER,),
    "idempotence": (_A_POWER,),
    "scale_equivariance": (
        Goal("place of a multiple", _factor * _power * (_other - _place), equal=True, zero=_MULTIPLE),
    ),
}
"""Of a number that is 1 + `place` times a power of two: what the definition, which the kernel is, goes by."""


def _kernel(name: str, statement: str, bound: Any) -> tuple[Goal, ...]:
    return _run(name, bound), *_PLACES.get(statement, ())


_KERNEL = (
    "the kernel on every finite float32 (all 2^32 bit patterns were run when the certificate was made, a check runs "
    "every 1021st)"
)
_NATURAL = (
    "The kernel, on every finite float32 2^e (1 + m/2^23): with the sign of x, 2^(e+1) for every uniform below m/2^23 "
    "(a multiple of the uniforms' grid), else 2^e; 2^127 where that is the largest; subnormal ones lie m/2^23 of the "
    "way from 0 to 2^-126. "
)
_NEAREST = (
    "The kernel, on every finite float32 2^e (1 + m/2^23): with the sign of x, 2^(e+1) if m/2^23 > 1/2, else 2^e; "
    "2^127 where that is the largest; subnormal ones lie m/2^23 of the way from 0 to 2^-126. "
)
_THREE = (
    "The kernel, on every finite float32 x: with the sign of x, from the largest level that |x| is not below (levels "
    "are 0 and the normal powers of 3, rounded to 24 bits) to the next for every uniform on the grid of 2^-24 that is "
    "below the share of the way to it; the largest level for entries above it. "
)
_OF_THE_DEFINITION = {
    "fixed_points": "For a power of two `place` = m/2^23 is 0, and it stays.",
    "sign_symmetry": "Only the sign of the output depends on the sign of x.",
    "scale_equivariance": "A power of two as a factor multiplies 2^e, and leaves the `place` m/2^23: where x and its "
    "multiple are normal and at most 2^127, the outcomes are multiplied and their probabilities stay.",
    "idempotence": "For an outcome, zero or a power of two, m = 0, and it stays.",
}
_EVERY_POWER = (
    "So it is with the power `low` as a factor. Induction on the entries: an outcome of those before is followed by "
    "every one of the next, with the product of the chances; `outcomes` is the sum of all chances. "
)
_NORMAL = "every n >= 1, every x in R^n but zero, of entries that are 0 or between the smallest and the largest power"
_REAL = "every x in R^n but zero, every n >= 1 and s >= 1, in real arithmetic"
_BOTH_LEVELS = (
    "w is the root of n, U = 2^s, 2/U the smallest level. Entries y = |x|/||x||, whose squares sum to 1. One below "
    "the smallest level has variance y (2/U - y); one of t times a level v, 1 <= t <= 2, has v^2 (t - 1) (2 - t). For "
    "every entry (bound - L)/n + L y^2 - variance >= 0. Induction on the entries: an outcome of those before is "
    "followed by both of the next, of chances 1 - up and up and squared errors `low` and `high`; `outcomes` is the sum "
    "of all chances, `error` that of chance times error. So the bound is at least the relative error. "
)

POWERS = (
    Model(
        claim="quantizers.naturalcompression.unbiased",
        words=UNBIASED + _NATURAL,
        scope=f"every real x_i between two neighbouring powers of two; {_KERNEL} of at most 2^127",
        goals=lambda bound: (*unbiased(bound), _run("naturalcompression")),
    ),
    Model(
        claim="quantizers.naturalcompression.variance",
        words="An entry, t times a power of two with 1 <= t <= 2, becomes 1 or 2 times it with mean t: variance "
        "(t - 1) (2 - t), in the square of that power, against `bound` t^2. " + _EVERY_POWER + _NATURAL,
        scope=f"{_NORMAL}; {_KERNEL}",
        goals=lambda bound: (*_variance(2, 3 * _t - 4, {})(bound), _run("naturalcompression")),
    ),
    *(
        Model(
            claim=f"quantizers.{name}.{statement}",
            words=words + why,
            scope=f"{_KERNEL}",
            goals=partial(_kernel, name, statement),
        )
        for name, words in (("naturalcompression", _NATURAL), ("nearestpower", _NEAREST))
        for statement, why in _OF_THE_DEFINITION.items()
        if (name, statement) != ("nearestpower", "fixed_points")
    ),
    shrunk_model(
        "naturalcompression",
        "omega = 1/8.",
        _NORMAL,
        lambda bound: (shrunk(bound, NATURAL_OMEGA, {}),),
        lambda: _variance(2, 3 * _t - 4, {})(NATURAL_OMEGA),
    ),
    unbiased_model("naturaldithering", "every x in R^n, every n >= 1 and s >= 1, in real arithmetic"),
    Model(
        claim="quantizers.naturaldithering.variance",
        words=_BOTH_LEVELS + "Where 64 n >= 81 4^s, L = w/U - 1 >= 1/8; else L = 1/8.",
        scope=_REAL,
        goals=_dithering,
    ),
    Model(
        claim="quantizers.naturaldithering.variance_printed",
        words=_BOTH_LEVELS + "For each branch of the Min: L = 1/8 + w/U for the branch 1, else 1/8.",
        scope=_REAL,
        goals=_dithering_printed,
    ),
    shrunk_model(
        "naturaldithering",
        "w is the root of n, U = 2^s; either case of omega.",
        _REAL,
        _dithering_shrunk,
        lambda: _dithering(NATURAL_DITHERING_OMEGA),
    ),
    unbiased_model("stochasticpower", "every real x_i between two neighbouring powers of b"),
    *(
        Model(
            claim=f"quantizers.stochasticpower.{statement}",
            words=_THREE + why,
            scope=f"b = 3: {_KERNEL}",
            goals=partial(_kernel, "stochasticpower", statement),
        )
        for statement, why in (
            ("sign_symmetry", "Only the sign of the output depends on the sign of x."),
            ("idempotence", "An outcome is zero or a level: it lies at no distance above it, and stays."),
        )
    ),
    Model(
        claim="quantizers.stochasticpower.variance",
        words="An entry, t times a power of b with 1 <= t <= b, becomes 1 or b times it with mean t: variance "
        "(t - 1) (b - t), in the square of that power, against `bound` t^2. " + _EVERY_POWER,
        scope=_NORMAL + " of b, every b > 1, in real arithmetic",
        goals=_variance(b, (b + 1) * _t - 2 * b, {"b": b}),
    ),
    shrunk_model(
        "stochasticpower",
        "omega = (b - 1)^2/(4 b), so that 1 + omega = (b + 1)^2/(4 b).",
        _NORMAL + " of b, every b > 1, in real arithmetic",
        lambda bound: (shrunk(bound, BASE_OMEGA, {"b": b, "b + 1": b + 1}),),
        lambda: _variance(b, (b + 1) * _t - 2 * b, {"b": b})(BASE_OMEGA),
    ),
    Model(
        claim="quantizers.nearestpower.contraction",
        words="An entry, t times a power of two with 1 <= t <= 2, becomes 1 times it where t <= 3/2, else 2 times it: "
        "the squared error, in the square of that power, against `bound` t^2. " + _EVERY_POWER + _NEAREST,
        scope=f"{_NORMAL}; {_KERNEL}",
        goals=lambda bound: (*_nearest(bound), _run("nearestpower")),
    ),
    *(
        Model(
            claim=f"quantizers.{name}.wire",
            words="A float with w exponent bits has 2^w - 2 normal powers of two (w = 8 in float32, 11 in float64), "
            "each with two signs, and zero; an entry is one of them.",
            scope="every n, float32 and float64",
            goals=_bits,
        )
        for name in ("naturalcompression", "nearestpower")
    ),
)
