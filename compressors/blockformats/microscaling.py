"""Microscaling (MX) formats: elements of four to eight bits, and a power of two for every block of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors._blocks import BLOCK, for_blocks
from commbounds.compressors._random import key_from
from commbounds.compressors.base import (
    Compressor,
    Law,
    check_part,
    check_same,
    checked_array,
    checked_choice,
    checked_count,
    checked_exact,
    checked_message,
    checked_rng,
    product_law,
)
from commbounds.compressors.blockformats.elements import ELEMENTS, Element
from commbounds.compressors.blockformats.message import Blocks
from commbounds.compressors.quantizers.message import Counted, Draw, checked_uniforms
from commbounds.compressors.quantizers.powers import floor_power

LOWEST, HIGHEST = -127, 127
"""Exponents that E8M0 has; its last code is NaN."""
SCALES = ("floor", "even", "rceil", "ceil", "double", "nearest", "three_quarters")
"""How the scale follows from a block's largest entry, see `Microscaling`."""


@njit(cache=True, nogil=True)
def _exponents(x, block, emax, limit, exponents):  # type: ignore[no-untyped-def]
    # largest entry = t 2^e, 1 <= t < 2: the exponent is e - emax, and one more where t > limit
    for g in range(exponents.size):
        top = 0.0
        for i in range(g * block, min((g + 1) * block, x.size)):
            top = max(top, abs(np.float64(x[i])))
        exponent = -127
        if top > 0.0:
            fraction, power = math.frexp(top)
            exponent = power - 1 - emax + (2.0 * fraction > limit)
        exponents[g] = min(max(exponent, -127), 127)


