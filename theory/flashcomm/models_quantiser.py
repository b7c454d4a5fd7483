"""What certificates about the group quantiser prove: exact arithmetic, stored metadata, and the rounding of floats."""

from collections.abc import Mapping
from typing import Any

import sympy as sp

from commbounds.theory.flashcomm import terms as t
from commbounds.theory.model import Goal, Model, untied
from commbounds.theory.quantities import n

_G = "flashcomm.groupquant."
_N = 2**t.width - 1
_HALF = sp.Rational(1, 2)

# --- exact arithmetic -------------------------------------------------------------------------------------------------

_low, _high, _x, _scale, _code, _part, _read = sp.symbols("low high x scale code part read", real=True)
_ROUNDED = (
    ("rounded down", _code, {"part >= 0": _part, "part <= 1/2": _HALF - _part}),
    ("rounded up", _code + 1, {"part >= 1/2": _part - _HALF, "part <= 1": 1 - _part}),
)
_LEVEL = "An entry lies `part` of a step above level number `code`, and is rounded to the nearer of the two. "


def _nearest(bound: Any, low: Any, scale: Any, positive: Mapping[str, Any]) -> tuple[Goal, ...]:
    """That what is read of the nearer level is within the bound, in steps, above and below."""
    found = []
    for name, chosen, given in _ROUNDED:
        error = (low + chosen * scale - (low + (_code + _part) * scale)) / scale
        found += [
            Goal(f"{name}, {side}", bound - sign * error, given=given, positive=positive)
            for side, sign in (("not above", 1), ("not below", -1))
        ]
    return tuple(found)


def _within(first: Any, last: Any, given: Mapping[str, Any]) -> tuple[Goal, ...]:
    return (
        Goal("no entry below the first level", _x - first, given=given),
        Goal("no entry above the last", last - _x, given=given),
    )


_ENTRY = {"x >= low": _x - _low, "x <= high": _high - _x}


def _error(bound: Any) -> tuple[Goal, ...]:
    scale = (_high - _low) / _N
    return (*_within(_low, _low + _N * scale, _ENTRY), *_nearest(bound, _low, _scale, {"scale": _scale}))


_codes = sp.symbols("code_a code_b", real=True)
HALF_STEPS = (
    *_error(_HALF),
    Goal(
        "what was read is no wider than the entries",
        _high - _low - (_codes[0] - _codes[1]) * _scale,
        given={"the last code": _N - _codes[0], "the first code": _codes[1], "scale": _scale},
        zero={"steps": _N * _scale - (_high - _low)},
    ),
)
"""That an entry is read within half a step, from a level in the group's range: what quantised sums rest on."""


def _ends(bound: Any) -> tuple[Goal, ...]:
    scale, positive = (_high - _low) / _N, {"2^b - 1": _N}
    return (
        Goal("smallest", _low + 0 * scale - _low - bound, equal=True, positive=positive),
        Goal("largest", _low + _N * scale - _high - bound, equal=True, positive=positive),
    )


def _repaired(bound: Any) -> tuple[Goal, ...]:
    given = {**_ENTRY, "zero point rounded down": _low - _read, "scale rounded up": _N * _scale - (_high - _read)}
    return (*_within(_read, _read + _N * _scale, given), *_nearest(bound, _read, _scale, {"scale": _scale}))


def _integer_point(bound: Any) -> tuple[Goal, ...]:
    point, level = sp.Symbol("point", integer=True), _x / _scale
    given = {
        **_ENTRY,
        "point - (-low/s) >= -1/2": point * _scale + _low + _scale / 2,
        "point - (-low/s) <= 1/2": _scale / 2 - (point * _scale + _low),
    }
    zero, positive = {"s (2^b - 1) = high - low": _high - _low - _N * _scale}, {"scale": _scale}
    return (
        Goal("no level below -1/2", level + point + _HALF, given=given, positive=positive),
        Goal("no level above 2^b - 1/2", _N + _HALF - (level + point), given=given, positive=positive, zero=zero),
        *_nearest(bound, 0, _scale, positive),
        _run("every code of every float16", "groupquant.points.float16"),
    )


