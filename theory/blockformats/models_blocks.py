"""What certificates prove of a block: errors of entries that share a scale, stochastic rounding, sizes."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import sympy as sp

from commbounds.theory.blockformats.terms import ENTRIES_OF_BLOCK, element_unit, elementbits, overshoot
from commbounds.theory.finite_laws import kept_products, over_all
from commbounds.theory.model import Goal, Model, in_range
from commbounds.theory.quantities import block, n, norm2

_top, _a, _off, _others = sp.symbols("top a off others", nonnegative=True)
_share, _entries = sp.symbols("share B", positive=True)
_ratio, _scale, _inner = sp.symbols("ratio scale inner", positive=True)
_low, _high, _value = sp.symbols("low high value", real=True)
_blocks = sp.Symbol("blocks", nonnegative=True)

Goals = Callable[[Any], tuple[Goal, ...]]

E2M1 = tuple(map(sp.Rational, ("0", "1/2", "1", "3/2", "2", "3", "4", "6")))
"""The magnitudes of E2M1."""
_ENDS = (sp.Integer(0), *((a + b) / 2 for a, b in pairwise(E2M1)))
"""Where they begin to be the nearest."""


def named(name: str, words: str, scope: str, goals: Goals) -> Model:
    """The model of a claim of the column, tied to the claim's own cases and to tests."""
    claim = f"blockformats.{name}"
    return Model(claim, words, scope, goals)


def _nearest(low: Any, high: Any) -> Iterator[tuple[Any, Any, Any]]:
    """The elements that are nearest to numbers from `low` to `high`, each with the ends of the interval where it is."""
    for element, begin, end in zip(E2M1, _ENDS, (*_ENDS[1:], high), strict=True):
        if max(begin, low) < min(end, high):
            yield element, max(begin, low), min(end, high)


# --- a block's largest entry -----------------------------------------------------------------------------------------

_ROOM = {"2 - overshoot": 2 - overshoot, "overshoot": overshoot}
_BEYOND = {"below the next power": 2 - _top, "above the largest element": _top - 2 + overshoot}


def _clipped(bound: Any) -> Goal:
    return Goal("clipped", bound - (1 - (2 - overshoot) / _top), given={**_ROOM, **_BEYOND}, positive={"top": _top})


def _maximum(bound: Any) -> tuple[Goal, ...]:
    given = {
        "off by half a gap": element_unit - _off,
        "top >= 1": _top - 1,
        "unit roundoff": overshoot / 2 - element_unit,
        "overshoot": overshoot,
    }
    return _clipped(bound), Goal("rounded", bound * _top - _off, given=given)


def _of_quotient(bound: Any) -> tuple[Goal, ...]:
    """Maximum over largest element, in units of the scale: `ratio`."""
    beyond = {"3/2": sp.Rational(3, 2) - _ratio, "1": _ratio - 1}
    power, gap = sp.symbols("power gap", nonnegative=True)
    within = {
        "3/4": _ratio - sp.Rational(3, 4),
        "the power of two below it": _ratio - power,
        "one digit or more: half of the power": power / 2 - gap,
        "half a gap": gap / 2 - _off,
    }
    half, at = sp.Rational(1, 2), (_ratio - 1) ** 2
    return (
        Goal("at most 3/2", 3 - 2 * _ratio, given={"no farther than from 2": (_ratio - 2) ** 2 - at}),
        Goal("at least 3/4", _ratio - sp.Rational(3, 4), given={"no farther than from 1/2": (_ratio - half) ** 2 - at}),
        Goal("clipped", bound * _ratio - (_ratio - 1), given=beyond),
        Goal("rounded", bound * _ratio - _off, given=within),
    )


def _unclipped(bound: Any) -> tuple[Goal, ...]:
    given = {
        "off by half a gap": element_unit - _off,
        "off by no more than what is above the power": _top - 1 - _off,
        "u": element_unit,
    }
    return (Goal("rounded", bound * _top - _off, given=given, positive={"1 + u": 1 + element_unit}),)


