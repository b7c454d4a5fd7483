"""Group quantiser with stochastic rounding."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors._random import key_from
from commbounds.compressors.base import checked_array, checked_rng
from commbounds.compressors.flashcomm.groupquant import GroupQuantizer
from commbounds.compressors.flashcomm.message import GroupCodes
from commbounds.compressors.quantizers.message import Counted, checked_uniforms


@dataclass(frozen=True)
class StochasticGroupQuantizer(GroupQuantizer):
    """`GroupQuantizer` with stochastic rounding: to the upper neighbouring level with the fraction as its probability.

    Notes
    -----
    In exact arithmetic unbiased, with variance s^2 f (1 - f) <= s^2/4, f the fraction of the level, and error below s.
    Uniforms are multiples of 2^-24 (float32) or 2^-53 (float64).
    """

    randomised = True
    _rounds_randomly: ClassVar[bool] = True

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> GroupCodes:
        """The message for `x`; one 64-bit key is drawn from `rng`, which is required."""
        array = checked_array(x)
        return self._message(array, Counted(key_from(checked_rng(rng)), array.dtype))

    def compress_with(self, x: ArrayLike, uniforms: ArrayLike) -> GroupCodes:
        """The message for `x` when the random inputs are `uniforms`, (n,) in the dtype of x and in [0, 1)."""
        array = checked_array(x)
        u = checked_uniforms(uniforms, array)
        return self._message(array, lambda start, stop: u[start:stop])

    def __call__(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Array:
        """`x` compressed and decompressed, without packing the codes in between."""
        array = checked_array(x)
        return self._there_and_back(array, Counted(key_from(checked_rng(rng)), array.dtype))

    def _codes_exact(self, level: Fraction) -> list[tuple[Fraction, int]]:
        below = level.numerator // level.denominator
        up = level - below
        return [(1 - up, below), (up, below + 1)] if up else [(Fraction(1), below)]
