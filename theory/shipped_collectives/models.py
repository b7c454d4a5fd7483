"""What certificates about shipped collectives prove: errors of codes in float16, float8, from a zero point, or cut."""

from collections.abc import Mapping
from typing import Any

import sympy as sp

from commbounds.theory.blockformats.terms import element_unit
from commbounds.theory.dense.terms import unit
from commbounds.theory.finite_laws import over_all
from commbounds.theory.flashcomm.terms import width
from commbounds.theory.model import Goal, Model, by_claim, extents
from commbounds.theory.precision.models import SHOWN_BY as SHOWN_OF_SUMS
from commbounds.theory.precision.models_orders import order_of_additions
from commbounds.theory.quantities import P
from commbounds.theory.shipped_collectives.claims import (
    channel_scales,
    divisor,
    maxima,
    others,
    sent_squares,
    sizes,
    total,
)

_off, _errors, _second, _last, _lost = sp.symbols("off errors second last lost", real=True)
_level, _code, _point = sp.symbols("level code point", real=True)
_top, _step, _power, _size, _level_above = sp.symbols("top step power size level_above", nonnegative=True)
_low, _high = sp.symbols("low high", real=True)
_SIDES = (("not above", 1), ("not below", -1))
_HALF = sp.Rational(1, 2)


def _summed(
    bound: Any, share: Any, divided: Any, again: bool, rounded: bool = False, each: Any = 0, hop: Any = 0
) -> tuple[Goal, ...]:
    """That errors of `share` of every rank's largest, and of `each`, add up, with those of sums between, and behind."""
    goals: list[Goal] = []
    for name, sign in _SIDES:
        goals += over_all(
            lambda top, off, count, sign=sign: share * top + each * count - sign * off,
            (_top, _off, sp.S.One),
            case=f"ranks, {name}: ",
        )
        given = {f"all ranks, {name}": share * maxima + each * P - sign * _errors}
        if again:
            given[f"the sum, {name}"] = share * total + each - sign * _second
        if rounded:
            given[f"bfloat16, {name}"] = (1 + share) * total / 256 - sign * _last
        if hop:
            given |= {f"sums between, {name}": (P - 1) * maxima - sign * _lost, "P >= 1": P - 1}
        off = _errors + (_second if again else 0) + (_last if rounded else 0) + hop * _lost
        goals.append(Goal(f"all, {name}", bound - sign * off / divided, given=given, positive={"divided": divided}))
    return tuple(goals)


def _cut(bound: Any) -> tuple[Goal, ...]:
    """An entry lies `level` steps from zero, and becomes the whole number of them below."""
    inside = {"step": _step, "the code is below": _level - _code, "by less than one": 1 - (_level - _code)}
    return (
        Goal("a step", _step - (_level * _step - _code * _step), given=inside),
        Goal("towards zero", _level * _step - _code * _step, given=inside),
        *_summed(bound, sp.Rational(1, 127), divisor, True),
    )


def _float8(bound: Any, divided: Any, rounded: bool) -> tuple[Goal, ...]:
    """In units of the scale an entry is off by half a gap of numbers with four digits."""
    share = sp.Rational(1, 28)
    gap, small = {"half a gap": _power / 16 - _off, "the largest": 256 - _power}, {"below 1": sp.Rational(1, 32) - _off}
    return (
        Goal("an entry", share * 448 - _off, given=gap),
        Goal("a small entry", share * 448 - _off, given=small),
        *_summed(bound, share, divided, True, rounded),
    )


def _from_zero_point(bound: Any) -> tuple[Goal, ...]:
    """All in steps of a channel; `code` is the whole number nearest to `level`, before the zero point is added."""
    near = {"nearest, above": _HALF - (_code - _level), "nearest, below": _HALF + (_code - _level)}
    ends = {"not below the least": _level - _low, "not above the largest": _high - _level}
    point = {"point, above": _HALF - (_point + _low), "point, below": _HALF + (_point + _low)}
    first = {**near, **ends, **point, "before the first code": -1 - (_code + _point)}
    last = {**near, **ends, **point, "behind the last": _code + _point - 256, "range": 255 - (_high - _low)}
    return (
        *(Goal(f"within, {name}", _HALF - sign * (_code - _level), given=near) for name, sign in _SIDES),
        *(Goal(f"first, {name}", _HALF - sign * (-_point - _level), given=first) for name, sign in _SIDES),
        *(Goal(f"last, {name}", _HALF - sign * (255 - _point - _level), given=last) for name, sign in _SIDES),
        *_summed(bound.xreplace({channel_scales: maxima}), _HALF, P, False),
    )