def _four_digits() -> tuple[Goal, ...]:
    """A largest entry over 6 of its scale's units, where the scale is nearest of numbers with four binary digits."""
    exact, rounded, power = sp.symbols("exact rounded power", nonnegative=True)
    return (
        Goal("17/18 of the scale", 18 * exact - 17 * rounded,
             given={"above the power": 8 * rounded - 9 * power, "half a gap": power / 16 - rounded + exact}),
        Goal("17/16 of the scale", 17 * rounded - 16 * exact,
             given={"the power": rounded - power, "half a gap": power / 16 - exact + rounded}),
        Goal("the element is 6", 6 * _ratio - 5, given={"17/18": _ratio - sp.Rational(17, 18)}),
    )  # fmt: skip


def _of_largest(bound: Any) -> tuple[Goal, ...]:
    sides = {"rounded up": {"17/18": _ratio - sp.Rational(17, 18)}, "rounded down": {"17/16": sp.Rational(17, 16)
             - _ratio}}  # fmt: skip
    return (
        *_four_digits(),
        Goal("rounded up", bound * _ratio - (1 - _ratio), given=sides["rounded up"]),
        Goal("rounded down", bound * _ratio - (_ratio - 1), given=sides["rounded down"]),
    )


# --- contraction -----------------------------------------------------------------------------------------------------


def _of_a_block() -> tuple[Goal, ...]:
    """That other entries, the largest, and then blocks, add up: `lost` is what another may take of the largest."""
    share, lost, entries, count = sp.symbols("share_of_all lost entries count", nonnegative=True)
    squares, errors, square, error = sp.symbols("squares errors square error", nonnegative=True)
    top, off = sp.symbols("top_square top_error", nonnegative=True)
    return (
        *over_all(
            lambda of, wrong, many: share * of - wrong + lost * many, (square, error, sp.S.One), case="other entries: "
        ),
        Goal(
            "a block",
            share * (squares + top) - (errors + off),
            given={
                "other entries": share * squares - errors + lost * count,
                "the largest": share * top - off - (entries - 1) * lost,
                "fewer": (entries - 1 - count) * lost,
            },
        ),
        *over_all(lambda of, wrong: share * of - wrong, (square, error), case="blocks: "),
    )


_BLOCK = _of_a_block()


def _contracting(low: int, high: int) -> Goals:
    """MXFP4 with largest entries between `low` and `high` in units of the scale."""

    def goals(bound: Any) -> tuple[Goal, ...]:
        parts = bound.xreplace({ENTRIES_OF_BLOCK: _entries})
        parts = parts.args if isinstance(parts, sp.Max) else (parts,)
        known = {f"share >= part {i}": sp.together(_share - part).as_numer_denom()[0] for i, part in enumerate(parts)}
        known |= {"B - 1": _entries - 1, "1 - share": 1 - _share}
        least = {"share >= 5/133": _share - sp.Rational(5, 133), "1 - share": 1 - _share}
        lost, fewer = (1 - _share) / 16, {"other entries": _entries - 1 - _others, "others": _others}
        return (
            Goal("share", _share - sp.Rational(5, 133), given=known, positive={"B + 399": _entries + 399}),
            *(
                Goal(f"others near {element}", _share * _a**2 - (_a - element) ** 2 + lost,
                     given={**least, **in_range(_a, begin, end)})
                for element, begin, end in _nearest(0, high)
            ),
            *(
                Goal(f"the largest near {element}", _share * _top**2 - (_top - element) ** 2 - (_entries - 1) * lost,
                     given={**known, **in_range(_top, begin, end)})
                for element, begin, end in _nearest(low, high)
            ),
            *_BLOCK,
            Goal("fewer entries", (_entries - 1 - _others) * lost, given={**fewer, "1 - share": 1 - _share}),
        )  # fmt: skip

    return goals


