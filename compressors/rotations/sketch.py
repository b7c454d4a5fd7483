"""The subsampled randomised Hadamard transform: few of the rotated entries, as they are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.array_types import Array
from commbounds.compressors._random import key_from
from commbounds.compressors.base import (
    Compressor,
    Law,
    as_numbers,
    check_same,
    checked_array,
    checked_count,
    checked_exact,
    checked_message,
    checked_rng,
    finite_reading,
    merged_law,
)
from commbounds.compressors.rotations.hadamard import (
    Signs,
    backward,
    checked_signs,
    checked_size,
    drawn_signs,
    forward,
    padded_size,
)
from commbounds.compressors.rotations.message import (
    MOST_PATTERNS,
    Rotated,
    decoded,
    exact_back,
    exact_rotations,
    number_array,
)
from commbounds.compressors.rotations.signs import brought_near_one


@dataclass(frozen=True)
class HadamardSketch(Compressor):
    """k of the d rotated entries, drawn without replacement: ``x' = D H S H D x / k``, S the diagonal of those drawn.

    H is the Walsh-Hadamard matrix, D a diagonal of random signs, and x padded with zeros to a power of two, d.

    Parameters
    ----------
    k : int
        Entries sent; 1 <= k <= d.

    Notes
    -----
    Unbiased; E (x' - x)_i^2 = (d/k - 1) (||x||^2 - x_i^2)/(d - 1) exactly. k 8 itemsize bits: which entries are sent,
    and the signs D, follow from a shared seed. What is sent are the rotated entries over k; `DRIVE` says how x is
    rotated.

    Examples
    --------
    >>> import numpy as np
    >>> HadamardSketch(4)(np.array([3.0, -1.0, 2.0]), np.random.default_rng(0))
    array([ 3., -1.,  2.])
    """

    k: int
    randomised = True
    claims = (
        "rotations.hadamardsketch.unbiased",
        "rotations.hadamardsketch.variance",
        "rotations.hadamardsketch.shrunk_contraction",
        "rotations.hadamardsketch.entry_variance",
        "rotations.hadamardsketch.wire",
        "rotations.hadamardsketch.sign_symmetry",
        "rotations.hadamardsketch.scale_equivariance",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_count("k", self.k))

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Rotated:
        """The message for `x`; see `Compressor.compress`. One 64-bit key gives the signs; k of d are then drawn."""
        array = checked_array(x, finite=False)
        generator = checked_rng(rng)
        d = self._checked(array.size)
        signs = drawn_signs(key_from(generator), array.size)
        return self._encoded(array, signs, np.sort(generator.choice(d, self.k, replace=False)).astype(np.int32))

    def compress_with(self, x: ArrayLike, kept: ArrayLike, signs: ArrayLike) -> Rotated:
        """The message for `x` with the rotated entries `kept`, (k,) ascending, and these signs: (n,) integers."""
        array = checked_array(x, finite=False)
        d = self._checked(array.size)
        chosen = as_numbers(kept, "kept", kinds="iu")
        if chosen.shape != (self.k,) or (np.diff(chosen.astype(np.int64)) <= 0).any():
            raise ValueError(f"kept must be {self.k} ascending indices, got {chosen}")
        if chosen[0] < 0 or chosen[-1] >= d:
            raise ValueError(f"kept must be in [0, {d}), got {chosen}")
        return self._encoded(array, checked_signs(signs, array.size), chosen.astype(np.int32))

    def _checked(self, n: int) -> int:
        checked_size(n)
        checked_count("k", self.k, 1, padded_size(n))
        return padded_size(n)

    def _encoded(self, array: Array, signs: Signs, kept: NDArray[np.int32]) -> Rotated:
        near, exponent = brought_near_one(array)
        values = forward(near, signs)[kept] / self.k
        with np.errstate(over="ignore"):
            numbers = number_array(array.dtype, *np.ldexp(values, exponent))
        # room for what is added up: as many codes of one value, which take no bits
        codes = np.zeros(self.k, np.int16)
        return decoded(self, Rotated(array.shape, array.dtype, codes, 1, numbers, signs, kept))

    def decompress(self, message: Rotated) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Rotated)
        check_same("count", message.count, 1)
        check_same("number of kept entries", message.kept.size, self.k)
        y = np.zeros(padded_size(message.signs.size))
        # next to one, so that sums of the largest numbers do not overflow on the way
        wide = message.numbers.astype(np.float64)
        exponent = math.frexp(float(np.abs(wide).max()))[1]
        y[message.kept] = np.ldexp(wide, -exponent)
        with np.errstate(over="ignore"):
            read: Array = np.ldexp(backward(y, message.signs), exponent).astype(message.dtype)
        return finite_reading(read)

    def law(self, x: Sequence[Any]) -> Law:
        """The exact distribution of the output: all patterns of signs and all subsets, at most 2^16 pairs."""
        values = checked_exact(x)
        n = len(values)
        d = 1 << (n - 1).bit_length()
        k = checked_count("k", self.k, 1, d)
        if 2**n * comb(d, k) > MOST_PATTERNS:
            raise ValueError("the law has more than 2**16 outcomes: use a shorter x")
        probability = Fraction(1, 2**n * comb(d, k))
        outcomes = []
        for signs, y in exact_rotations(values):
            for kept in combinations(range(d), k):
                part = [y[j] / k if j in kept else Fraction(0) for j in range(d)]
                outcomes.append((probability, exact_back(part, signs)))
        return merged_law(outcomes)
