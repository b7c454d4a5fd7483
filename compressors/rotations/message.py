"""What a rotated vector is sent as: `Rotated`, a code for every rotated entry, and the numbers that scale them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.array_types import Array
from commbounds.compressors._magnitude import LARGEST
from commbounds.compressors.base import Compressor, Message, check_part, index_bits, shown
from commbounds.compressors.rotations.hadamard import padded_size


@dataclass(frozen=True, eq=False)
class Rotated(Message):
    """A code for every rotated entry, of a fixed length, and numbers in the dtype of the vector.

    Parameters
    ----------
    codes : (d,) int16
        In [0, count); d is the next power of two.
    count : int
        How many codes there are; 1 where nothing is sent but numbers.
    numbers : (m,) float32 or float64
        Scales, or values, in the dtype of the compressed vector.
    signs : (n,) int8
        The signs of the rotation. They follow from a seed that both sides have, and are not sent.
    kept : (k,) int32
        Rotated entries that `numbers` are the values of, from the same seed; empty where all are coded.
    """

    codes: NDArray[np.int16]
    count: int
    numbers: Array
    signs: NDArray[np.int8]
    kept: NDArray[np.int32]

    @property
    def bits(self) -> int:
        """Exact size on the wire: the codes, and the numbers at their dtype."""
        return self.codes.size * index_bits(self.count) + self.numbers.size * 8 * self.dtype.itemsize

    def check(self) -> None:
        super().check()
        n, d = self.shape[0], padded_size(self.shape[0])
        if type(self.count) is not int or not 1 <= self.count <= 2**15:
            raise ValueError(f"count of the message must be an integer in [1, 2^15], got {shown(self.count)}")
        check_part("signs", self.signs, (n,), (np.int8,), -1, 1)
        if not self.signs.all():
            raise ValueError("signs of the message must be -1 or 1")
        check_part("kept", self.kept, None, (np.int32,), 0, d - 1)
        kept = self.kept.size
        check_part("codes", self.codes, (d if self.count > 1 else kept,), (np.int16,), 0, self.count - 1)
        if kept and (self.kept[0] < 0 or self.kept[-1] >= d or (np.diff(self.kept) < 1).any()):
            raise ValueError(f"kept of the message must ascend within [0, {d})")
        check_part("numbers", self.numbers, None, (self.dtype,))
        if not self.numbers.size or (kept and kept != self.numbers.size):
            raise ValueError("numbers of the message must be as many as its rotated entries kept, and at least one")


NONE_KEPT = np.zeros(0, np.int32)


def decoded(compressor: Compressor, message: Rotated) -> Rotated:
    """`message` itself, if what it stands for is finite.

    Raises
    ------
    ValueError
        An entry leaves the range of the dtype.
    """
    largest = max(map(abs, message.numbers.tolist())) if message.numbers.size < 8 else np.abs(message.numbers).max()
    if float(largest) * message.codes.size * 8 >= LARGEST[message.dtype.itemsize]:
        try:
            compressor.decompress(message)
        except ValueError:
            raise ValueError(
                f"x must be small enough for its estimate to fit in {message.dtype}, and is not: scale x down"
            ) from None
    return message


def number_array(dtype: np.dtype[Any], *numbers: float) -> Array:
    """The numbers rounded to the dtype.

    Raises
    ------
    ValueError
        One leaves the range of the dtype.
    """
    if all(abs(number) <= LARGEST[dtype.itemsize] for number in numbers):
        return np.array(numbers, dtype)
    with np.errstate(over="ignore"):
        found = np.array(numbers, np.float64).astype(dtype)
    if not np.isfinite(found).all():
        raise ValueError(f"x must be small enough for its scale to fit in {dtype}, and is not: scale x down")
    return found


# --- the law, in exact arithmetic -----------------------------------------------------------------------------------

MOST_PATTERNS = 2**16


def whole(values: Sequence[Any]) -> tuple[list[int], int]:
    """Whole numbers, and what all of them are to be divided by to give `values`, rational."""
    common = math.lcm(*(v.denominator for v in values))
    return [v.numerator * (common // v.denominator) for v in values], common


def exact_transform(y: Sequence[int]) -> list[int]:
    """``H y``, the length a power of two."""
    out = list(y)
    half = 1
    while half < len(out):
        for start in range(0, len(out), 2 * half):
            for i in range(start, start + half):
                a, b = out[i], out[i + half]
                out[i], out[i + half] = a + b, a - b
        half *= 2
    return out


def exact_rotations(x: Sequence[Fraction]) -> Iterator[tuple[tuple[int, ...], list[Fraction]]]:
    """Every pattern of signs, with ``H D x``.

    Raises
    ------
    ValueError
        There are more than 2^16 patterns.
    """
    n = len(x)
    if 2**n > MOST_PATTERNS:
        raise ValueError("the law has more than 2**16 outcomes: use a shorter x")
    numbers, common = whole(x)
    zeros = [0] * ((1 << (n - 1).bit_length()) - n)
    for signs in product((1, -1), repeat=n):
        turned = exact_transform([v * s for v, s in zip(numbers, signs, strict=True)] + zeros)
        yield signs, [Fraction(v, common) for v in turned]


def exact_back(y: Sequence[Any], signs: Sequence[int]) -> tuple[Any, ...]:
    """The first entries of ``D H y``, of rational numbers."""
    numbers, common = whole(y)
    return tuple(Fraction(v * s, common) for v, s in zip(exact_transform(numbers), signs, strict=False))
