"""What certificates about shipped collectives prove: errors of codes that are cut, in float8, and from a zero point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from commbounds.theory.blockformats.terms import element_unit
from commbounds.theory.dense.terms import unit
from commbounds.theory.finite_laws import over_all
from commbounds.theory.model import Goal, Model, by_claim, extents
from commbounds.theory.precision.models import SHOWN_BY as SHOWN_OF_SUMS
from commbounds.theory.precision.models_orders import order_of_additions
from commbounds.theory.quantities import P
from commbounds.theory.shipped_collectives.claims import channel_scales, divisor, maxima, sizes, total

_off, _errors, _second, _last, _level, _code, _point = sp.symbols("off errors second last level code point", real=True)
_top, _step, _power = sp.symbols("top step power", nonnegative=True)
_low, _high = sp.symbols("low high", real=True)
_SIDES = (("not above", 1), ("not below", -1))
_HALF = sp.Rational(1, 2)


def _summed(bound: Any, share: Any, divided: Any, again: bool, rounded: bool = False) -> tuple[Goal, ...]:
    """That errors of `share` of every rank's largest add up, with those of the sum, and of its own rounding."""
    goals: list[Goal] = []
    for name, sign in _SIDES:
        goals += over_all(lambda top, off, sign=sign: share * top - sign * off, (_top, _off), case=f"ranks, {name}: ")
        given = {f"all ranks, {name}": share * maxima - sign * _errors}
        if again:
            given[f"the sum, {name}"] = share * total - sign * _second
        if rounded:
            given[f"bfloat16, {name}"] = (1 + share) * total / 256 - sign * _last
        off = _errors + (_second if again else 0) + (_last if rounded else 0)
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


_REAL = "every input, every P, in real arithmetic"
_ADDED = " What all ranks are off by adds up, one rank after another; then the sum is coded in the same way."


def _model(name: str, words: str, goals: Any, scope: str = _REAL) -> Model:
    return Model(f"shipped_collectives.{name}", words, scope, goals, (f"shipped_collectives.{name}",))


_E4M3 = (
    "In units of its scale an entry is at most 448: from a `power` of two on, of which 256 is the largest, it is off "
    "by half a gap, a sixteenth of that; below one by less. So it is off by a 28th of the largest magnitude `top`."
    + _ADDED
)

MODELS = by_claim(
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

EXTENTS = extents("shipped_collectives", {(): "torchft.error_cut torchft.error flashinfer.error hook.error nccl.error"})
