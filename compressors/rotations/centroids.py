"""EDEN: every rotated entry at the nearest of 2^b centroids of the normal law, and a scale."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors._random import key_from
from commbounds.compressors._surds import exact_law, root
from commbounds.compressors.base import (
    Compressor,
    Exact,
    Law,
    check_same,
    checked_array,
    checked_choice,
    checked_count,
    checked_exact,
    checked_message,
    checked_rng,
    finite_reading,
    merged_law,
)
from commbounds.compressors.rotations.hadamard import Signs, backward, checked_signs, checked_size, drawn_signs, forward
from commbounds.compressors.rotations.lloyd_max import lloyd_max
from commbounds.compressors.rotations.message import (
    NONE_KEPT,
    Rotated,
    decoded,
    exact_back,
    exact_rotations,
    number_array,
)
from commbounds.compressors.rotations.signs import brought_near_one

SCALES = ("unbiased", "biased", "norm")
"""||x||^2/<HDx, c>; <HDx, c>/(d ||c||^2), the nearest multiple; ||x||/d, which is what TurboQuant's first step "
"sends."""
MOST_BITS = 8


@cache
def _tables(width: int) -> tuple[Array, Array]:
    """Centroids and boundaries of the quantiser of so many bits."""
    quantiser = lloyd_max(width)
    return np.array(quantiser.centroids), np.array(quantiser.boundaries)


@dataclass(frozen=True)
class EDEN(Compressor):
    """Few bits an entry: ``x' = D H c`` times a scale, c_j the centroid next to (HDx)_j/||x|| (Vargaftik et al. 2022).

    H is the Walsh-Hadamard matrix, D a diagonal of random signs, and x padded with zeros to a power of two, d; the
    centroids are those of `lloyd_max`. An entry on a boundary gets the lower centroid, as in the authors' code.

    Parameters
    ----------
    width : int
        Bits of a code; in [1, 8].
    scale : {"unbiased", "biased", "norm"}
        ||x||^2/<HDx, c>, which makes <x', x> = ||x||^2 for every D; <HDx, c>/(d ||c||^2), which makes the error least;
        or ||x||/d, the unit of the centroids: TurboQuant's quantiser for the mean squared error (Zandieh et al. 2025).

    Notes
    -----
    d width + 8 itemsize bits: the signs D follow from a shared seed. With one bit and a scale that is not "norm" it is
    `DRIVE`, which says how x is rotated. The authors' code makes NaN of the zero vector; here it stays zero.

    Examples
    --------
    >>> import numpy as np
    >>> EDEN(2)(np.array([3.0, 0.0, 0.0, 0.0]), np.random.default_rng(0)).round(6) + 0.0
    array([3., 0., 0., 0.])
    """

    width: int
    scale: str = "unbiased"
    randomised = True
    claims = (
        "rotations.eden.projection",
        "rotations.eden.one_bit",
        "rotations.eden.contraction",
        "rotations.eden.one_sparse",
        "rotations.eden.wire",
        "rotations.eden.sign_symmetry",
        "rotations.eden.scale_equivariance",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", checked_count("width", self.width, 1, MOST_BITS))
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
        y, square = forward(near, signs), float(np.add.reduce(np.square(near)))
        if square == 0:
            codes = np.zeros(y.size, np.int16)
            return Rotated(array.shape, array.dtype, codes, 2**self.width, np.zeros(1, array.dtype), signs, NONE_KEPT)
        centroids, boundaries = _tables(self.width)
        codes = boundaries.searchsorted(y / math.sqrt(square)).astype(np.int16)
        chosen = centroids[codes]
        if self.scale == "unbiased":
            size = square / float(np.add.reduce(chosen * y))
        elif self.scale == "biased":
            size = float((chosen * y).sum()) / (y.size * float(np.square(chosen).sum()))
        else:
            size = math.sqrt(square) / y.size
        with np.errstate(over="ignore"):
            numbers = number_array(array.dtype, float(np.ldexp(size, exponent)))
        return decoded(self, Rotated(array.shape, array.dtype, codes, 2**self.width, numbers, signs, NONE_KEPT))

    def decompress(self, message: Rotated) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Rotated)
        check_same("count", message.count, 2**self.width)
        check_same("number of numbers", message.numbers.size, 1)
        y = _tables(self.width)[0][message.codes]
        with np.errstate(over="ignore"):
            read: Array = (backward(y, message.signs) * float(message.numbers[0])).astype(message.dtype)
        return finite_reading(read)

    def law(self, x: Sequence[Any]) -> Law:
        """The exact distribution of the output, the centroids being what they are in float64.

        Returns
        -------
        list of (probability, output)
            Fractions; with the scale "norm" exact sympy numbers where the norm is irrational.
        """
        values = checked_exact(x)
        square = sum((v * v for v in values), Fraction(0))
        if square == 0:
            return [(Fraction(1), values)]
        quantiser = lloyd_max(self.width)
        centroids = [Fraction(c) for c in quantiser.centroids]
        # y/||x|| > t where y |y| > t |t| ||x||^2: both sides grow with y and t
        edges = [Fraction(t) * abs(Fraction(t)) * square for t in quantiser.boundaries]
        outcomes: list[tuple[Exact, tuple[Exact, ...]]] = []
        for signs, y in exact_rotations(values):
            chosen = [centroids[bisect_left(edges, v * abs(v))] for v in y]
            along = sum((c * v for c, v in zip(chosen, y, strict=True)), Fraction(0))
            if self.scale == "unbiased":
                scale: Exact = square / along
            elif self.scale == "biased":
                scale = along / (len(y) * sum((c * c for c in chosen), Fraction(0)))
            else:
                scale = root(square) * Fraction(1, len(y))
            outcomes.append((Fraction(1, 2 ** len(values)), tuple(scale * v for v in exact_back(chosen, signs))))
        return exact_law(merged_law(outcomes))
