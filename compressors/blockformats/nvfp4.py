"""NVFP4: elements of four bits, an E4M3 scale for every block, and a float32 for the whole vector."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
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
    check_same,
    checked_array,
    checked_choice,
    checked_count,
    checked_exact,
    checked_message,
    checked_rng,
    product_law,
)
from commbounds.compressors.blockformats.elements import ELEMENTS
from commbounds.compressors.blockformats.message import ScaledBlocks
from commbounds.compressors.quantizers.message import Counted, Draw, checked_uniforms

_E2M1, _E4M3 = ELEMENTS["e2m1"], ELEMENTS["e4m3"]
SCALES = ("nearest", "up")
"""How a block's scale is rounded to E4M3."""


@njit(cache=True, nogil=True)
def _scale_codes(x, block, tensor, up, table, codes):  # type: ignore[no-untyped-def]
    # products of a float32, an E4M3 number and 6 are exact, and so are the comparisons
    last = table.size - 1
    for g in range(codes.size):
        top = 0.0
        for i in range(g * block, min((g + 1) * block, x.size)):
            top = max(top, abs(np.float64(x[i])))
        unit = 6.0 * tensor
        code, above = 0, last + 1
        while above - code > 1:
            middle = (code + above) // 2
            if unit * table[middle] <= top:
                code = middle
            else:
                above = middle
        if code < last and unit * table[code] < top:
            half = unit * (0.5 * (table[code] + table[code + 1]))
            code += up or top > half or (top == half and code % 2 == 1)
        codes[g] = code