_before, _fraction = sp.symbols("before fraction", nonnegative=True)
_total, _gradient, _returned, _held, _held_mean = sp.symbols("total_before gradient returned held held_mean", real=True)
_read_mean, _errors_before, _second_before = sp.symbols("read_mean errors_before second_before", real=True)


def _drawn(bound: Any) -> tuple[Goal, ...]:
    """What is read of an entry is a number of bfloat16 beside it, less than a step off."""
    near = {"a normal number": _top - 128 * _step, "less than a step": _step - _off}
    return (
        Goal("an entry", _top / 128 - _off, given=near),
        *_summed(bound.xreplace({others: maxima}), sp.Rational(1, 128), sp.S.One, False),
    )


def _variances(bound: Any) -> tuple[Goal, ...]:
    """In steps an entry is 128 or more, and a fraction, with which it is rounded up."""
    at, off = 128 + _level_above + _fraction, _fraction * (1 - _fraction)
    share = sp.Rational(1, 66048)
    return (
        Goal("the mean", _fraction * (1 - _fraction) + (1 - _fraction) * -_fraction, equal=True),
        Goal("the square", _fraction * (1 - _fraction) ** 2 + (1 - _fraction) * _fraction**2 - off, equal=True),
        Goal(
            "an entry of 128 steps", sp.expand((at - _level_above) ** 2 - off / share), hints=(257 * _fraction - 128,)
        ),
        Goal(
            "a larger entry",
            sp.expand(at**2 - (at - _level_above) ** 2),
            given={"above": _level_above, "a fraction": _fraction},
        ),
        *over_all(
            lambda top, off: share * top - off, (_top, _off), (sent_squares, _errors), bound - _errors, case="ranks: "
        ),
    )


def _kept(bound: Any) -> tuple[Goal, ...]:
    """What ranks and owners keep after any round, and that all else was returned."""
    first, second = sp.Rational(1, 27), sp.Rational(28, 729)
    goals = [
        Goal(
            "read",
            (1 + first) * _top - _size,
            given={"due": _top + _before - _size, "kept before": first * _top - _before},
        ),
        Goal(
            "returned or kept",
            _total + _returned - _gradient + _held + _held_mean,
            equal=True,
            zero={
                "before": _total + _errors_before + _second_before,
                "of ranks": _gradient + _errors_before - _read_mean - _held,
                "of means": _read_mean + _second_before - _returned - _held_mean,
            },
        ),
    ]
    for name, sign in _SIDES:
        for stage, share, most in (("ranks", first, _top), ("means", second, (1 + first) * _top)):
            given = {"a 28th": (most + _before) / 28 - sign * _off, "kept before": share * _top - _before}
            goals.append(Goal(f"{stage} keep, {name}", share * _top - sign * _off, given=given))
        goals += over_all(
            lambda top, off, count, sign=sign: first * top - sign * off,
            (_top, _off, sp.S.One),
            case=f"ranks, {name}: ",
        )
        given = {"all ranks": first * maxima - sign * _errors, "the mean": second * maxima - sign * _second}
        goals.append(Goal(f"all, {name}", bound - sign * (_errors + _second) / P, given=given, positive={"divided": P}))
    return tuple(goals)


# --- QuickReduce, whose arithmetic is that of float16 -----------------------------------------------------------------

_U, _UNIT = sp.Rational(1, 2**11), 2**24
"""Float16 rounds by 2^-11 of a number, small ones by half of 2^-24, in which lengths are measured here."""
_LARGER, _NEAR = sp.Rational(101, 100), sp.Rational(1, 128)
_entry, _scale, _up = sp.symbols("entry scale up", nonnegative=True)
_number, _scaled, _product, _multiple, _read, _rounding = sp.symbols(
    "number scaled product multiple read rounding", real=True
)
_ranks, _behind = sp.symbols("ranks behind", real=True)


def _apart(x: Any, y: Any, most: Any, name: str) -> dict[str, Any]:
    """That two numbers are at most so far apart."""
    return {f"{name}, above": most - (x - y), f"{name}, below": most + (x - y)}


def _side(conditions: Mapping[str, Any], side: str) -> dict[str, Any]:
    return {name: condition for name, condition in conditions.items() if name.endswith(side)}