def _unbiased(bound: Any) -> tuple[Goal, ...]:
    mean = _part * (_code + 1) + (1 - _part) * _code
    return (
        Goal("mean", mean - (_code + _part) - bound, equal=True),
        _run("every code of every float16", "groupquant.stochastic.float16"),
    )


def _variance(bound: Any) -> tuple[Goal, ...]:
    level = _code + _part
    variance = _part * (_code + 1 - level) ** 2 + (1 - _part) * (_code - level) ** 2
    return (Goal("variance", bound - sp.expand(variance), hints=(_part - _HALF,)),)


def _stochastic_error(bound: Any) -> tuple[Goal, ...]:
    given = {"part >= 0": _part, "part <= 1": 1 - _part}
    level = _code + _part
    return (
        Goal("rounded down", bound - (level - _code), given=given),
        Goal("rounded up", bound - (_code + 1 - level), given=given),
    )


# --- stored metadata --------------------------------------------------------------------------------------------------

_far, _wide, _off, _grown = sp.symbols("far wide off grown", real=True)


def _run(name: str, run: str) -> Goal:
    return Goal(name, sp.Integer(0), equal=True, run=run)


def _stored(bound: Any) -> tuple[Goal, ...]:
    at = bound.xreplace({sp.Max(t.offset, t.tiny): _far, sp.Max(t.span, _N * t.tiny): _N * _wide})
    low = _low + _off
    given = {
        **_ENTRY,
        "zero point off by at most u max(|lo|, t)": t.roundoff * _far - _off,
        "zero point off by at least -u max(|lo|, t)": t.roundoff * _far + _off,
        "scale off by at most u max(s, t)": t.roundoff * _wide - _grown,
        "scale off by at least -u max(s, t)": t.roundoff * _wide + _grown,
        "u": t.roundoff,
        "max(s, t) >= 0": _wide,
        "max(|lo|, t) >= 0": _far,
        "scale >= 0": t.step,
    }
    zero = {"stored scale": (t.step - _grown) * _N - (_high - _low)}
    inside = {name: e for name, e in given.items() if name not in _ENTRY}
    return (
        *(
            Goal(f"between two levels, {name}, {side}", at - sign * t.step * (number - _code - _part), given=more)
            for name, number, near in _ROUNDED
            for side, sign in (("not above", 1), ("not below", -1))
            for more in ({**inside, **near, "2^b - 1 >= 0": _N},)
        ),
        Goal("below the first level", at - (low - _x), given={**given, "2^b - 1 >= 0": _N}),
        Goal("above the last level", at - (_x - low - _N * t.step), given={**given, "2^b - 1 >= 0": _N}, zero=zero),
        _run("every float32 to bfloat16", "metadata.bfloat16"),
        _run("every float32 to float16", "metadata.float16"),
    )


# --- floats -----------------------------------------------------------------------------------------------------------

_u = t.own_roundoff
_d1, _d2, _d3, _d4, _d5, _d6 = sp.symbols("d1:7", real=True)
_y, _moved, _turned, _grew, _s, _last = sp.symbols("y moved turned grew s last", real=True)
_SMALL = {"u <= 1/32": 1 - 32 * _u, "u": _u}


def _errs(*errors: Any) -> dict[str, Any]:
    """That relative errors are at most the unit roundoff, which is small."""
    named: dict[str, Any] = {}
    for d in errors:
        named |= {f"{d} <= u": _u - d, f"{d} >= -u": _u + d}
    return named | _SMALL


def _level(reach: Any, known: Mapping[str, Any]) -> tuple[Goal, ...]:
    """How far two roundings move y, between 0 and `reach`."""
    moved = _y * (1 + _d3) * (1 + _d4) - _y
    given = {**known, "y >= 0": _y, "y <= reach": reach - _y, **_errs(_d3, _d4)}
    most = reach * (2 * _u + _u**2)
    return (Goal("level, not above", most - moved, given=given), Goal("level, not below", most + moved, given=given))


def _sum_of_parts(reach: Any, step: Any, last: Any) -> Any:
    """What the parts of an error come to, the last rounding included."""
    return (reach * (2 * _u + _u**2) + step / 2 + _u * last) * (1 + _u) + _u * t.magnitude


