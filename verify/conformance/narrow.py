"""Inputs for subjects that round: ties of narrower formats and of evenly spaced levels, and the ends of ranges."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from commbounds.array_types import Floats

_SIGNED_STEPS = (1, 3, 7, 8, 15, 16, 31, 127, 128)
"""Levels of either sign between zero and the largest magnitude: 2^(b-1) - 1 of them, or 2^(b-1)."""
_STEPS = (1, 3, 4, 7, 15, 16, 255, 256)
"""Steps between the smallest entry, zero, and the largest: 2^b levels have 2^b - 1."""
_USUAL = (7, 15, 127, 255)
"""Steps of four and eight bits, which several ranks or steps are given."""
_PERIOD, _PERIODS = 16, 4
"""Vectors repeat themselves, so that blocks of any multiple of `_PERIOD` entries have the same largest one."""


@dataclass(frozen=True)
class _Format:
    """A floating-point format.

    Parameters
    ----------
    name : str
        As ml_dtypes has it.
    bits : int
        Of the significand behind the point.
    largest : float
        The largest finite number.
    subnormal : float
        The smallest positive one.
    """

    name: str
    bits: int
    largest: float
    subnormal: float

    @classmethod
    def of(cls, dtype: Any) -> _Format:
        """The format of a numpy or ml_dtypes type."""
        info = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
        return cls(str(np.dtype(dtype)), int(info.nmant), float(info.max), float(info.smallest_subnormal))

    @property
    def above(self) -> float:
        """Halfway between the largest number and the next one, were there one: what is larger, rounds to infinity."""
        return self.largest + math.ldexp(1.0, math.frexp(self.largest)[1] - self.bits - 2)


_FORMATS = tuple(
    _Format.of(dtype)
    for dtype in (
        np.float32,
        np.float16,
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float4_e2m1fn,
    )
)


def _narrower(dtype: np.dtype[Any]) -> list[_Format]:
    """The formats whose ties `dtype` has: those with fewer bits in the significand."""
    own = _Format.of(dtype)
    return [form for form in _FORMATS if form.bits < own.bits]


def _between(values: Floats, magnitudes: tuple[float, float]) -> Floats:
    """`values` times a power of two, so that they lie between the magnitudes if one such does that."""
    sizes = np.abs(values[values != 0.0])
    low, high = magnitudes
    if float(sizes.max()) > high:
        return np.ldexp(values, math.floor(math.log2(high / sizes.max())))
    return np.ldexp(values, math.ceil(math.log2(low / sizes.min()))) if float(sizes.min()) < low else values


def ties(dtype: np.dtype[Any], magnitudes: tuple[float, float]) -> Iterator[tuple[str, Floats]]:
    """Entries halfway between two neighbours of a format that is narrower than `dtype`, as (label, vector).

    Above even and odd numbers, and below the next power of two, of either sign: so that one rule for ties is told
    from another. The first vector, of normal numbers, is brought between the magnitudes by a power of two. The second,
    of subnormal ones, begins with half of the smallest.
    """
    forms = _narrower(dtype)
    whole = [
        math.ldexp(1.0 + math.ldexp(place % (1 << form.bits) + 0.5, -form.bits), exponent)
        for exponent in (0, 1)
        for place in (0, 1, -1)
        for form in forms
    ]
    yield "ties of narrower formats", _between(np.concatenate([whole, np.negative(whole)]), magnitudes)
    small = [(place + 0.5) * form.subnormal for place in (0, 1, 2) for form in forms]
    yield "subnormal ties of narrower formats", np.concatenate([small, np.negative(small)])


def level_ties(dtype: np.dtype[Any], magnitudes: tuple[float, float], few: bool) -> Iterator[tuple[str, Floats]]:
    """Entries halfway between evenly spaced levels, as (label, vector): whole numbers and a half, below the largest.

    Levels of either sign, then levels from zero on; 64 entries, of which every 16 have the same largest one. Those of
    four and eight bits alone if `few`.
    """
    most = 1 << _Format.of(dtype).bits
    for signs, counts in (((1.0, -1.0), _SIGNED_STEPS), ((1.0, 0.0), _STEPS)):
        for steps in counts:
            if steps <= most and (steps in _USUAL or not few):
                halves = np.linspace(0, steps - 1, _PERIOD - 2).astype(int) + 0.5
                turned = halves * np.resize([1.0, signs[1] or 1.0], halves.size)
                row = np.concatenate([np.multiply(signs, steps), turned])
                kind = "either sign" if signs[1] else "one sign"
                yield f"ties between {steps} steps of {kind}", _between(np.tile(row, _PERIODS), magnitudes)


def ends(dtype: np.dtype[Any], magnitudes: tuple[float, float]) -> Iterator[tuple[str, Floats]]:
    """Entries at the ends of ranges, as (label, vector): of narrower formats, and of `dtype`.

    The largest number of a format; what lies just below the tie above that, and still rounds to it; and the tie. Of
    `dtype` the largest number, and two whose difference is beyond it, while their norm is not.
    """
    own = _Format.of(dtype)
    for form in _narrower(dtype):
        below = form.above * (1.0 - math.ldexp(1.0, -own.bits))
        for label, top in (("the largest of", form.largest), ("just below the tie above", below)):
            yield from _topped(f"{label} {form.name}", top, own)
        yield from _topped(f"the tie above {form.name}", form.above, own)
    yield from _topped(f"the largest of {own.name}", own.largest, own)
    yield f"a difference beyond {own.name}", np.array([own.largest, -own.largest, 0.0]) / 1.5


def limits(dtype: np.dtype[Any], magnitudes: tuple[float, float]) -> Iterator[tuple[str, Floats]]:
    """Entries at the limits of what is taken, as (label, vector), where these are within `dtype`."""
    own, cell = _Format.of(dtype), math.ldexp(1.0, -_Format.of(dtype).bits)
    for label, limit, inwards in zip(("smallest", "largest"), magnitudes, (1.0 + cell, 1.0 - cell), strict=True):
        if own.subnormal < limit < own.largest:
            rounded = float(np.array(limit).astype(dtype))
            inside = magnitudes[0] <= rounded <= magnitudes[1]
            yield from _topped(f"the {label} magnitude that is taken", rounded if inside else limit * inwards, own)


def _topped(label: str, top: float, own: _Format) -> Iterator[tuple[str, Floats]]:
    """An entry of that size, of either sign; in one vector if its norm is within the dtype."""
    if top < own.largest / 2.0:
        yield label, np.array([top, -top, 0.0])
    else:
        yield label, np.array([top, 0.0])
        yield f"{label}, negative", np.array([-top])
