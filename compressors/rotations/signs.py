"""DRIVE: the signs of the rotated entries, and a scale."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors._magnitude import finite_largest
from commbounds.compressors._random import key_from
from commbounds.compressors.base import (
    Compressor,
    Law,
    check_same,
    checked_array,
    checked_choice,
    checked_exact,
    checked_message,
    checked_rng,
    finite_reading,
    merged_law,
)
from commbounds.compressors.rotations.hadamard import Signs, backward, checked_signs, checked_size, drawn_signs, forward
from commbounds.compressors.rotations.message import (
    NONE_KEPT,
    Rotated,
    decoded,
    exact_back,
    exact_rotations,
    number_array,
)

SCALES = ("unbiased", "biased")
"""||x||^2/||HDx||_1, so that the estimate's inner product with x is ||x||^2; ||HDx||_1/d^2, the nearest multiple."""


def brought_near_one(array: Array) -> tuple[Array, int]:
    """`array` in float64 times the power of two that brings its largest entry to [1/2, 1), and that power's negative.

    Raises
    ------
    ValueError
        NaN or an infinity.
    """
    exponent = math.frexp(finite_largest(array))[1]
    if abs(exponent) < 1000:  # the power is a float, and one product is rounded as `ldexp` is
        return np.multiply(array, math.ldexp(1.0, -exponent), dtype=np.float64), exponent
    return np.ldexp(array.astype(np.float64), -exponent), exponent


@dataclass(frozen=True)
class DRIVE(Compressor):
    """One bit an entry: ``x' = D H sign(H D x)`` times a scale (Vargaftik et al. 2021).

    H is the Walsh-Hadamard matrix, D a diagonal of random signs, and x padded with zeros to a power of two, d. A sign
    of zero is +1, as in the authors' code.

    Parameters
    ----------
    scale : {"unbiased", "biased"}
        ||x||^2/||HDx||_1, which makes <x', x> = ||x||^2 for every D; or ||HDx||_1/d^2, which makes the error least.

    Notes
    -----
    d + 8 itemsize bits: the signs D follow from a shared seed. With "biased" the error is at most ||x||^2/2 in
    expectation, attained by two equal entries. With "unbiased" it would be unbiased were the rotation uniform; with H D
    it is not: (3, 1) is always estimated as (10/3, 0). The zero vector stays zero. The rotation is that of
    `randomised_hadamard` in float64, of x over the power of two above its largest entry; the scale is rounded to the
    dtype.

    Examples
    --------
    >>> import numpy as np
    >>> DRIVE()(np.array([3.0, 0.0, 0.0, 0.0]), np.random.default_rng(0)) + 0.0
    array([3., 0., 0., 0.])
    """

    scale: str = "unbiased"
    randomised = True
    claims = (
        "rotations.drive.two_sparse_bias",
        "rotations.drive.two_sparse_error",
        "rotations.drive.two_sparse_error_biased",
        "rotations.drive.projection",
        "rotations.drive.contraction",
        "rotations.drive.one_sparse",
        "rotations.drive.worst_draw",
        "rotations.drive.worst_draw_biased",
        "rotations.drive.wire",
        "rotations.drive.wire_padded",
        "rotations.drive.sign_symmetry",
        "rotations.drive.scale_equivariance",
    )

    def __post_init__(self) -> None:
        checked_choice("scale", self.scale, SCALES)

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Rotated:
        """The message for `x`; see `Compressor.compress`. One 64-bit key gives the signs."""
        array = checked_array(x, finite=False)
        return self._encoded(array, drawn_signs(key_from(checked_rng(rng)), array.size))

    def compress_with(self, x: ArrayLike, signs: ArrayLike) -> Rotated:
        """The message for `x` when the rotation's signs are `signs`: (n,) integers, -1 or 1."""
        array = checked_array(x, finite=False)
        return self._encoded(array, checked_signs(signs, array.size))

    def _encoded(self, array: Array, signs: Signs) -> Rotated:
        checked_size(array.size)
        near, exponent = brought_near_one(array)
        y = forward(near, signs)
        norm1 = float(np.abs(y).sum())
        if norm1 == 0:
            size = 0.0
        elif self.scale == "unbiased":
            size = float(np.square(near).sum()) / norm1
        else:
            size = norm1 / y.size**2
        numbers = number_array(array.dtype, math.ldexp(size, exponent) if size else 0.0)
        codes = (y >= 0).astype(np.int16)
        return decoded(self, Rotated(array.shape, array.dtype, codes, 2, numbers, signs, NONE_KEPT))

    def decompress(self, message: Rotated) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Rotated)
        check_same("count", message.count, 2)
        check_same("number of numbers", message.numbers.size, 1)
        y = 2.0 * message.codes - 1.0
        with np.errstate(over="ignore"):
            read: Array = (backward(y, message.signs) * float(message.numbers[0])).astype(message.dtype)
        return finite_reading(read)

    def law(self, x: Sequence[Any]) -> Law:
        """The exact distribution of the output: all patterns of signs, at most 2^16."""
        values = checked_exact(x)
        square = sum((v * v for v in values), Fraction(0))
        if square == 0:
            return [(Fraction(1), values)]
        outcomes = []
        for signs, y in exact_rotations(values):
            norm1 = sum(map(abs, y))
            scale = square / norm1 if self.scale == "unbiased" else norm1 / len(y) ** 2
            estimate = exact_back([1 if v >= 0 else -1 for v in y], signs)
            outcomes.append((Fraction(1, 2 ** len(values)), tuple(scale * v for v in estimate)))
        return merged_law(outcomes)