def _parts(reach: Any, step: Any, known: Mapping[str, Any]) -> tuple[Goal, ...]:
    """That level, nearest code, product and sum err by no more than that: read - x is (all but x)(1 + d6) + x d6."""
    error = (_moved + _turned + _grew) * (1 + _d6) + _x * _d6
    most = reach * (2 * _u + _u**2)
    given = {
        **known,
        "last level": _last,
        "level moved by at most": most - _moved,
        "level moved by at least": most + _moved,
        "nearest code: at most half a step above": step / 2 - _turned,
        "nearest code: at most half a step below": step / 2 + _turned,
        "product: at most u times the last level above": _u * _last - _grew,
        "product: at most u times the last level below": _u * _last + _grew,
        "x <= max|x|": t.magnitude - _x,
        "x >= -max|x|": t.magnitude + _x,
        **_errs(_d6),
    }
    total = _sum_of_parts(reach, step, _last)
    return (Goal("read, not above", total - error, given=given), Goal("read, not below", total + error, given=given))


def _own_branches(bound: Any) -> tuple[Any, Any]:
    """The bound where R >= N t, and where R <= N t."""
    wide = sp.Max(t.span, _N * t.own_tiny)
    return bound.xreplace({wide: t.span}), bound.xreplace({wide: _N * t.own_tiny})


def _error_rounded(bound: Any) -> tuple[Goal, ...]:
    R, normal, subnormal = t.span, *_own_branches(bound)
    range_ = {"R >= 0": R, **_SMALL}
    many, width = {"2^b >= 4": 2**t.width - 4}, {"2^b - 1": _N}
    scale = {"s >= 0": _s, **many, **range_}
    tiny = {"R <= N t": _N * t.own_tiny - R, "t": t.own_tiny, "N u <= 1/32": 1 - 32 * _N * _u}
    near = {"scale: N s <= R (1 + u) + N u t": R * (1 + _u) + _N * _u * t.own_tiny - _N * _s}
    last = {"clamped: N s >= R (1 - u) - N u t": _N * _s - (R * (1 - _u) - _N * _u * t.own_tiny)}
    least = {"R is at least the smallest number, 2 u t": R - 2 * _u * t.own_tiny}
    two = {t.width: 1}
    clamped = (_u * R + _N * _u * t.own_tiny + _u * _N * _s) * (1 + _u) + _u * t.magnitude
    return (
        *_level(R, {"R >= 0": R}),
        *_parts(R, _s, {"R >= 0": R, "s >= 0": _s}),
        Goal("scale", R * (1 + _u) ** 2 - R * (1 + _d1) * (1 + _d2), given={"R >= 0": R, **_errs(_d1, _d2)}),
        Goal(
            "four levels or more, R >= N t",
            normal - _sum_of_parts(R, _s, _N * _s),
            given={**scale, "scale: N s <= R (1 + u)^2": R * (1 + _u) ** 2 - _N * _s},
            positive=width,
        ),
        Goal(
            "four levels or more, R <= N t",
            subnormal - _sum_of_parts(R, _s, _N * _s),
            given={**scale, **tiny, **near},
            positive=width,
        ),
        Goal("clamped, not below", _u * R + _N * _u * t.own_tiny - (_y - _N * _s), given={**last, "y <= R": R - _y}),
        Goal(
            "four levels or more, clamped",
            subnormal - clamped,
            given={**many, **range_, **tiny, **near, **least, "N^2 u <= 1/32": 1 - 32 * _N**2 * _u},
            positive=width,
        ),
        Goal(
            "scale rounded to 0",
            subnormal - _y,
            given={**range_, "y <= R": R - _y, "R <= N u t": _N * _u * t.own_tiny - R, "max|x| >= 0": t.magnitude},
            positive=width,
        ),
        *(
            Goal(
                f"two levels, {name}",
                at.subs(two) - _sum_of_parts(R, _s, 0),
                given={**range_, "scale: s <= R (1 + u)": R * (1 + _u) - _s, **more},
            )
            for name, at, more in (("R >= t", normal, {}), ("R <= t", subnormal, {"R <= t": t.own_tiny - R}))
        ),
    )