def _contracting_nvfp4(bound: Any) -> tuple[Goal, ...]:
    at = bound.xreplace({ENTRIES_OF_BLOCK: _entries})
    size = 225 * _entries + 64
    sizes = {"B - 1": _entries - 1, "19 - B": 19 - _entries}
    limits = {"share <= 5/133": sp.Rational(5, 133) - _share, "share >= 1/289": _share - sp.Rational(1, 289)}
    most, high = 1 - 25 * _share, sp.Rational(51, 8)
    bounded = {"225 B + 64": size}
    return (
        Goal("at most 5/133", sp.Rational(5, 133) - at, given=sizes, positive=bounded),
        Goal("at least 1/289", at - sp.Rational(1, 289), given=sizes, positive=bounded),
        *(
            Goal(f"others near {element}", _share * _a**2 - (_a - element) ** 2 + most,
                 given={**limits, **in_range(_a, begin, end)})
            for element, begin, end in _nearest(0, high)
        ),
        Goal(
            "the largest",
            _share * _top**2 - (_top - 6) ** 2 - (_entries - 1) * most,
            given={**in_range(_top, sp.Rational(17, 3), high), **limits},
            zero={"share": sp.together(_share - at).as_numer_denom()[0]},
        ),
        *_four_digits(),
        *_BLOCK,
        Goal(
            "fewer entries",
            (_entries - 1 - _others) * most,
            given={"other entries": _entries - 1 - _others, **limits},
        ),
    )  # fmt: skip


# --- stochastic rounding, sizes --------------------------------------------------------------------------------------


def _unbiased(bound: Any) -> tuple[Goal, ...]:
    up = (_value - _low) / (_high - _low)
    return (Goal("an entry", bound - (_low * (1 - up) + _high * up - _value), equal=True,
                 positive={"gap": _high - _low}),)  # fmt: skip


def _stochastic_bias(bound: Any) -> tuple[Goal, ...]:
    return (Goal("within the elements", bound, given={"overshoot": overshoot}), _clipped(bound))


def _projected(bound: Any) -> tuple[Goal, ...]:
    return (
        *kept_products(),
        Goal(
            "inner product",
            bound - (_scale * _inner / norm2**2 - 1),
            equal=True,
            positive={"norm": norm2},
            zero={"the scale": _scale * _inner - norm2**2},
        ),
    )


def _wire(beside: int, width: Any) -> Goals:
    def goals(bound: Any) -> tuple[Goal, ...]:
        bits = bound.xreplace({sp.ceiling(n / block): _blocks})
        return (
            Goal("beside", bits.subs({n: 0, _blocks: 0}) - beside, equal=True),
            Goal("one more entry", bits.subs(n, n + 1) - bits - width, equal=True),
            Goal("one more block", bits.subs(_blocks, _blocks + 1) - bits - 8, equal=True),
        )

    return goals


_UNITS = "In units of the largest power of two among the elements, times the scale, a block's largest entry is `top`. "
_PER_BLOCK = (
    "In units of the scale a block's largest entry is `top`, and it has at most B = min(n, block) entries. `share` is "
    "the bound, and so at least every part of its Max. Near every element of E2M1, where it is the nearest, the "
    "squared error of another entry is at most share a^2 + (1 - share)/16, and that of the largest entry at most share "
    "top^2 - (B - 1)(1 - share)/16: added up, the error is at most share times the squares, also of a block of fewer "
    "entries. "
)
_NOT_ZERO = "every n, every block, every x in R^n but zero whose scales are numbers of E8M0, in real arithmetic"
_ROUNDED = (
    "An entry `value` between neighbouring elements `low` and `high`, in units of its scale, becomes `high` with "
    "probability (value - low)/(high - low), else `low`: its mean, less itself. An element stays, and nothing is "
    "beyond the largest. "
)

