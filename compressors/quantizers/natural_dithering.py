"""Stochastic rounding to the norm times powers of two: natural dithering."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit

from commbounds.array_types import Array
from commbounds.compressors._blocks import for_blocks
from commbounds.compressors._norms import norm2
from commbounds.compressors._surds import exact_law, root
from commbounds.compressors.base import (
    Exact,
    Law,
    check_number,
    check_same,
    checked_count,
    checked_exact,
    checked_message,
    product_law,
)
from commbounds.compressors.quantizers.message import (
    Coded,
    Draw,
    RandomisedQuantiser,
    code_dtype,
    looked_up,
    value_table,
)
from commbounds.compressors.quantizers.powers import floor_power

MAX_LEVELS = 1023
"""2^(1 - levels) is then a normal number."""


@njit(cache=True, nogil=True)
def _dither_to_powers(x, uniforms, levels, norm, codes):  # type: ignore[no-untyped-def]
    # a = |x_i| / norm = f 2^e with 1/2 <= f < 1: between 2^(e-1), code e - 1 + levels, and twice that
    smallest = math.ldexp(1.0, 1 - levels)
    for i in range(x.size):
        a = abs(np.float64(x[i])) / norm
        if a < smallest:
            code, p = 0, a / smallest
        else:
            fraction, exponent = math.frexp(a)
            code, p = exponent - 1 + levels, 2.0 * fraction - 1.0
        code = min(code + (np.float64(uniforms[i]) < p), levels)
        codes[i] = -code if x[i] < 0 else code


@dataclass(frozen=True)
class NaturalDithering(RandomisedQuantiser):
    """Stochastic rounding of every entry to the l2 norm times 0, 2^(1-levels), ..., 1/4, 1/2, 1.

    |C(x)_i| is norm2 times one of the two neighbours of |x_i| / norm2 among these, unbiased, signs kept (Horvath et
    al. 2019, with p = 2), entries independent.

    Parameters
    ----------
    levels : int
        Positive levels s; in [1, 1023].

    Notes
    -----
    Unbiased; E||C(x) - x||^2 <= (1/8 + A min(1, A)) ||x||^2 with A = sqrt(n) 2^(1-s). ``levels=1`` is ``QSGD(1)``.
    Rounds against the norm that is sent; |x_i| / norm2 is correctly rounded to float64. Uniforms are multiples of
    g = 2^-24 (float32) or 2^-53 (float64): the probability of the upper level is rounded up to a multiple of g.
    Output below the dtype's smallest normal number is rounded to its subnormals.
    8 itemsize + n ceil(log2(2 s + 1)) bits. An l2 norm beyond the dtype is a ValueError.

    Examples
    --------
    >>> import numpy as np
    >>> NaturalDithering(3)(np.array([-4.0, 0.0]), np.random.default_rng(0))
    array([-4.,  0.])
    """

    levels: int
    claims = (
        "quantizers.naturaldithering.unbiased",
        "quantizers.naturaldithering.variance",
        "quantizers.naturaldithering.variance_printed",
        "quantizers.naturaldithering.shrunk_contraction",
        "quantizers.naturaldithering.wire",
        "quantizers.naturaldithering.sign_symmetry",
        "quantizers.naturaldithering.scale_equivariance",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", checked_count("levels", self.levels, 1, MAX_LEVELS))

    def _encoded(self, x: Array, draw: Draw) -> Coded:
        norm = norm2(x)
        codes = np.zeros(x.shape, code_dtype(self.levels))
        if norm > 0:
            divisor = float(norm)

            def work(start: int, stop: int) -> None:
                _dither_to_powers(x[start:stop], draw(start, stop), self.levels, divisor, codes[start:stop])

            for_blocks(x.size, work)
        return Coded(x.shape, x.dtype, codes, self.levels, norm)

    def decompress(self, message: Coded) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Coded)
        check_same("levels", message.levels, self.levels)
        check_number("norm", message.norm, message.dtype)
        magnitudes = np.ldexp(float(message.norm), np.arange(1, message.levels + 1) - message.levels)
        return looked_up(message, value_table(magnitudes, message.dtype))

    def law(self, x: Sequence[Any]) -> Law:
        """The exact distribution of the output: entries are independent; see `QSGD.law`."""
        values, smallest = checked_exact(x), Fraction(2) ** (1 - self.levels)
        square = sum((v * v for v in values), Fraction(0))
        if square == 0:
            return [(Fraction(1), values)]
        norm: Exact = root(square)

        def marginal(v: Fraction) -> list[tuple[Exact, Exact]]:
            # a = |v| / norm = (|v| / norm^2) norm lies between 2^e and 2^(e+1) iff a^2 does between 4^e and 4^(e+1)
            sign, a, a_square = (-1 if v < 0 else 1), norm * (abs(v) / square), v * v / square
            if a_square < smallest * smallest:
                low, high = Fraction(0), smallest
            else:
                low = Fraction(2) ** _log4(floor_power(a_square, Fraction(4)))
                high = 2 * low
            if a_square == low * low:
                return [(Fraction(1), norm * (sign * low))]
            up = (a - low) * (1 / (high - low))
            return [(1 - up, norm * (sign * low)), (up, norm * (sign * high))]

        return exact_law(product_law([marginal(v) for v in values]))


def _log4(power: Fraction) -> int:
    return (power.numerator.bit_length() - power.denominator.bit_length()) // 2