def _ends_rounded(bound: Any) -> tuple[Goal, ...]:
    v, R = sp.Symbol("v", real=True), t.span
    wide = sp.Symbol("wide", real=True)
    at = bound.xreplace({sp.Max(R, _N * t.own_tiny): wide}).subs(_u, v / (1 - v))
    off = R * (1 + _d1) * (1 + _d2) * (1 + _d5) - R
    given: dict[str, Any] = {"R >= 0": R, "v": v, "wide is no smaller than R": wide - R}
    for d in (_d1, _d2, _d5):
        given |= {f"{d} <= v": v - d, f"{d} >= -v": v + d}
    positive = {"1 - v": 1 - v}
    return tuple(
        Goal(f"largest, {side}", at - 2 * sign * off, given=given, positive=positive)
        for side, sign in (("not above", 1), ("not below", -1))
    )


def _repaired_rounded(bound: Any) -> tuple[Goal, ...]:
    known = {"step >= 0": t.step, "2^b >= 2": 2**t.width - 2}
    last = _N * t.step
    reach = last * (1 + _u)
    return (
        *_level(reach, known),
        *_parts(reach, t.step, known),
        Goal("sum", bound - _sum_of_parts(reach, t.step, last), given={**known, **_SMALL}),
    )


def _value_bits(bound: Any) -> tuple[Goal, ...]:
    bits = n * t.width + 2 * t.groups * t.metabits
    return (
        Goal(
            "bits of an entry",
            bound - bits / n,
            equal=True,
            positive={"n": n, "group": t.group},
            zero={"whole groups": t.groups * t.group - n, "sixteen bits": t.metabits - 16},
        ),
    )


_FLOATS = (
    "u is the unit roundoff; an operation multiplies by 1 + d, |d| <= u, where its result is no subnormal number, and "
    "differences, sums and products with whole numbers do so always. "
)
_CHAIN = (
    "y = x - lo; two roundings move its level by `moved`, the code is off by `turned`, the product with the scale by "
    "`grew`, by u times the last level at most; the sum's rounding d6 makes the error (moved + turned + grew)(1 + d6) "
    "+ x d6. "
)

_PAIRS = (
    "the kernel's codes of float16 numbers at scales of float16, at 8 bits (all {} were run when the certificate was "
    "made, a check runs every 1021st scale), "
)