@njit(cache=True, nogil=True)
def _nearest(x, block, tensor, scales, scale_table, table, codes):  # type: ignore[no-untyped-def]
    # half-way between two elements the even code, beyond the last the last; a scale of zero makes zeros
    last = table.size - 1
    for i in range(x.size):
        unit = tensor * scale_table[scales[i // block]]
        a, code = abs(np.float64(x[i])), 0
        if unit > 0.0:
            while code < last and unit * table[code + 1] <= a:
                code += 1
            if code < last:
                half = unit * (0.5 * (table[code] + table[code + 1]))
                code += a > half or (a == half and code % 2 == 1)
        codes[i] = -code if x[i] < 0 else code


@njit(cache=True, nogil=True)
def _stochastic(x, block, tensor, scales, scale_table, table, uniforms, codes):  # type: ignore[no-untyped-def]
    # up iff the uniform is below the share of the gap
    last = table.size - 1
    for i in range(x.size):
        unit = tensor * scale_table[scales[i // block]]
        a, code = abs(np.float64(x[i])), 0
        if unit > 0.0:
            while code < last and unit * table[code + 1] <= a:
                code += 1
            if code < last:
                low = unit * table[code]
                code += np.float64(uniforms[i]) < (a - low) / (unit * table[code + 1] - low)
        codes[i] = -code if x[i] < 0 else code


@njit(cache=True, nogil=True)
def _values(codes, block, tensor, scales, scale_table, table, largest, out):  # type: ignore[no-untyped-def]
    for i in range(codes.size):
        code = np.int64(codes[i])
        value = min(tensor * scale_table[scales[i // block]] * table[abs(code)], largest)
        out[i] = -value if code < 0 else value


@dataclass(frozen=True)
class NVFP4(Compressor):
    """Every entry at the nearest E2M1 element of its block's scale, an E4M3 number times a float32 for all blocks.

    With A the largest magnitude of all entries, g = A / (6 * 448) in float32 and m the largest magnitude of a block,
    the block's scale is s = m / (6 g) rounded to E4M3; an entry v is sent as the element nearest to v / (s g), of two
    the one with the even code, beyond 6 as 6 (NVIDIA Transformer Engine's reference of the NVFP4 recipe).

    Parameters
    ----------
    block : int
        Entries of a block; >= 1. The format has 16.
    scale : str
        "nearest": s is the nearest number of E4M3, of two the one with the even code. "up": the smallest that is not
        less; then nothing is clipped.

    Notes
    -----
    Comparisons are exact for the g that is stored. A block whose scale is rounded to zero becomes zeros, as do all
    entries where g underflows to zero; where g overflows, it is the largest float32. In the reference the quotient is
    computed in float32, so that an entry next to half-way may go the other way.
    4 n + 8 ceil(n / block) + 32 bits.

    Examples
    --------
    >>> import numpy as np
    >>> NVFP4(block=2)(np.array([2688.0, 450.0, 5.0, -2.0])).tolist()
    [2688.0, 448.0, 4.875, -1.625]
    """

    block: int = 16
    scale: str = "nearest"

    _rounds_randomly: ClassVar[bool] = False
    _largest_scale: ClassVar[float] = 2688.0
    """6 times 448: what the tensor's largest magnitude is divided by."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "block", checked_count("block", self.block, 1, 2**31 - 1))
        checked_choice("scale", self.scale, SCALES)

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> ScaledBlocks:
        """The message for `x`; see `Compressor.compress`."""
        return self._message(checked_array(x), None)

    def decompress(self, message: ScaledBlocks) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, ScaledBlocks)
        check_same("number of scales", message.scales.size, -(-message.codes.size // self.block))
        out = np.empty(message.shape, message.dtype)
        tensor, largest = float(message.tensor), float(np.finfo(message.dtype).max)

        def work(part: slice, groups: slice) -> None:
            scales = message.scales[groups]
            _values(message.codes[part], self.block, tensor, scales, _E4M3.table, _E2M1.table, largest, out[part])

        self._for_groups(out.size, work)
        return out

    def law(self, x: Sequence[Any]) -> Law:
        """The exact distribution of the output, for the float32 that is stored; see `Compressor.law`."""
        entries = checked_exact(x)
        tensor = Fraction(float(self._tensor(float(max(map(abs, entries))))))
        marginals: list[list[tuple[Fraction, Fraction]]] = []
        for start in range(0, len(entries), self.block):
            part = entries[start : start + self.block]
            marginals += self._read(part, tensor * self.exact_scale(part, tensor))
        return product_law(marginals)

    def _read(self, part: Sequence[Fraction], unit: Fraction) -> list[list[tuple[Fraction, Fraction]]]:
        """What every entry of a block is read as with this scale."""
        found: list[list[tuple[Fraction, Fraction]]] = []
        for value in part:
            sign = -1 if value < 0 else 1
            law = [(Fraction(1), Fraction(0))] if unit == 0 else self._elements_exact(abs(value) / unit)
            found.append([(p, sign * element * unit) for p, element in law])
        return found

    def exact_scale(self, part: Sequence[Fraction], tensor: Fraction, last: int = 6) -> Fraction:
        """The E4M3 scale with which a block's largest entry is read as `last`, in exact arithmetic."""
        if tensor == 0:
            return Fraction(0)
        wanted = max(map(abs, part)) / (last * tensor)
        low, high, even = _around(_E4M3.magnitudes, wanted)
        if self.scale == "up":
            return low if low == wanted else high
        return even if 2 * wanted == low + high else low if 2 * wanted < low + high else high

    def _tensor(self, largest: float) -> np.float32:
        """The float32 that all scales are relative to."""
        kind = np.finfo(np.float32)
        with np.errstate(over="ignore", under="ignore"):
            tensor = np.minimum(np.float32(largest / self._largest_scale), kind.max)
        if self.scale == "up" and float(tensor) * self._largest_scale < largest and tensor < kind.max:
            tensor = np.nextafter(tensor, kind.max)
        return np.float32(tensor)

    def _elements_exact(self, level: Fraction) -> list[tuple[Fraction, Fraction]]:
        """Elements of an entry of this magnitude, in units of the scale, with their probabilities."""
        low, high, even = _around(_E2M1.magnitudes, level)
        return [(Fraction(1), even if 2 * level == low + high else low if 2 * level < low + high else high)]

    def _message(self, x: Array, draw: Draw | None) -> ScaledBlocks:
        codes = np.empty(x.size, np.int8)
        scales = np.empty(-(-x.size // self.block), np.uint8)
        stored = self._tensor(float(np.abs(x).max()))
        tensor, up = float(stored), self.scale == "up"

        def work(part: slice, groups: slice) -> None:
            mine = scales[groups]
            _scale_codes(x[part], self.block, tensor, up, _E4M3.table, mine)
            if draw is None:
                _nearest(x[part], self.block, tensor, mine, _E4M3.table, _E2M1.table, codes[part])
            else:
                u = draw(part.start, part.stop)
                _stochastic(x[part], self.block, tensor, mine, _E4M3.table, _E2M1.table, u, codes[part])

        self._for_groups(x.size, work)
        return ScaledBlocks(x.shape, x.dtype, codes, scales, stored)

    def _for_groups(self, n: int, work: Any) -> None:
        """Call `work` on stretches of whole blocks: the entries, and the blocks."""

        def stretch(start: int, stop: int) -> None:
            work(slice(start, stop), slice(start // self.block, -(-stop // self.block)))

        for_blocks(n, stretch, max(1, BLOCK // self.block) * self.block)


@dataclass(frozen=True)
class StochasticNVFP4(NVFP4):
    """`NVFP4` with stochastic rounding of the entries: up with the share of the gap below them.

    Notes
    -----
    With "nearest" scales a block's largest entry may lie up to 1/16 beyond the largest element, where it is clipped:
    biased. With "up" scales unbiased, unless g underflows or overflows.

    Examples
    --------
    >>> import numpy as np
    >>> StochasticNVFP4()(np.array([2688.0, -896.0, 224.0]), np.random.default_rng(0))
    array([2688., -896.,  224.])
    """

    randomised = True
    _rounds_randomly: ClassVar[bool] = True

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> ScaledBlocks:
        """The message for `x`; one 64-bit key is drawn from `rng`, which is required."""
        array = checked_array(x)
        return self._message(array, Counted(key_from(checked_rng(rng)), array.dtype))

    def compress_with(self, x: ArrayLike, uniforms: ArrayLike) -> ScaledBlocks:
        """The message for `x` when the random inputs are `uniforms`, (n,) in the dtype of x and in [0, 1)."""
        array = checked_array(x)
        u = checked_uniforms(uniforms, array)
        return self._message(array, lambda start, stop: u[start:stop])

    def _elements_exact(self, level: Fraction) -> list[tuple[Fraction, Fraction]]:
        low, high, _ = _around(_E2M1.magnitudes, level)
        if low in (high, level):
            return [(Fraction(1), low)]
        up = (level - low) / (high - low)
        return [(1 - up, low), (up, high)]


def _around(numbers: Sequence[Fraction], level: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """The numbers below and above, and the one of them with the even code; the last one thrice beyond it."""
    if level >= numbers[-1]:
        return numbers[-1], numbers[-1], numbers[-1]
    at = sum(number <= level for number in numbers) - 1
    return numbers[at], numbers[at + 1], numbers[at + at % 2]