BLOCKS = (
    named(
        "microscaling.maximum",
        _UNITS + "It is from 1 to 2, and the largest element 2 - overshoot. Beyond that it is clipped; else it is off "
        "by u at most, half a gap, and u is at most half of the overshoot in every format of the column.",
        _NOT_ZERO + ", every element format",
        _maximum,
    ),
    named(
        "microscaling.maximum_of_nearest",
        "`ratio` is a block's largest entry over the largest element, in units of the scale: from 3/4 to 3/2, as it is "
        "rounded to a power of two. Beyond one it becomes one; else it is `off` by half a `gap` at most, which is half "
        "of the `power` of two below it where elements have one digit, and less where they have more.",
        _NOT_ZERO + ", every element format",
        _of_quotient,
    ),
    named(
        "microscaling.maximum_unclipped",
        "In units of the power of two below it a block's largest entry is `top`, from 1 to 2, and off by u at most, "
        "half a gap; and by no more than its distance from the power of two, which is an element.",
        _NOT_ZERO + ", every floating element format",
        _unclipped,
    ),
    *(
        named(
            f"microscaling.contraction_{rule}",
            _PER_BLOCK + where,
            _NOT_ZERO + ", E2M1",
            _contracting(low, high),
        )
        for rule, low, high, where in (
            ("even", sp.Rational(7, 2), 7, "It is from 7/2 to 7."),
            ("rceil", 3, 6, "It is from 3 to 6."),
            ("wide", 2, 4, "It is from 2 to 4."),
        )
    ),
    named(
        "microscaling.wire",
        "`blocks` = ceil(n/block), of a byte each, and `elementbits` bits of every entry: induction on both.",
        "every n, every block, every element format",
        _wire(0, elementbits),
    ),
    named("stochastic.unbiased", _ROUNDED, _NOT_ZERO.replace(" but zero", ""), _unbiased,
          ),
    named(
        "stochastic.bias",
        _UNITS + "`top` stands for any entry that is beyond the largest element, 2 - overshoot, and so becomes that; "
        "relative to itself it is off by no less than relative to the largest entry. Others are unbiased.",
        _NOT_ZERO + ", every element format",
        _stochastic_bias,
    ),
    named(
        "nvfp4.maximum",
        "`ratio` is what is to be the scale over what it becomes as a normal number of E4M3, nearest of numbers with "
        "four digits: from 17/18 to 17/16. The block's largest entry is 6 ratio of the scale, and becomes 6.",
        "every n, every block, every x in R^n but zero whose scales are normal numbers, in real arithmetic",
        _of_largest,
    ),
    named(
        "nvfp4.contraction",
        "In units of the scale a block's largest entry is `top`, from 17/3 to 51/8, and becomes 6, as its "
        "scale is the nearest number of four digits. `share` is the bound: times 225 B + 64 it is 9 B - 8, from 1/289 "
        "to 5/133 for B = min(n, block) up to 19. Near every element the squared error of another entry is at most "
        "share a^2 + 1 - 25 share, and that of the largest at most share top^2 - (B - 1)(1 - 25 share); fewer entries "
        "have no larger error.",
        "every n, every block of at most 19 entries, every x in R^n but zero whose scales are normal numbers, in real "
        "arithmetic",
        _contracting_nvfp4,
    ),
    named(
        "nvfp4.wire",
        "`blocks` = ceil(n/block), of a byte each, four bits of every entry, and 32: induction on both.",
        "every n, every block",
        _wire(32, 4),
    ),
    named(
        "stochastic_nvfp4.unbiased",
        _ROUNDED,
        "every n, every block, every x in R^n whose largest magnitude is a scale's, in real arithmetic",
        _unbiased,
    ),
    named(
        "mseden.projection",
        "`inner` is the inner product of the codes with the rotated vector, that of what they stand for, rotated back, "
        "with x; times the scale, ||x||^2 over it, ||x||^2 is left. Over ||x||^2, less one.",
        "every n, every x in R^n but zero, every draw of the signs, in real arithmetic",
        _projected,
    ),
)  # fmt: skip
