"""What certificates prove of the dynamic map, and of entries that are cut by their exponent."""

from typing import Any

import sympy as sp

from commbounds.theory.finite_laws import over_all
from commbounds.theory.model import Goal, in_range
from commbounds.theory.quantities import n
from commbounds.theory.shipped.models_draws import model_of
from commbounds.theory.shipped.terms import binades

_a, _off, _part = sp.symbols("a off part", nonnegative=True)
_decades = range(7)
_half = tuple(sp.Rational(9, 20) * sp.Rational(10) ** (i - 6) / 2**i for i in _decades)
"""Half of the distance between two values of a decade."""
_first = tuple(sp.Rational(10) ** (i - 7) + h for i, h in enumerate(_half))
_last = tuple(sp.Rational(10) ** (i - 6) - h for i, h in enumerate(_half))
_below = (_first[0] / 2, *((end + begin) / 2 for end, begin in zip(_last, _first[1:], strict=False)))
"""From where on the first value of a decade is the nearest one."""
_above = (*_below[1:], sp.Integer(1))
"""Up to where the last one is."""
_most = _half[-1]
_least = _first[-1] + _most
"""Up to where the first value of the top decade is the nearest one."""


def _entry_error(bound: Any) -> tuple[Goal, ...]:
    """Half a distance between neighbours: of values of a decade, and of two decades."""
    return (
        Goal("zero", bound - _a, given=in_range(_a, 0, _below[0])),
        *(Goal(f"decade {i}", bound - _off, given={"half a part": h - _off}) for i, h in enumerate(_half)),
        *(
            Goal(f"below decade {i}", bound - _off, given={"half the way": (_first[i] - _last[i - 1]) / 2 - _off})
            for i in _decades[1:]
        ),
    )


def _smallest(bound: Any) -> tuple[Goal, ...]:
    return tuple(
        Goal(f"decade {i}", _a - bound, given={"at least the first": _a - first}) for i, first in enumerate(_first)
    )


def _contraction(bound: Any) -> tuple[Goal, ...]:
    """Of all entries but the largest: error^2 - bound a^2 is at most that of 73/640, off by 9/1280, the unit here."""
    top, bottom = sp.fraction(sp.together(bound))
    size = {"n <= 2048": (2048 - n) / 2047, "n >= 1": (n - 1) / 2047}
    positive = {"denominator": bottom}

    def room(a: Any, off: Any) -> Any:
        return (1 - bound * (_least / _most) ** 2) - (off - bound * a**2) / _most**2

    def from_on(name: str, begin: Any, most: Any) -> Goal:
        known = {"a": top * (_a**2 - begin**2) / _most**2, "off": bottom * (most**2 - _off**2) / _most**2}
        return Goal(name, room(_a, _off**2), given={**size, **known}, positive=positive)

    square, error, share, allowed = sp.symbols("square error share_of_each allowed", nonnegative=True)
    between = {"concave between": (bottom - top) * _part * (1 - _part)}
    return (
        *over_all(
            lambda squares, errors, many: share * squares - errors + allowed * many,
            (square, error, sp.S.One),
            case="other entries: ",
        ),
        Goal("the largest", _most**2 - _off**2, given={"half a part": _most**2 - _off**2}),
        Goal("all", (n - 1) * (_most**2 - bound * _least**2) + _most**2 - bound, equal=True, positive=positive),
        from_on("up to decade 5", sp.Integer(0), (_first[5] - _last[4]) / 2),
        from_on("decade 5", _below[5], _half[5]),
        from_on("from there to the first of decade 6", _last[5], (_first[6] - _last[5]) / 2),
        Goal(
            "from there to 73/640",
            room(_first[-1] + _most * _part, (_most * _part) ** 2),
            given={**size, **in_range(_part), **between},
            positive=positive,
        ),
        from_on("from there on", _least, _most),
    )


_seventh, _sixth = sp.Rational(1, 128), sp.Rational(1, 64)


def _branches(bound: Any) -> tuple[Any, Any]:
    """The two numbers of which the bound is the larger: the one without binades, and the one with them."""
    fixed, kept = sorted(bound.args, key=lambda e: e.has(binades))
    return fixed, kept


def _cut(bound: Any) -> tuple[Goal, ...]:
    (fixed, kept), least = _branches(bound), sp.Integer(2) ** -binades
    eight = in_range(_a, 0, _sixth)
    return (
        Goal("dropped", kept - _a, given={"below the least": least - _a}, positive={"2^binades": 1 / least}),
        Goal("eight bits", fixed - _off, given={"less than a unit": _sixth - _off}),
        Goal("sixteen bits", fixed - _off, given={"less than a unit": sp.Rational(1, 2**14) - _off}),
        Goal("read as 2^-7, enlarged", fixed - (_seventh - _a), given=eight),
        Goal("read as 2^-7, shortened", fixed - (_a - _seventh), given=eight),
    )


def _enlarged(bound: Any) -> tuple[Goal, ...]:
    (fixed, kept), least = _branches(bound), sp.Integer(2) ** -binades
    return (
        Goal("cut", fixed * _a - _off, given={"towards zero": _a - _off}),
        Goal("read as 2^-7", kept * _a - _seventh, given={"kept": _a - least}, positive={"2^binades": 1 / least}),
    )


_IN_UNITS = (
    "In units of the largest magnitude: decade i of seven has 2^i values, the middles of equal parts of [1/10, 1] "
    "times 10^(i - 6), with either sign, and there are 0 and 1. The nearest value is taken. "
)
_VECTORS = "every x in R^n but zero, every n up to the block, in real arithmetic"
_CLASSES = (
    "A magnitude `a` of one and more stays; below 2^-binades it is dropped. Else it is cut to a multiple of 2^-14, as "
    "long as it is at least 2^-floor(binades/2), 2^-14 or more, or of 2^-6, where zero is read as 2^-7. "
)

EIGHT_BITS = (
    model_of(
        "dynamic_tree.entry_error",
        _IN_UNITS + "`off` is the error between two neighbours, half of their distance at most; beyond the last value "
        "-1 is half a part off.",
        _VECTORS,
        _entry_error,
    ),
    model_of(
        "dynamic_tree.smallest",
        _IN_UNITS + "A magnitude `a` that is sent and is not zero is at least the first of some decade.",
        _VECTORS,
        _smallest,
    ),
    model_of(
        "dynamic_tree.contraction",
        _IN_UNITS + "The largest entry is off by 9/1280 at most. For any other, the error's square less the bound "
        "times that of the magnitude `a` is at most what it is at 73/640, off by 9/1280: with the least a and the "
        "largest `off` of some stretch of magnitudes, but for the upper half of the first part of decade 6, where it "
        "is convex in `part`, how far a is up that half. Added up, 'all', that is zero.",
        "every x in R^n but zero, every n up to 2048 and to the block, in real arithmetic",
        _contraction,
    ),
    model_of(
        "inceptionn.entry_error",
        _CLASSES + "`off` is what the cut takes off. The bound is at least either of its two numbers.",
        "every x, every number of binades up to 28, in real arithmetic",
        _cut,
    ),
    model_of(
        "inceptionn.enlarged",
        _CLASSES + "`off` is what a cut leaves. The bound is at least either of its two numbers.",
        "every x but zero, every number of binades up to 28, in real arithmetic",
        _enlarged,
    ),
)