def _coded(top: int) -> tuple[Goal, ...]:
    """One coding of a block, whose codes lie between -top and top - 1: its errors, and how large what is read is."""
    reached = {"reached": _size - sp.Rational(_UNIT, 65000) * top}
    scale = _apart(top * _scale, _size, sp.Rational(top, 2), "the scale")
    step = _apart(_step, _scale, 1 + _U * _scale, "the step")
    block, up = {**reached, **scale, **step}, {"up": _up, "not clamped": sp.Rational(65504, 65536) - _up}
    inverse = _apart(_up * _step / 256, 1, sp.Rational(51, 50) * _U, "the reciprocal")
    near = {"near": 1 + _NEAR - _up * _scale / 256}
    product = sp.Rational(31, 10) * _U * _size + sp.Rational(65, 64) * top
    scaled = _apart(_scaled, _entry * _up / 256, _U * _entry * _up / 256 + _U / 64, "scaled")
    goals = [
        Goal("not clamped", sp.Rational(65504, _UNIT) * _step - 1, given=block),
        Goal(
            "a normal number, in units of one",
            2**14 - _step,
            given={
                "in the range": 65000 - _size,
                **_side(_apart(top * _scale, _size, sp.Rational(top, 1000), "the scale"), "above"),
                **_side(_apart(_step, _scale, sp.Rational(1, 1000) + _U * _scale, "the step"), "above"),
            },
        ),
        Goal("near", near["near"], given={**up, **_side(step, "below"), **_side(inverse, "above")}),
    ]
    for (name, sign), mine, other in zip(_SIDES, ("above", "below"), ("below", "above"), strict=True):
        given = {**_side(scaled, mine), **_side(inverse, mine), **_side(step, other), **scale, **up, **near}
        given |= {"entry": _entry, "in the block": _size - _entry, "scale": _scale}
        goals.append(Goal(f"product, {name}", product - sign * (_scaled * _scale - _entry), given=given))
    entry = {**block, **_apart(_product, _number, product, "product"), **_apart(_number, 0, _size, "in the block")}
    error = (sp.Rational(1, top) + _U) * _size + top
    codes = {
        "rounded": _apart(_multiple, _product, _scale / 2, "half a step"),
        "cut above": {"cut": _product - _multiple, **_apart(_multiple, (top - 1) * _scale, 0, "the last")},
        "cut below": {"cut": _multiple - _product, **_apart(_multiple, -top * _scale, 0, "the first")},
    }
    read = _apart(_read, _multiple, _U * top * _scale + _HALF, "read")
    for case, code in codes.items():
        for name, sign in _SIDES:
            goals.append(Goal(f"{case}, {name}", error - sign * (_read - _number), given={**entry, **code, **read}))
    within = {**block, **_apart(_multiple, 0, top * _scale, "codes"), **read}
    return (*goals, *(Goal(f"read, {name}", _LARGER * _size - sign * _read, given=within) for name, sign in _SIDES))


def _in_halves(bound: Any, b: int) -> tuple[Goal, ...]:
    """The coding of every rank's block, their sum, and the owner's coding of that."""
    top, hop = 2 ** (b - 1), sp.Rational(1, 2000)
    given = {
        "before": (_ranks - 1) * _behind - _lost,
        "rounding": _U / hop * (_LARGER * (_behind + _size) + hop * _lost) - _rounding,
        **{str(letter): letter for letter in (_lost, _behind, _size)},
        "one at least": _ranks - 1,
        "seven at most": 7 - _ranks,
    }
    in_units = bound.subs(width, b).xreplace({maxima: maxima / _UNIT, total: total / _UNIT})
    return (
        *_coded(top),
        Goal("one more sum", _ranks * (_behind + _size) - _lost - _rounding, given=given),
        *_summed(sp.expand(_UNIT * in_units), sp.Rational(1, top) + _U, sp.S.One, True, each=top, hop=hop),
    )


_REAL = "every input, every P, in real arithmetic"
_ADDED = " What all ranks are off by adds up, one rank after another; then the sum is coded in the same way."


def _model(name: str, words: str, goals: Any, scope: str = _REAL, instances: Any = ({},)) -> Model:
    return Model(f"shipped_collectives.{name}", words, scope, goals, instances=instances)


_E4M3 = (
    "In units of its scale an entry is at most 448: from a `power` of two on, of which 256 is the largest, it is off "
    "by half a gap, a sixteenth of that; below one by less. So it is off by a 28th of the largest magnitude `top`."
    + _ADDED
)