@njit(cache=True, nogil=True)
def _nearest(x, block, exponents, gain, table, codes):  # type: ignore[no-untyped-def]
    # a scaled by powers of two is exact; half-way between two elements the even code, beyond the last the last
    last = table.size - 1
    for i in range(x.size):
        a = math.ldexp(abs(np.float64(x[i])), -int(exponents[i // block])) * gain
        code, above = 0, last + 1
        while above - code > 1:
            middle = (code + above) // 2
            if table[middle] <= a:
                code = middle
            else:
                above = middle
        if code < last:
            half = 0.5 * (table[code] + table[code + 1])
            code += a > half or (a == half and code % 2 == 1)
        codes[i] = -code if x[i] < 0 else code


@njit(cache=True, nogil=True)
def _stochastic(x, block, exponents, gain, table, uniforms, codes):  # type: ignore[no-untyped-def]
    # up iff the uniform is below the share of the gap; beyond the last element the last
    last = table.size - 1
    for i in range(x.size):
        a = math.ldexp(abs(np.float64(x[i])), -int(exponents[i // block])) * gain
        code, above = 0, last + 1
        while above - code > 1:
            middle = (code + above) // 2
            if table[middle] <= a:
                code = middle
            else:
                above = middle
        if code < last:
            code += np.float64(uniforms[i]) < (a - table[code]) / (table[code + 1] - table[code])
        codes[i] = -code if x[i] < 0 else code


@njit(cache=True, nogil=True)
def _values(codes, block, exponents, table, largest, out):  # type: ignore[no-untyped-def]
    for i in range(codes.size):
        code = np.int64(codes[i])
        value = min(math.ldexp(table[abs(code)], int(exponents[i // block])), largest)
        out[i] = -value if code < 0 else value


_ONE, _THREE_QUARTERS = Fraction(1), Fraction(3, 4)


@cache
def _limit(element: str, scale: str) -> Fraction:
    form = ELEMENTS[element]
    rules = {"even": 2 - form.unit, "rceil": form.reach, "ceil": _ONE, "double": Fraction(0)}
    return rules.get(scale, form.reach * 3 / 4 if scale == "nearest" else Fraction(2))


@dataclass(frozen=True)
class Microscaling(Compressor):
    """Every entry at the nearest element of its block's scale, a power of two (OCP Microscaling Formats, version 1.0).

    With t 2^e the largest magnitude of a block, 1 <= t < 2, and 2^emax the largest power of two among the elements, the
    scale is X = 2^(e - emax), or twice that; an entry v is sent as the element nearest to v/X, of two the one with the
    even code, beyond the largest element as that.

    Parameters
    ----------
    element : str
        e2m1 (MXFP4), e2m3, e3m2 (MXFP6), e4m3, e5m2 (MXFP8), int8 (MXINT8) or int4.
    block : int
        Entries of a block; >= 1. The specification's formats have 32.
    scale : str
        When the scale is twice that. "floor": never, the specification's conversion; the block's largest entry may lie
        beyond the largest element. "even": where t, rounded half up to the digits of an element, is 2. "rceil": where
        t 2^emax exceeds the largest element, so that nothing is clipped. "ceil": where t > 1. "double": always.
        "nearest": the power of two nearest to the block's largest magnitude over the largest element, of mantissas from
        3/2 on the upper one, which is X or half of it; quotients are not rounded.
        "three_quarters": never, but entries are multiplied with 3/4 before they are rounded, and elements with 4/3
        when they are read.

    Notes
    -----
    Exponents are clamped to E8M0's -127 .. 127, where the specification would send NaN beyond. A block of zeros has the
    exponent -127. An element beyond the dtype's largest number is read as that number.
    n width + 8 ceil(n / block) bits.

    Examples
    --------
    >>> import numpy as np
    >>> Microscaling()(np.array([7.9, -2.6, 0.2, 1.0]))
    array([ 6., -3.,  0.,  1.])
    >>> Microscaling(scale="rceil")(np.array([7.9, -2.6, 0.2, 1.0]))
    array([ 8., -3.,  0.,  1.])
    """

    element: str = "e2m1"
    block: int = 32
    scale: str = "floor"

    _rounds_randomly: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checked_choice("element", self.element, tuple(ELEMENTS))
        object.__setattr__(self, "block", checked_count("block", self.block, 1, 2**31 - 1))
        checked_choice("scale", self.scale, SCALES)

    @property
    def format(self) -> Element:
        """The elements."""
        return ELEMENTS[self.element]

    @property
    def gain(self) -> Fraction:
        """What entries are multiplied with before they are rounded."""
        return _THREE_QUARTERS if self.scale == "three_quarters" else _ONE

    @property
    def limit(self) -> Fraction:
        """Largest t for which the scale is 2^(e - base); for "even" and "nearest" the smallest for which it is not."""
        return _limit(self.element, self.scale)

    @property
    def base(self) -> int:
        """What is taken off the exponent of a block's largest power of two: emax, or one more."""
        return self.format.emax + (self.scale == "nearest")

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Blocks:
        """The message for `x`; see `Compressor.compress`."""
        return self._message(checked_array(x), None)

    def decompress(self, message: Blocks) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Blocks)
        check_same("width", message.width, self.format.width)
        most = self.format.table.size - 1
        check_part("codes", message.codes, message.shape, (np.int8,), -most, most)
        check_same("number of exponents", message.exponents.size, -(-message.codes.size // self.block))
        out = np.empty(message.shape, message.dtype)
        table, largest = self.format.table / float(self.gain), float(np.finfo(message.dtype).max)

        def work(part: slice, groups: slice) -> None:
            _values(message.codes[part], self.block, message.exponents[groups], table, largest, out[part])

        self._for_groups(out.size, work)
        return out

    def law(self, x: Sequence[Any]) -> Law:
        """The exact distribution of the output, for exponents without limits; see `Compressor.law`."""
        entries = checked_exact(x)
        marginals: list[list[tuple[Fraction, Fraction]]] = []
        for start in range(0, len(entries), self.block):
            part = entries[start : start + self.block]
            unit = self.exact_scale(part) / self.gain
            for value in part:
                sign = -1 if value < 0 else 1
                marginals.append([(p, sign * found * unit) for p, found in self._elements_exact(abs(value) / unit)])
        return product_law(marginals)

    def exact_scale(self, part: Sequence[Fraction]) -> Fraction:
        """The scale of a block, in exact arithmetic; 1 for zeros."""
        top = max(map(abs, part))
        if top == 0:
            return Fraction(1)
        power = floor_power(top)
        t = top / power
        twice = t >= self.limit if self.scale in ("even", "nearest") else t > self.limit
        return power / Fraction(2) ** self.base * (2 if twice else 1)

    def _elements_exact(self, level: Fraction) -> list[tuple[Fraction, Fraction]]:
        """Elements of an entry of this magnitude, in units of the scale, with their probabilities."""
        low, high, even = self._around(level)
        if 2 * level == low + high:
            return [(Fraction(1), even)]
        return [(Fraction(1), low if 2 * level < low + high else high)]

    def _around(self, level: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        """The elements below and above, and the one of them with the even code."""
        numbers = self.format.magnitudes
        if level >= numbers[-1]:
            return numbers[-1], numbers[-1], numbers[-1]
        at = sum(number <= level for number in numbers) - 1
        return numbers[at], numbers[at + 1], numbers[at + at % 2]

    def _message(self, x: Array, draw: Draw | None) -> Blocks:
        codes = np.empty(x.size, np.int8)
        exponents = np.empty(-(-x.size // self.block), np.int16)
        limit, gain, table = float(self.limit), float(self.gain), self.format.table
        if self.scale in ("even", "nearest"):
            limit = float(np.nextafter(limit, 0.0))

        def work(part: slice, groups: slice) -> None:
            mine = exponents[groups]
            _exponents(x[part], self.block, self.base, limit, mine)
            if draw is None:
                _nearest(x[part], self.block, mine, gain, table, codes[part])
            else:
                _stochastic(x[part], self.block, mine, gain, table, draw(part.start, part.stop), codes[part])

        self._for_groups(x.size, work)
        return Blocks(x.shape, x.dtype, codes, exponents, self.format.width)

    def _for_groups(self, n: int, work: Any) -> None:
        """Call `work` on stretches of whole blocks: the entries, and the blocks."""

        def stretch(start: int, stop: int) -> None:
            work(slice(start, stop), slice(start // self.block, -(-stop // self.block)))

        for_blocks(n, stretch, max(1, BLOCK // self.block) * self.block)


@dataclass(frozen=True)
class StochasticMicroscaling(Microscaling):
    """`Microscaling` with stochastic rounding: to the upper neighbouring element with the share of the gap below it.

    Notes
    -----
    Unbiased where nothing is clipped: always with "rceil", "ceil", "double" and "three_quarters"; with "floor",
    "even" and "nearest" not where a block's largest entry lies beyond the largest element. "three_quarters" is what
    Tseng et al. 2025 (arXiv:2502.20586) do. Uniforms are multiples of 2^-24 (float32) or 2^-53 (float64).

    Examples
    --------
    >>> import numpy as np
    >>> StochasticMicroscaling(scale="rceil")(np.array([6.0, -2.0, 0.5]), np.random.default_rng(0))
    array([ 6. , -2. ,  0.5])
    """

    randomised = True
    _rounds_randomly: ClassVar[bool] = True

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Blocks:
        """The message for `x`; one 64-bit key is drawn from `rng`, which is required."""
        array = checked_array(x)
        return self._message(array, Counted(key_from(checked_rng(rng)), array.dtype))

    def compress_with(self, x: ArrayLike, uniforms: ArrayLike) -> Blocks:
        """The message for `x` when the random inputs are `uniforms`, (n,) in the dtype of x and in [0, 1)."""
        array = checked_array(x)
        u = checked_uniforms(uniforms, array)
        return self._message(array, lambda start, stop: u[start:stop])

    def _elements_exact(self, level: Fraction) -> list[tuple[Fraction, Fraction]]:
        low, high, _ = self._around(level)
        if low in (level, high):
            return [(Fraction(1), low)]
        up = (level - low) / (high - low)
        return [(1 - up, low), (up, high)]