QUANTISER = (
    untied(
        claim=_G + "error",
        words="Levels go from lo to lo + (2^b - 1) s = hi, and no entry lies outside. " + _LEVEL,
        scope="every group of real numbers, every width; exact arithmetic",
        goals=_error,
    ),
    Model(
        claim=_G + "ends",
        words="Codes 0 and 2^b - 1 stand for lo and for lo + (2^b - 1) s.",
        scope="every group of real numbers, every width; exact arithmetic",
        goals=_ends,
    ),
    untied(
        claim=_G + "error_rounded",
        words=_FLOATS + _CHAIN + "N = 2^b - 1; s is the scale. Where R >= N t, R/N is no subnormal number, and "
        "s = (R/N)(1 + d1)(1 + d2). Where R <= N t the quotient may be off by u t instead; then an entry may lie more "
        "than half a step above the last level: it is read there if codes are clamped, and on the nearest step if they "
        "are not. A scale rounded to zero reads all as lo. Two levels: R is not divided, and its product is exact.",
        scope="every group of floats of which neither the range nor what is read overflows, subnormal scales "
        "included, every width b <= 8 and unit roundoff u <= 2^-24",
        goals=_error_rounded,
    ),
    untied(
        claim=_G + "ends_rounded",
        words="u is the unit roundoff; an operation multiplies by 1 + d, |d| <= v = u/(1 + u). The smallest entry is "
        "read as it is. The largest has code 2^b - 1, whose product with the scale is R (1 + d1)(1 + d2)(1 + d5); the "
        "sum is rounded to the nearest number of the dtype, and hi is one: that at most doubles the distance. `wide` "
        "is the larger of R and (2^b - 1) t.",
        scope="every group of floats of which neither the range nor what is read overflows, with a range of at "
        "least (2^b - 1) t, where the scale is no subnormal number, every width b <= 8 and unit roundoff u <= 2^-24",
        goals=_ends_rounded,
    ),
    untied(
        claim=_G + "stored",
        words="The stored zero point is lo + `off`, the stored scale s + `grown`; `far` = max(|lo|, t) and `wide` = "
        "max(s, t), so that (2^b - 1) wide = max(hi - lo, (2^b - 1) t). Rounding v has an error of at most u max(|v|, "
        "t). Between the stored levels: " + _LEVEL + "Below the first an entry is read there, above the last there. "
        "That metadata are rounded to the nearest was run for bfloat16 and float16, on every float32.",
        scope="every group of real numbers, every width and format that rounds to the nearest (bfloat16 and float16 "
        "do: all 2^32 bit patterns of float32 were run when the certificate was made, a check runs every 1021st); "
        "codes and what is read of them in exact arithmetic",
        goals=_stored,
    ),
    untied(
        claim=_G + "repaired",
        words="`read` is the stored zero point, at most lo; the stored scale is at least (hi - read)/(2^b - 1): the "
        "stored levels enclose all entries. " + _LEVEL,
        scope="every group of real numbers, every width and format; codes and what is read of them in exact arithmetic",
        goals=_repaired,
    ),
    untied(
        claim=_G + "repaired_rounded",
        words=_FLOATS + _CHAIN + "lo is the stored zero point, and x - lo is at most N = 2^b - 1 times the stored "
        "scale, or 1 + u times that where the vector's dtype is coarser than the scale's format, which is read in it.",
        scope="every group of floats of which neither the range nor what is read overflows, every width b <= 8 "
        "and format, every unit roundoff u <= 2^-24",
        goals=_repaired_rounded,
    ),
    Model(
        claim=_G + "integer_point",
        words="`point` = round(-lo/s); x/s + point lies between -1/2 and 2^b - 1/2, so clamping changes no code but "
        "that of an entry half-way between two levels, which is then read on its other neighbour. x/s: "
        + _LEVEL
        + " The kernel, at every pair of a finite float16 and a positive finite float16 scale: the code is the integer "
        "nearest to the quotient, halves to even, plus the point, within [0, 255].",
        scope="every group of real numbers, every width; exact arithmetic; "
        + _PAIRS.format("3 * 2^32 codes")
        + "zero points 0, 128 and 255",
        goals=_integer_point,
    ),
    Model(
        claim="flashcomm.spikes.error",
        words="The entries that are no spikes, as a group of their own: `low` and `high` are its ends. Levels go from "
        "lo to lo + (2^b - 1) s = hi, and no entry lies outside. " + _LEVEL,
        scope="every group of real numbers, every width; exact arithmetic",
        goals=_error,
    ),
    Model(
        claim=_G + "value_bits",
        words="The bits of flashcomm.groupquant.wire over n, with n/g groups.",
        scope="every n, width and group that divides n",
        goals=_value_bits,
        checked_by=(_G + "wire",),
    ),
    Model(
        claim="flashcomm.stochastic.unbiased",
        words="An entry lies `part` of a step above level number `code`: it is rounded up with that probability. The "
        "kernel, at every pair of a finite float16 and a positive finite float16 scale: up for every uniform on the "
        "grid of 2^-24 that is below what the quotient has after its point, and for no other; within [0, 255].",
        scope="every group of real numbers, every width; exact arithmetic; "
        + _PAIRS.format("2^32 pairs")
        + "the smallest entry 0",
        goals=_unbiased,
    ),
    Model(
        claim="flashcomm.stochastic.variance",
        words="An entry lies `part` of a step above level number `code`: it is rounded up with that probability. In "
        "steps: the variance over the scale squared.",
        scope="every group of real numbers, every width; exact arithmetic",
        goals=_variance,
    ),
    Model(
        claim="flashcomm.stochastic.error",
        words="An entry lies `part` of a step above level number `code`: it is rounded to this level or to the next.",
        scope="every group of real numbers, every width; exact arithmetic",
        goals=_stochastic_error,
    ),
)
