"""Rounding to powers of two by the bits of the floating-point format: natural compression and its nearest twin."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors._blocks import for_blocks
from commbounds.compressors._magnitude import finite_largest
from commbounds.compressors.base import (
    Compressor,
    Exact,
    Law,
    check_same,
    checked_array,
    checked_exact,
    checked_message,
    product_law,
)
from commbounds.compressors.quantizers.message import Coded, Draw, RandomisedQuantiser, looked_up, value_table


def floor_power(value: Fraction, base: Fraction = Fraction(2)) -> Fraction:
    """The largest base^j, j an integer, that does not exceed `value` > 0; `base` > 1."""
    # double the step while it fits, then halve it: O(log j) multiplications
    if value < 1:
        inverse = floor_power(1 / value, base)
        return 1 / inverse if inverse * value == 1 else 1 / (inverse * base)
    steps = [base]
    while steps[-1] * steps[-1] <= value:
        steps.append(steps[-1] * steps[-1])
    power = Fraction(1)
    for step in reversed(steps):
        if power * step <= value:
            power *= step
    return power


def _format(dtype: np.dtype[Any]) -> tuple[Any, int, int]:
    # integer type of the same width, mantissa bits, biased exponent of the largest power of two
    return (np.int32, 23, 254) if dtype == np.float32 else (np.int64, 52, 2046)


@njit(cache=True, nogil=True)
def _stochastic_codes(bits, uniforms, mantissa_bits, top, codes):  # type: ignore[no-untyped-def]
    # |x| = 2^e (1 + f) lies the fraction f of the way from 2^e up to 2^(e+1); a subnormal one f of the way from 0 to
    # the smallest normal power. The code is the biased exponent, so both are: code + [u < f].
    one = np.int64(1) << mantissa_bits
    unit = 1.0 / one
    for i in range(bits.size):
        word = np.int64(bits[i])
        code = (word >> mantissa_bits) & (top + 1)
        code += np.float64(uniforms[i]) < (word & (one - 1)) * unit
        code = min(code, top)
        codes[i] = -code if word < 0 else code


@njit(cache=True, nogil=True)
def _nearest_codes(bits, mantissa_bits, top, codes):  # type: ignore[no-untyped-def]
    # as above, moving up iff f > 1/2
    one = np.int64(1) << mantissa_bits
    for i in range(bits.size):
        word = np.int64(bits[i])
        code = (word >> mantissa_bits) & (top + 1)
        code += (word & (one - 1)) > (one >> 1)
        code = min(code, top)
        codes[i] = -code if word < 0 else code


@lru_cache(maxsize=2)
def _powers_of_two(levels: int, dtype: np.dtype[Any]) -> Array:
    # code c >= 1 stands for 2^(c - bias), bias = levels // 2
    return value_table(np.ldexp(1.0, np.arange(1, levels + 1) - levels // 2), dtype)


@dataclass(frozen=True)
class NaturalCompression(RandomisedQuantiser):
    """Stochastic rounding of every entry to one of its two neighbouring powers of two.

    |C(x)_i| = 2^(e + B) with 2^e <= |x_i| < 2^(e+1) and B Bernoulli(|x_i|/2^e - 1), signs kept (Horvath et al. 2019).

    Notes
    -----
    Unbiased, E||C(x) - x||^2 <= ||x||^2 / 8, attained iff all nonzero |x_i| = (4/3) 2^a; for entries that are zero, or
    normal and at most the largest power of two.
    Outside: |x_i| below the smallest normal power of two is rounded between 0 and that (unbiased, with a larger
    variance); |x_i| above the largest, 2^127 or 2^1023, becomes that (biased).
    The probability is the mantissa fraction, a multiple of the uniforms' grid: exact. Powers of two are fixed points.
    Zero, sign and exponent: 9 bits an entry for float32, 12 for float64.

    Examples
    --------
    >>> import numpy as np
    >>> NaturalCompression()(np.array([4.0, -0.25, 0.0]), np.random.default_rng(0))
    array([ 4.  , -0.25,  0.  ])
    """

    claims = (
        "quantizers.naturalcompression.unbiased",
        "quantizers.naturalcompression.variance",
        "quantizers.naturalcompression.fixed_points",
        "quantizers.naturalcompression.shrunk_contraction",
        "quantizers.naturalcompression.wire",
        "quantizers.naturalcompression.sign_symmetry",
        "quantizers.naturalcompression.scale_equivariance",
        "quantizers.naturalcompression.idempotence",
    )

    def _encoded(self, x: Array, draw: Draw) -> Coded:
        finite_largest(x)
        integer, mantissa_bits, top = _format(x.dtype)
        bits, codes = x.view(integer), np.empty(x.shape, np.int16)

        def work(start: int, stop: int) -> None:
            _stochastic_codes(bits[start:stop], draw(start, stop), mantissa_bits, top, codes[start:stop])

        for_blocks(x.size, work)
        return Coded(x.shape, x.dtype, codes, top)

    def decompress(self, message: Coded) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Coded)
        check_same("levels", message.levels, _format(message.dtype)[2])
        return looked_up(message, _powers_of_two(message.levels, message.dtype))

    def law(self, x: Sequence[Any]) -> Law:
        """The exact distribution of the output, for exponents without limits; see `Compressor.law`."""
        return product_law([_stochastic_marginal(v) for v in checked_exact(x)])


def _stochastic_marginal(value: Fraction) -> list[tuple[Exact, Exact]]:
    if value == 0:
        return [(Fraction(1), value)]
    low = floor_power(abs(value))
    sign, up = (1 if value > 0 else -1), abs(value) / low - 1
    return [(1 - up, sign * low), (up, sign * 2 * low)]


@dataclass(frozen=True)
class NearestPower(Compressor):
    """Every entry at the nearest power of two (Beznosikov et al. 2020); halfway between two, at the lower one.

    Notes
    -----
    ||C(x) - x||^2 <= ||x||^2 / 9 surely, attained iff all nonzero |x_i| = (3/2) 2^a; for entries that are zero, or
    normal and at most the largest power of two. Outside: |x_i| below the smallest normal power of two goes to the
    nearest of 0 and that (half of it to 0); |x_i| above the largest becomes that.
    Zero, sign and exponent: 9 bits an entry for float32, 12 for float64.

    Examples
    --------
    >>> import numpy as np
    >>> NearestPower()(np.array([5.0, -6.0, 7.0, 0.0]))
    array([ 4., -4.,  8.,  0.])
    """

    claims = (
        "quantizers.nearestpower.contraction",
        "quantizers.nearestpower.wire",
        "quantizers.nearestpower.sign_symmetry",
        "quantizers.nearestpower.scale_equivariance",
        "quantizers.nearestpower.idempotence",
    )

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Coded:
        """The message for `x`; see `Compressor.compress`."""
        array = checked_array(x)
        integer, mantissa_bits, top = _format(array.dtype)
        bits, codes = array.view(integer), np.empty(array.shape, np.int16)
        for_blocks(
            array.size, lambda start, stop: _nearest_codes(bits[start:stop], mantissa_bits, top, codes[start:stop])
        )
        return Coded(array.shape, array.dtype, codes, top)

    def decompress(self, message: Coded) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Coded)
        check_same("levels", message.levels, _format(message.dtype)[2])
        return looked_up(message, _powers_of_two(message.levels, message.dtype))

    def law(self, x: Sequence[Any]) -> Law:
        """The one outcome, with probability 1, for exponents without limits."""
        return [(Fraction(1), tuple(_nearest(v) for v in checked_exact(x)))]


def _nearest(value: Fraction) -> Fraction:
    if value == 0:
        return value
    low = floor_power(abs(value))
    return (1 if value > 0 else -1) * (low if 2 * abs(value) <= 3 * low else 2 * low)
