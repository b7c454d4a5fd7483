"""Shared microexponents (MX9, MX6, MX4): an exponent for a block, and a shift by one for pairs of its entries."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from commbounds.array_types import Array, Bytes
from commbounds.compressors._blocks import BLOCK, for_blocks
from commbounds.compressors.base import (
    Compressor,
    Law,
    Message,
    check_part,
    check_same,
    checked_array,
    checked_count,
    checked_exact,
    checked_message,
    shown,
)
from commbounds.compressors.quantizers.powers import floor_power


@dataclass(frozen=True, eq=False)
class ShiftedBlocks(Message):
    """A signed number for every entry, an exponent for every block and a shift for every pair.

    Parameters
    ----------
    codes : (n,) int16
        In [-(2^digits - 1), 2^digits - 1].
    exponents : (ceil(n / block),) int16
        In [-127, 127]: a byte each.
    shifts : (ceil(n / 2),) uint8, or as many as pairs of all blocks
        0 or 1, of the pairs of every block one after another.
    digits : int
        Bits of a magnitude.
    """

    codes: NDArray[np.int16]
    exponents: NDArray[np.int16]
    shifts: Bytes
    digits: int

    @property
    def bits(self) -> int:
        """Exact size on the wire: sign and magnitude of every entry, a byte a block, a bit a pair."""
        return int(self.codes.size * (self.digits + 1) + 8 * self.exponents.size + self.shifts.size)

    def check(self) -> None:
        super().check()
        if type(self.digits) is not int or not 1 <= self.digits <= 10:
            raise ValueError(f"digits of the message must be an integer in [1, 10], got {shown(self.digits)}")
        most = 2**self.digits - 1
        check_part("codes", self.codes, self.shape, (np.int16,), -most, most)
        check_part("exponents", self.exponents, None, (np.int16,), -127, 127)
        check_part("shifts", self.shifts, None, (np.uint8,), 0, 1)


@njit(cache=True, nogil=True)
def _shifted(x, block, digits, exponents, shifts, codes):  # type: ignore[no-untyped-def]
    # the block's largest magnitude is in [2^e, 2^(e + 1)); a pair below 2^e is scaled with half the step
    last, pairs = float(2**digits - 1), (block + 1) // 2
    for g in range(exponents.size):
        start, stop = g * block, min((g + 1) * block, x.size)
        top = 0.0
        for i in range(start, stop):
            top = max(top, abs(np.float64(x[i])))
        exponent = -127
        if top > 0.0:
            exponent = min(max(math.frexp(top)[1] - 1, -127), 127)
        exponents[g] = exponent
        for j in range((stop - start + 1) // 2):
            first, end = start + 2 * j, min(start + 2 * j + 2, stop)
            highest = 0.0
            for i in range(first, end):
                highest = max(highest, abs(np.float64(x[i])))
            shift = int(highest < math.ldexp(1.0, exponent))
            shifts[g * pairs + j] = shift
            for i in range(first, end):
                level = np.rint(math.ldexp(abs(np.float64(x[i])), digits - 1 + shift - exponent))
                code = np.int64(min(level, last))
                codes[i] = -code if x[i] < 0 else code


@njit(cache=True, nogil=True)
def _values(codes, block, digits, exponents, shifts, largest, out):  # type: ignore[no-untyped-def]
    pairs = (block + 1) // 2
    for i in range(codes.size):
        g = i // block
        shift = np.int64(shifts[g * pairs + (i - g * block) // 2])
        value = math.ldexp(float(abs(np.int64(codes[i]))), int(exponents[g] - shift - digits + 1))
        value = min(value, largest)
        out[i] = -value if codes[i] < 0 else value


@dataclass(frozen=True)
class SharedMicroexponents(Compressor):
    """Every entry a multiple of a step that its block shares, and that is halved for pairs of small ones.

    With 2^e the power of two below the largest magnitude of a block, a pair of entries has the step 2^(e + 1 - digits),
    and half of that where both its entries are below 2^e; entries are rounded to the nearest multiple, of two the even
    one, of at most 2^digits - 1 steps (Rouhani et al. 2023, arXiv:2302.08007: MX9, MX6 and MX4 have 7, 4 and 2 digits).

    Parameters
    ----------
    digits : int
        Bits of a magnitude, in [1, 10]; a sign comes to them.
    block : int
        Entries of a block; >= 1. The formats have 16.

    Notes
    -----
    Exponents are clamped to -127 .. 127, beyond which entries are cut off, or lost. Pairs begin with the block.
    n (digits + 1) + 8 ceil(n / block) + (pairs) bits: digits + 2 an entry in whole blocks of 16.

    Examples
    --------
    >>> import numpy as np
    >>> SharedMicroexponents(2)(np.array([1.0, 0.2, 0.3, 0.9, 0.1, 0.0]))
    array([1.  , 0.  , 0.25, 0.75, 0.  , 0.  ])
    """

    digits: int = 4
    block: int = 16

    def __post_init__(self) -> None:
        object.__setattr__(self, "digits", checked_count("digits", self.digits, 1, 10))
        object.__setattr__(self, "block", checked_count("block", self.block, 1, 2**31 - 1))

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> ShiftedBlocks:
        """The message for `x`; see `Compressor.compress`."""
        array = checked_array(x)
        block = min(self.block, array.size)
        codes = np.empty(array.size, np.int16)
        exponents = np.empty(-(-array.size // block), np.int16)
        shifts = np.empty(self._pairs(array.size), np.uint8)

        def work(part: slice, groups: slice, pairs: slice) -> None:
            _shifted(array[part], block, self.digits, exponents[groups], shifts[pairs], codes[part])

        self._for_groups(array.size, work)
        return ShiftedBlocks(array.shape, array.dtype, codes, exponents, shifts, self.digits)

    def decompress(self, message: ShiftedBlocks) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, ShiftedBlocks)
        n = message.codes.size
        check_same("digits", message.digits, self.digits)
        check_same("number of exponents", message.exponents.size, -(-n // min(self.block, n)))
        check_same("number of shifts", message.shifts.size, self._pairs(n))
        out = np.empty(message.shape, message.dtype)
        largest, block = float(np.finfo(message.dtype).max), min(self.block, out.size)

        def work(part: slice, groups: slice, pairs: slice) -> None:
            exponents, shifts = message.exponents[groups], message.shifts[pairs]
            _values(message.codes[part], block, self.digits, exponents, shifts, largest, out[part])

        self._for_groups(out.size, work)
        return out

    def law(self, x: Sequence[Any]) -> Law:
        """The output, for exponents without limits; see `Compressor.law`."""
        entries = checked_exact(x)
        found: list[Fraction] = []
        for start in range(0, len(entries), self.block):
            part = entries[start : start + self.block]
            power = floor_power(max(map(abs, part))) if any(part) else Fraction(1)
            for first in range(0, len(part), 2):
                pair = part[first : first + 2]
                step = 2 * power / 2**self.digits / (2 if max(map(abs, pair)) < power else 1)
                for v in pair:
                    size = min(round(abs(v) / step), 2**self.digits - 1) * step
                    found.append(-size if v < 0 else size)
        return [(Fraction(1), tuple(found))]

    def _pairs(self, n: int) -> int:
        """Pairs of all blocks of n entries."""
        whole, rest = divmod(n, min(self.block, n))
        return whole * ((min(self.block, n) + 1) // 2) + (rest + 1) // 2

    def _for_groups(self, n: int, work: Any) -> None:
        """Call `work` on stretches of whole blocks: the entries, the blocks, the pairs."""
        block = min(self.block, n)
        pairs = (block + 1) // 2

        def stretch(start: int, stop: int) -> None:
            first, last = start // block, -(-stop // block)
            work(slice(start, stop), slice(first, last), slice(first * pairs, last * pairs))

        for_blocks(n, stretch, max(1, BLOCK // block) * block)