MODELS = by_claim(
    _model(
        "quickreduce.error",
        "In units of 2^-24, the distance of small numbers of float16, a block whose largest magnitude is `size` has "
        "the `scale` size/top, and a `step` one off it; signs are such that the scale is positive. `up` is the step's "
        "reciprocal over 2^16, which does not overflow and is a normal number, as two goals say. `scaled` is number "
        "times reciprocal (of an `entry` that is not negative: negative ones are the same with all signs turned), "
        "`product` that times the scale, and `multiple` the code times the scale: codes are rounded, or cut above or "
        "below. `read` is that, rounded. Every operation in float16 rounds by 2^-11 of its result at most (the "
        "reciprocal by 0.51/0.50 of that, as processors do), or by half of 2^-24 below 2^-14, where sums are exact. A "
        "block of zeros is read as it is. What ranks are off by, and their blocks' sizes, add up. Of `ranks` ranks, "
        "whose sizes add up to `behind`, the sum has lost 1/2000 of `lost`, and the next one of `rounding`; the first "
        "one rounds nothing. The owner codes the sum as ranks do.",
        _in_halves,
        "every input, every P <= 8 (more it does not have), codes of {b} bits",
        [{"b": b} for b in (3, 4, 6, 8)],
    ),
    _model(
        "torchft.error_cut",
        "A step is a 127th of a row's largest magnitude `top`. An entry lies `level` of them from zero, on a side, "
        "and becomes the whole number `code` below." + _ADDED,
        _cut,
    ),
    _model("torchft.error", _E4M3, lambda bound: _float8(bound, divisor, False)),
    _model(
        "flashinfer.error",
        f"{_E4M3} What is read of the sum's code is at most 29/28 of its group's largest, and rounded to bfloat16.",
        lambda bound: _float8(bound, sp.S.One, True),
    ),
    _model(
        "hook.error",
        "In steps of its channel an entry is `level`, from `low` to `high`, at most 255 apart, around zero. Its "
        "code is the nearest whole number and the zero point, nearest to -low, clipped to 0 and 255. `maxima` stands "
        "for the sum of the scales, of which `top` is one. The mean is that of the ranks' errors.",
        _from_zero_point,
    ),
    _model(
        "torchcomms.error",
        "An entry of magnitude `top` is normal: 128 steps of bfloat16 or more. What is read of it is one of the two "
        "numbers beside it, with its sign: it is `off` by less than a step. What ranks are off by adds up.",
        _drawn,
    ),
    _model(
        "torchcomms.variance",
        "In steps an entry is 128, `level_above` and a `fraction` of one, with which it is rounded up: that share of "
        "2^16 words carries. Words of different ranks are independent, each with the mean that rounding keeps: the "
        "squares that are expected add up, one rank after another.",
        _variances,
    ),
    _model("loongforge.error", _E4M3, lambda bound: _float8(bound, P, False)),
    _model(
        "loongforge.kept",
        "By the model of loongforge.error a coding is `off` by a 28th of what is due at most; a group that is read as "
        "zeros is kept whole, and is below the share that is shown by hypothesis. What is due is the gradient and "
        "what was kept `before`: of a group whose largest gradient is `top`, and of the mean, whose groups are read as "
        "28/27 of that at most. Before the first round nothing is kept. `errors` is what the ranks keep, added up, "
        "`second` P times what the owner keeps; of their means a round returns all else.",
        _kept,
    ),
    _model(
        "nccl.error",
        "The model of precision.any.sure. A hop adds two numbers of float8 and rounds correctly: float16 in between, "
        "with 11 digits for 4 at most, changes no sum. Nothing is cut off at the largest number. The magnitudes of an "
        "entry add up to left + right.",
        lambda bound: order_of_additions((bound / sizes).xreplace({element_unit: unit})),
        "every input whose sums stay below the largest number, every P, every unit < 1",
    ),
)

SHOWN_BY: Mapping[str, Mapping[str, str | tuple[str, ...]]] = {
    "shipped_collectives.nccl.error": SHOWN_OF_SUMS["precision.any.sure"]
}

EXTENTS = extents(
    "shipped_collectives",
    {
        (): "quickreduce.error torchft.error_cut torchft.error flashinfer.error hook.error nccl.error torchcomms.error "
        "torchcomms.variance loongforge.error loongforge.kept"
    },
    every_case="quickreduce.error",
)
