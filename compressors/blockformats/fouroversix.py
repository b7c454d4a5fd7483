"""NVFP4 whose blocks end at 4 where that errs less than ending at 6: Four Over Six."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors._random import key_from
from commbounds.compressors.base import (
    Law,
    check_uniforms,
    checked_array,
    checked_choice,
    checked_exact,
    checked_rng,
    merged_law,
    product_law,
    writable,
)
from commbounds.compressors.blockformats.elements import ELEMENTS
from commbounds.compressors.blockformats.message import ScaledBlocks
from commbounds.compressors.blockformats.nvfp4 import NVFP4, StochasticNVFP4, _nearest, _scale_codes, _stochastic
from commbounds.compressors.quantizers.message import Counted

Pairs = Callable[[int, int, int], Array]
"""``draw(which, start, stop)``: uniforms of entries start .. stop - 1, of those that end at 6 (0) or 4 (1)."""
_E2M1, _E4M3 = ELEMENTS["e2m1"], ELEMENTS["e4m3"]
CHOICES = ("drawn", "expected")
"""Whether a block's two errors are those of what was drawn, or their expectations."""


@njit(cache=True, nogil=True)
def _scales_of_four(x, block, tensor, up, table, codes):  # type: ignore[no-untyped-def]
    # as for 6, with 4: products of a float32, an E4M3 number and 4 are exact, and so are the comparisons
    last = table.size - 1
    for g in range(codes.size):
        top = 0.0
        for i in range(g * block, min((g + 1) * block, x.size)):
            top = max(top, abs(np.float64(x[i])))
        unit = 4.0 * tensor
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
def _errors(x, block, tensor, scales, scale_table, table, codes, errors):  # type: ignore[no-untyped-def]
    # squared errors of what was coded, added in the order of the entries
    for g in range(scales.size):
        unit, total = tensor * scale_table[scales[g]], 0.0
        for i in range(g * block, min((g + 1) * block, x.size)):
            off = abs(np.float64(x[i])) - unit * table[abs(np.int64(codes[i]))]
            total += off * off
        errors[g] = total


@njit(cache=True, nogil=True)
def _expected_errors(x, block, tensor, scales, scale_table, table, errors):  # type: ignore[no-untyped-def]
    # (a - low) (high - a) of every entry, and what is beyond the last element
    last = table.size - 1
    for g in range(scales.size):
        unit, total = tensor * scale_table[scales[g]], 0.0
        for i in range(g * block, min((g + 1) * block, x.size)):
            a, code = abs(np.float64(x[i])), 0
            if unit > 0.0:
                while code < last and unit * table[code + 1] <= a:
                    code += 1
            low = unit * table[code]
            if unit > 0.0 and code < last:
                total += (a - low) * (unit * table[code + 1] - a)
            else:
                total += (a - low) * (a - low)
        errors[g] = total


