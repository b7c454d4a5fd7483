"""Stochastic rounding to the powers of any base."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit

from commbounds.array_types import Array, Floats
from commbounds.compressors._blocks import for_blocks
from commbounds.compressors._magnitude import finite_largest
from commbounds.compressors.base import (
    Exact,
    Law,
    check_same,
    checked_exact,
    checked_message,
    hold_python_numbers,
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

SMALLEST_BASE = 1 + Fraction(1, 2**10)
"""Keeps the table of a float64 vector under 2^21 levels."""
_WIDTH = 192
"""Bits carried along the powers: 2^21 truncations of 2^-190 stay below 2^-168 of the value."""


def _powers(ratio: Fraction) -> Iterator[tuple[int, int]]:
    # (mantissa, exponent) of ratio, ratio^2, ...: value = mantissa 2^exponent, mantissa of _WIDTH bits, truncated
    mantissa, exponent = 1 << (_WIDTH - 1), 1 - _WIDTH
    guard = ratio.denominator.bit_length() + 1
    while True:
        wide = (mantissa << guard) * ratio.numerator // ratio.denominator
        drop = wide.bit_length() - _WIDTH
        mantissa, exponent = wide >> drop, exponent + drop - guard
        yield mantissa, exponent


@lru_cache(maxsize=16)
def power_table(base: Fraction, dtype: np.dtype[Any]) -> Floats:
    """The powers of `base` that are normal numbers of `dtype`, ascending, rounded to nearest in `dtype`.

    Parameters
    ----------
    base : Fraction
        At least 1 + 2^-10.
    dtype : numpy.dtype
        float32 or float64.

    Returns
    -------
    (levels,) float64
        Read-only; strictly ascending; holds 1.
    """
    info = np.finfo(dtype)
    precision = info.nmant + 1

    def side(ratio: Fraction) -> list[float]:
        values = []
        for mantissa, exponent in _powers(ratio):
            top = exponent + _WIDTH - 1
            if not info.minexp <= top < info.maxexp:
                break
            # round to nearest, ties to even
            unit = 1 << (_WIDTH - precision)
            kept, rest = divmod(mantissa, unit)
            if 2 * rest > unit or (2 * rest == unit and kept & 1):
                kept += 1
            if top == info.maxexp - 1 and (kept == 1 << precision or (kept == (1 << precision) - 1 and rest)):
                break
            values.append(math.ldexp(float(kept), exponent + _WIDTH - precision))
        return values

    table = np.array([*reversed(side(1 / base)), 1.0, *side(base)])
    table.setflags(write=False)
    return table


@lru_cache(maxsize=16)
def _tables(base: int | float | Fraction, dtype: np.dtype[Any]) -> tuple[Floats, Array]:
    """The `power_table` of `base`, and the values of all codes."""
    magnitudes = power_table(Fraction(base), dtype)
    return magnitudes, value_table(magnitudes, dtype)


@njit(cache=True, nogil=True)
def _round_to_table(x, uniforms, table, codes):  # type: ignore[no-untyped-def]
    # table[c - 1] is the value of code c; c is the last one with table[c - 1] <= |x_i|, or 0
    for i in range(x.size):
        a = abs(np.float64(x[i]))
        code, above = 0, table.size + 1
        while above - code > 1:
            middle = (code + above) // 2
            if table[middle - 1] <= a:
                code = middle
            else:
                above = middle
        if code < table.size:
            low = table[code - 1] if code > 0 else 0.0
            code += np.float64(uniforms[i]) < (a - low) / (table[code] - low)
        codes[i] = -code if x[i] < 0 else code


@dataclass(frozen=True)
class StochasticPower(RandomisedQuantiser):
    """Stochastic rounding of every entry to one of its two neighbouring powers of ``base``, unbiased, signs kept.

    |C(x)_i| is b^(j+1) with probability (|x_i| - b^j)/(b^(j+1) - b^j), else b^j, where b^j <= |x_i| < b^(j+1).

    Parameters
    ----------
    base : int, float or Fraction
        Base b, at its exact value; finite, at least 1 + 2^-10.

    Notes
    -----
    Unbiased, E||C(x) - x||^2 <= (b - 1)^2/(4 b) ||x||^2, for entries that are zero or between the smallest and the
    largest level. Levels are the powers of b that are normal numbers of the dtype, rounded to it; the kernel rounds
    against these rounded levels. |x_i| below the smallest is rounded between 0 and that (unbiased, with a larger
    variance); |x_i| above the largest becomes that (biased).
    Uniforms are multiples of g = 2^-24 (float32) or 2^-53 (float64): the probability of the upper level, computed in
    float64, is rounded up to a multiple of g. ``StochasticPower(2)`` is `NaturalCompression`, code for code.
    n ceil(log2(2 L + 1)) bits for L levels.

    Examples
    --------
    >>> import numpy as np
    >>> StochasticPower(3)(np.array([9.0, -1.0, 0.0]), np.random.default_rng(0))
    array([ 9., -1.,  0.])
    """

    base: int | float | Fraction
    claims = (
        "quantizers.stochasticpower.unbiased",
        "quantizers.stochasticpower.variance",
        "quantizers.stochasticpower.shrunk_contraction",
        "quantizers.stochasticpower.wire",
        "quantizers.stochasticpower.sign_symmetry",
        "quantizers.stochasticpower.scale_equivariance",
        "quantizers.stochasticpower.idempotence",
    )

    def __post_init__(self) -> None:
        hold_python_numbers(self)
        if isinstance(self.base, bool) or not isinstance(self.base, int | float | Fraction):
            raise TypeError(f"base must be an int, float or Fraction, got {self.base!r}")
        if not SMALLEST_BASE <= self.base < math.inf:
            raise ValueError(f"base must be finite and at least 1 + 2**-10, got {self.base}")

    def _encoded(self, x: Array, draw: Draw) -> Coded:
        finite_largest(x)
        table, _ = _tables(self.base, x.dtype)
        codes = np.empty(x.shape, code_dtype(table.size))

        def work(start: int, stop: int) -> None:
            _round_to_table(x[start:stop], draw(start, stop), table, codes[start:stop])

        for_blocks(x.size, work)
        return Coded(x.shape, x.dtype, codes, table.size)

    def decompress(self, message: Coded) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Coded)
        magnitudes, values = _tables(self.base, message.dtype)
        check_same("levels", message.levels, magnitudes.size)
        return looked_up(message, values)

    def law(self, x: Sequence[Any]) -> Law:
        """The exact distribution of the output, for exponents without limits and exact powers."""
        base = Fraction(self.base)

        def marginal(v: Fraction) -> list[tuple[Exact, Exact]]:
            if v == 0:
                return [(Fraction(1), v)]
            low, sign = floor_power(abs(v), base), (-1 if v < 0 else 1)
            up = (abs(v) - low) / (low * base - low)
            return [(1 - up, sign * low), (up, sign * low * base)]

        return product_law([marginal(v) for v in checked_exact(x)])
