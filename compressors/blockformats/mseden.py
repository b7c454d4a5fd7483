"""MS-EDEN: elements of four bits rounded to nearest after a randomised rotation, with a scale that restores length."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from commbounds.array_types import Array
from commbounds.compressors.base import (
    Compressor,
    Law,
    Message,
    check_part,
    check_same,
    checked_array,
    checked_exact,
    checked_message,
    checked_rng,
    merged_law,
    shown,
)
from commbounds.compressors.blockformats.elements import ELEMENTS

_E2M1 = ELEMENTS["e2m1"]
DIMS = (1, 4, 16, 64)
"""Entries that are rotated together: there the Hadamard matrix over its norm is rational."""


@dataclass(frozen=True, eq=False)
class RotatedBlocks(Message):
    """Elements of the rotated groups, a scale for each, and the signs of the rotation.

    Parameters
    ----------
    codes : (groups dim,) int8
        Signed codes of E2M1; more than n where the last group is not full.
    scales : (groups,) float32 or float64
        In the dtype of the compressed vector.
    signs : (dim,) int8
        -1 or 1. Both sides draw them from a common seed: they are not sent.
    """

    codes: NDArray[np.int8]
    scales: Array
    signs: NDArray[np.int8]

    @property
    def bits(self) -> int:
        """Exact size on the wire: four bits an element, and the scales at their dtype."""
        return int(4 * self.codes.size + 8 * self.dtype.itemsize * self.scales.size)

    def check(self) -> None:
        super().check()
        check_part("scales", self.scales, None, (self.dtype,))
        check_part("signs", self.signs, None, (np.int8,), -1, 1)
        if not self.scales.size or not self.signs.size or not self.signs.all():
            raise ValueError("the message must have scales, and signs that are -1 or 1")
        check_part("codes", self.codes, (self.scales.size * self.signs.size,), (np.int8,), -7, 7)
        if self.scales.size != -(-self.shape[0] // self.signs.size):
            raise ValueError(f"the message must have a scale for every {self.signs.size} of {self.shape[0]} entries")


@njit(cache=True, nogil=True)
def _hadamard(values, dim):  # type: ignore[no-untyped-def]
    # Sylvester's matrix times every group of dim entries, in place, over sqrt(dim)
    half = 1
    while half < dim:
        for start in range(0, values.size, 2 * half):
            for i in range(start, start + half):
                a, b = values[i], values[i + half]
                values[i], values[i + half] = a + b, a - b
        half *= 2
    root = np.sqrt(np.float64(dim))
    for i in range(values.size):
        values[i] /= root


@njit(cache=True, nogil=True)
def _rounded(values, dim, table, codes, scales):  # type: ignore[no-untyped-def]
    # elements nearest to 6 v / max |v|, and the scale that makes <v, read> = <v, v>
    last = table.size - 1
    for g in range(scales.size):
        top = 0.0
        for i in range(g * dim, (g + 1) * dim):
            top = max(top, abs(values[i]))
        square = mixed = 0.0
        for i in range(g * dim, (g + 1) * dim):
            code = 0
            if top > 0.0:
                share = abs(values[i]) / top
                a = 6.0 * share
                while code < last and table[code + 1] <= a:
                    code += 1
                if code < last:
                    half = 0.5 * (table[code] + table[code + 1])
                    code += a > half or (a == half and code % 2 == 1)
                square += share * share
                mixed += share * table[code]
            codes[i] = -code if values[i] < 0 else code
        scales[g] = top * (square / mixed) if top > 0.0 else 0.0


@dataclass(frozen=True)
class MSEden(Compressor):
    """Groups rotated by a Hadamard matrix with random signs, rounded to the nearest E2M1 element, and rescaled.

    With y = H D v / sqrt(d), D a diagonal of random signs and H Sylvester's matrix, Q(y) the elements nearest to
    6 y / max|y|, the receiver reads D H^T S Q(y) / sqrt(d), S = <y, y> / <y, Q(y)> (Panferov et al. 2026,
    arXiv:2601.22813, and the authors' code). There S is rounded to E4M3 stochastically, which changes no mean;
    here it is sent as it is.

    Parameters
    ----------
    dim : int
        Entries that are rotated together: 1, 4, 16 or 64. A last group that is not full is filled up with zeros.

    Notes
    -----
    For every sign pattern the output's inner product with the group is the group's squared norm. Not unbiased: the
    signs take a group to few points.

    Examples
    --------
    >>> import numpy as np
    >>> MSEden(4)(np.array([1.0, 1.0, 1.0, 1.0]), np.random.default_rng(0))
    array([1., 1., 1., 1.])
    """

    dim: int = 16
    randomised = True

    def __post_init__(self) -> None:
        if isinstance(self.dim, bool) or not isinstance(self.dim, int | np.integer):
            raise TypeError(f"dim must be an integer, got {shown(self.dim)}")
        if self.dim not in DIMS:
            raise ValueError(f"dim must be one of {', '.join(map(str, DIMS))}, got {shown(self.dim)}")
        object.__setattr__(self, "dim", int(self.dim))

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> RotatedBlocks:
        """The message for `x`; the signs are drawn from `rng`, which is required."""
        array = checked_array(x)
        signs = 2 * checked_rng(rng).integers(0, 2, self.dim, dtype=np.int8) - np.int8(1)
        return self._message(array, signs)

    def compress_with(self, x: ArrayLike, signs: ArrayLike) -> RotatedBlocks:
        """The message for `x` when the signs of the rotation are these: (dim,) of -1 and 1."""
        array, given = checked_array(x), np.asarray(signs)
        if given.dtype.kind not in "iuf" or given.shape != (self.dim,) or not np.isin(given, (-1, 1)).all():
            raise ValueError(f"signs must be {self.dim} numbers -1 or 1, got {shown(signs)}")
        return self._message(array, given.astype(np.int8))

    def decompress(self, message: RotatedBlocks) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, RotatedBlocks)
        check_same("number of signs", message.signs.size, self.dim)
        codes, scales = message.codes.astype(np.int64), message.scales.astype(np.float64)
        # relative to a power of two next to the largest scale, so that nothing overflows on the way
        power = int(np.frexp(np.abs(scales).max())[1])
        values = np.copysign(_E2M1.table[np.abs(codes)], codes) * np.repeat(np.ldexp(scales, -power), self.dim)
        _hadamard(values, self.dim)
        values *= np.tile(message.signs.astype(np.float64), scales.size)
        largest = float(np.finfo(message.dtype).max)
        with np.errstate(over="ignore"):
            values = np.ldexp(values[: message.shape[0]], power)
        read: Array = np.clip(values, -largest, largest).astype(message.dtype)
        return read

    def law(self, x: Sequence[Any]) -> Law:
        """The exact distribution of the output: all sign patterns; see `Compressor.law`.

        Raises
        ------
        ValueError
            More than 2^16 patterns: `dim` is 64, and x has more than 16 entries.
        """
        entries = checked_exact(x)
        met = min(len(entries), self.dim)  # other signs meet zeros alone
        if met > 16:
            raise ValueError("the law has more than 2**16 outcomes: use a shorter x, or a dim of at most 16")
        patterns = [(*signs, *(1,) * (self.dim - met)) for signs in product((1, -1), repeat=met)]
        share = Fraction(1, len(patterns))
        return merged_law([(share, self.exact_output(entries, signs)) for signs in patterns])

    def exact_output(self, entries: Sequence[Fraction], signs: Sequence[int]) -> tuple[Fraction, ...]:
        """What is read of `entries` under these signs, in exact arithmetic."""
        filled = [*entries, *[Fraction(0)] * (-len(entries) % self.dim)]
        read: list[Fraction] = []
        for start in range(0, len(filled), self.dim):
            y = _exact_hadamard([v * s for v, s in zip(filled[start : start + self.dim], signs, strict=True)])
            top = max(map(abs, y))
            if top == 0:
                read += [Fraction(0)] * self.dim
                continue
            levels = [_nearest_exact(6 * abs(v) / top) * (-1 if v < 0 else 1) for v in y]
            square = sum((v * v for v in y), Fraction(0))
            scale = square / sum((v * q for v, q in zip(y, levels, strict=True)), Fraction(0))
            back = _exact_hadamard([scale * q for q in levels])
            read += [v * s for v, s in zip(back, signs, strict=True)]
        return tuple(read[: len(entries)])

    def _message(self, x: Array, signs: NDArray[np.int8]) -> RotatedBlocks:
        groups = -(-x.size // self.dim)
        # relative to a power of two next to the largest entry, so that no square over- or underflows
        values = np.zeros(groups * self.dim)
        values[: x.size] = x
        power = int(np.frexp(np.abs(values).max())[1])
        values = np.ldexp(values, -power) * np.tile(signs.astype(np.float64), groups)
        _hadamard(values, self.dim)
        codes, scales = np.empty(values.size, np.int8), np.empty(groups)
        _rounded(values, self.dim, _E2M1.table, codes, scales)
        largest = float(np.finfo(x.dtype).max)
        with np.errstate(over="ignore"):
            stored = np.minimum(np.ldexp(scales, power), largest).astype(x.dtype)
        return RotatedBlocks(x.shape, x.dtype, codes, stored, signs)


def _exact_hadamard(values: list[Fraction]) -> list[Fraction]:
    out: list[Fraction] = list(values)
    dim, half = len(values), 1
    while half < dim:
        for start in range(0, dim, 2 * half):
            for i in range(start, start + half):
                out[i], out[i + half] = out[i] + out[i + half], out[i] - out[i + half]
        half *= 2
    root = Fraction(isqrt(dim))
    return [v / root for v in out]


def _nearest_exact(level: Fraction) -> Fraction:
    numbers = _E2M1.magnitudes
    at = sum(number <= level for number in numbers) - 1
    if at == len(numbers) - 1:
        return numbers[-1]
    low, high = numbers[at], numbers[at + 1]
    return numbers[at + at % 2] if 2 * level == low + high else low if 2 * level < low + high else high
