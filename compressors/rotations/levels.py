"""Stochastic rotated quantisation: rotated entries at equidistant levels between the least and the largest."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats
from commbounds.compressors._random import key_from
from commbounds.compressors.base import (
    Compressor,
    Law,
    as_numbers,
    check_same,
    check_uniforms,
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
    NONE_KEPT,
    Rotated,
    decoded,
    exact_back,
    exact_rotations,
    number_array,
)
from commbounds.compressors.rotations.signs import brought_near_one

MOST_LEVELS = 2**14


@dataclass(frozen=True)
class RotatedDithering(Compressor):
    """Stochastic rounding of H D x to equidistant levels between its least and its largest entry (Suresh et al. 2017).

    With y = H D x/d, low = min y, high = max y and a_j = (y_j - low)/(high - low) s, the level c of y_j is floor(a_j)
    or one more, with the probability a_j - floor(a_j) of the latter; x' = D H of the levels' values, which are
    low (1 - c/s) + high c/s.

    Parameters
    ----------
    levels : int
        Steps s between the least and the largest, which are s + 1 levels (the paper's k - 1); in [1, 2^14].

    Notes
    -----
    Unbiased for every D, and E ||x' - x||^2 <= (high - low)^2/(4 s^2) for every D: at most (2 ln d + 2)/s^2 ||x||^2 in
    expectation over D. d ceil(log2(s + 1)) + 16 itemsize bits. H is the Walsh-Hadamard matrix, D a diagonal of random
    signs that follow from a shared seed, and x is padded with zeros to a power of two, d. All formulas are evaluated in
    float64, from left to right, of x over the power of two above its largest entry; low and high, of which zeros are
    +0.0, are then rounded to the dtype, and read as they were sent.

    Examples
    --------
    >>> import numpy as np
    >>> RotatedDithering(1)(np.array([3.0, 0.0, 0.0, 0.0]), np.random.default_rng(0)) + 0.0
    array([3., 0., 0., 0.])
    """

    levels: int
    randomised = True
    claims = (
        "rotations.rotateddithering.unbiased",
        "rotations.rotateddithering.variance",
        "rotations.rotateddithering.one_sparse",
        "rotations.rotateddithering.wire",
        "rotations.rotateddithering.shrunk_contraction",
        "rotations.rotateddithering.sign_symmetry",
        "rotations.rotateddithering.scale_equivariance",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", checked_count("levels", self.levels, 1, MOST_LEVELS))

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Rotated:
        """The message for `x`; see `Compressor.compress`. One 64-bit key gives the signs; d uniforms follow."""
        array = checked_array(x, finite=False)
        generator = checked_rng(rng)
        checked_size(array.size)
        signs = drawn_signs(key_from(generator), array.size)
        return self._encoded(array, signs, generator.random(padded_size(array.size)))

    def compress_with(self, x: ArrayLike, dither: ArrayLike, signs: ArrayLike) -> Rotated:
        """The message for `x` with these uniforms, `dither`, (d,) in [0, 1), and these signs: (n,) integers."""
        array = checked_array(x, finite=False)
        checked_size(array.size)
        u = as_numbers(dither, "dither", np.float64)
        if u.shape != (padded_size(array.size),):
            raise ValueError(f"dither must have shape ({padded_size(array.size)},), got {u.shape}")
        check_uniforms("dither", u)
        return self._encoded(array, checked_signs(signs, array.size), u)

    def _encoded(self, array: Array, signs: Signs, uniforms: Floats) -> Rotated:
        near, exponent = brought_near_one(array)
        y = forward(near, signs) / padded_size(array.size)
        low, high = float(y.min()) + 0.0, float(y.max()) + 0.0  # of zeros of both signs numpy may find either
        numbers = number_array(array.dtype, math.ldexp(low, exponent), math.ldexp(high, exponent))
        if high > low:
            a = (y - low) / (high - low) * self.levels
            below = np.floor(a)
            codes = np.minimum(below + (uniforms < a - below), self.levels).astype(np.int16)
        else:
            codes = np.zeros(y.size, np.int16)
        return decoded(self, Rotated(array.shape, array.dtype, codes, self.levels + 1, numbers, signs, NONE_KEPT))

    def decompress(self, message: Rotated) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Rotated)
        check_same("count", message.count, self.levels + 1)
        check_same("number of numbers", message.numbers.size, 2)
        wide = message.numbers.astype(np.float64)
        exponent = math.frexp(max(map(abs, wide.tolist())))[1]
        low, high = (math.ldexp(v, -exponent) for v in wide.tolist())
        share = message.codes / self.levels
        y = low * (1.0 - share) + high * share
        with np.errstate(over="ignore"):
            read: Array = np.ldexp(backward(y, message.signs), exponent).astype(message.dtype)
        return finite_reading(read)

    def marginals(self, y: Sequence[Fraction]) -> list[list[tuple[Fraction, Fraction]]]:
        """The (probability, value) pairs of every entry of y = H D x, rounded, over d."""
        d, s = len(y), self.levels
        low, high = min(y) / d, max(y) / d
        if high == low:
            return [[(Fraction(1), low)] for _ in y]
        step, found = (high - low) / s, []
        for v in y:
            a = (v / d - low) / step
            below = math.floor(a)
            up = a - below
            found.append([(q, low + step * at) for q, at in ((1 - up, below), (up, below + 1)) if q])
        return found

    def law(self, x: Sequence[Any]) -> Law:
        """The exact distribution of the output: all patterns of signs, and all roundings, at most 2^16 for each."""
        values = checked_exact(x)
        if not any(values):
            return [(Fraction(1), values)]
        outcomes = []
        for signs, y in exact_rotations(values):
            roundings: list[tuple[Fraction, tuple[Fraction, ...]]] = [(Fraction(1, 2 ** len(values)), ())]
            for marginal in self.marginals(y):
                if len(roundings) * len(marginal) > 2**10:
                    raise ValueError("the law has more than 2**16 outcomes: use a shorter x")
                roundings = [(p * q, (*part, v)) for p, part in roundings for q, v in marginal]
            outcomes += [(p, exact_back(part, signs)) for p, part in roundings]
        return merged_law(outcomes)