@dataclass(frozen=True)
class FourOverSix(NVFP4):
    """`NVFP4` in which a block's largest entry is read as 6 or as 4 times its scale, whichever errs less.

    With A the largest magnitude of all entries, g = A / (6 * 256) in float32 and m the largest magnitude of a block,
    the scales m / (6 g) and m / (4 g) are rounded to E4M3, and the block is sent with the one whose squared error is
    less, the first of two that err alike (Cook et al. 2025, arXiv:2512.02010, and their reference implementation).

    Parameters
    ----------
    block : int
        Entries of a block; >= 1. The format has 16.
    scale : str
        "nearest" or "up", as for `NVFP4`.

    Notes
    -----
    Messages are those of NVFP4. Errors are added in float64 (the reference: float32), so that two that are closer than
    their rounding may be taken for each other; `law` compares exactly. The tensor's scale is 7/4 of NVFP4's: blocks are
    lost from 1/393216 of the vector's largest magnitude on, and not from 1/458752.

    Examples
    --------
    >>> import numpy as np
    >>> FourOverSix(block=2)(np.array([1536.0, 1152.0, 6.0, 5.0])).tolist()
    [1536.0, 1152.0, 6.0, 4.5]
    """

    _largest_scale: ClassVar[float] = 1536.0
    """6 times 256: half as much again, which ends a block at 4, is a number of E4M3."""

    def law(self, x: Sequence[Any]) -> Law:
        """The exact distribution of the output, for the float32 that is stored; see `Compressor.law`."""
        entries = checked_exact(x)
        tensor = Fraction(float(self._tensor(float(max(map(abs, entries))))))
        blocks = []
        for start in range(0, len(entries), self.block):
            part = entries[start : start + self.block]
            units = [tensor * self.exact_scale(part, tensor, last) for last in (6, 4)]
            blocks.append(self._block_law(part, *units))
        outcomes = []
        for chosen in product(*blocks):
            probability: Any = Fraction(1)
            output: tuple[Any, ...] = ()
            for p, values in chosen:
                probability, output = probability * p, output + values
            outcomes.append((probability, output))
        return merged_law(outcomes)

    def _block_law(self, part: Sequence[Fraction], six: Fraction, four: Fraction) -> Law:
        outcomes = []
        for (p, a), (q, b) in product(*(product_law(self._read(part, unit)) for unit in (six, four))):
            outcomes.append((p * q, b if _squared(part, b) < _squared(part, a) else a))
        return merged_law(outcomes)

    def _message(self, x: Array, draw: Any) -> ScaledBlocks:
        stored = self._tensor(float(np.abs(x).max()))
        tensor, up = float(stored), self.scale == "up"
        codes = np.empty(x.size, np.int8)
        scales = np.empty(-(-x.size // self.block), np.uint8)

        def work(part: slice, groups: slice) -> None:
            values, count = x[part], groups.stop - groups.start
            found, errors = [], []
            for which, scaling in enumerate((_scale_codes, _scales_of_four)):
                mine, coded = np.empty(count, np.uint8), np.empty(values.size, np.int8)
                scaling(values, self.block, tensor, up, _E4M3.table, mine)
                if draw is None:
                    _nearest(values, self.block, tensor, mine, _E4M3.table, _E2M1.table, coded)
                else:
                    u = draw(which, part.start, part.stop)
                    _stochastic(values, self.block, tensor, mine, _E4M3.table, _E2M1.table, u, coded)
                found.append((mine, coded))
                errors.append(self._block_errors(values, tensor, mine, coded))
            four = errors[1] < errors[0]
            scales[groups] = np.where(four, found[1][0], found[0][0])
            codes[part] = np.where(np.repeat(four, self.block)[: values.size], found[1][1], found[0][1])

        self._for_groups(x.size, work)
        return ScaledBlocks(x.shape, x.dtype, codes, scales, stored)

    def _block_errors(self, values: Array, tensor: float, scales: Array, codes: Array) -> Array:
        """What the choice goes by, of every block."""
        errors = np.empty(scales.size)
        # entries near float64's ends: squares overflow, or vanish, alike for both
        with np.errstate(over="ignore", under="ignore"):
            _errors(values, self.block, tensor, scales, _E4M3.table, _E2M1.table, codes, errors)
        return errors


@dataclass(frozen=True)
class StochasticFourOverSix(FourOverSix):
    """`FourOverSix` with stochastic rounding of the entries, drawn anew for either scale.

    Parameters
    ----------
    block, scale
        As for `FourOverSix`.
    choice : str
        "drawn": of the two vectors that were drawn the one that errs less, as in the reference implementation.
        "expected": the scale whose expected squared error is less, before anything is drawn.

    Notes
    -----
    "drawn" is biased: of two unbiased outcomes it keeps the nearer one. "expected" is unbiased with scales that are
    rounded up.

    Examples
    --------
    >>> import numpy as np
    >>> StochasticFourOverSix(4)(np.array([1536.0, 1024.0, -256.0]), np.random.default_rng(0))
    array([1536., 1024., -256.])
    """

    choice: str = "drawn"

    randomised = True
    _rounds_randomly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_choice("choice", self.choice, CHOICES)

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> ScaledBlocks:
        """The message for `x`; one 64-bit key is drawn from `rng`, which is required."""
        array = checked_array(x)
        drawn = Counted(key_from(checked_rng(rng)), array.dtype)
        return self._message(array, lambda which, a, b: drawn(a + which * array.size, b + which * array.size))

    def compress_with(self, x: ArrayLike, pairs: ArrayLike) -> ScaledBlocks:
        """The message for `x` when the random inputs are `pairs`, (2, n) in the dtype of x and in [0, 1).

        The first row's uniforms are those of the scale that ends at 6.
        """
        array = checked_array(x)
        u = writable(np.ascontiguousarray(pairs))
        if u.dtype != array.dtype:
            raise TypeError(f"pairs must have the dtype of x, {array.dtype}, got {u.dtype}")
        if u.shape != (2, array.size):
            raise ValueError(f"pairs must have shape {(2, array.size)}, got {u.shape}")
        check_uniforms("pairs", u)
        return self._message(array, lambda which, start, stop: u[which, start:stop])

    _elements_exact = StochasticNVFP4._elements_exact

    def _block_law(self, part: Sequence[Fraction], six: Fraction, four: Fraction) -> Law:
        if self.choice == "drawn":
            return super()._block_law(part, six, four)
        laws = [product_law(self._read(part, unit)) for unit in (six, four)]
        expected = [sum((p * _squared(part, y) for p, y in law), Fraction(0)) for law in laws]
        return laws[1] if expected[1] < expected[0] else laws[0]

    def _block_errors(self, values: Array, tensor: float, scales: Array, codes: Array) -> Array:
        if self.choice == "drawn":
            return super()._block_errors(values, tensor, scales, codes)
        errors = np.empty(scales.size)
        with np.errstate(over="ignore", under="ignore"):
            _expected_errors(values, self.block, tensor, scales, _E4M3.table, _E2M1.table, errors)
        return errors


def _squared(x: Sequence[Fraction], y: Sequence[Any]) -> Fraction:
    return sum(((a - b) ** 2 for a, b in zip(x, y, strict=True)), Fraction(0))
