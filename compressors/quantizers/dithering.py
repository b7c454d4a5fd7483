"""Stochastic rounding to equidistant levels of a norm: QSGD, max-norm dithering, TernGrad."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numba import njit

from commbounds.array_types import Array
from commbounds.compressors._blocks import for_blocks, quiet
from commbounds.compressors._magnitude import finite_largest
from commbounds.compressors._norms import norm2
from commbounds.compressors._random import GOLDEN, MIX1, MIX2
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
from commbounds.compressors.quantizers.message import Coded, Counted, Draw, RandomisedQuantiser, code_dtype

MAX_LEVELS = 2**15 - 1
TILE = 1024
"""Uniforms made at a time where they are made next to the decisions: they stay in the first-level cache."""
ABOVE_ROUNDING = 1.0 + 2.0**-50
_SPAN = 1 << 18
_LOW24 = np.uint64(2**24 - 1)
_S27, _S30, _S31, _S40 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(40)


@njit(cache=True, nogil=True)
def _dither32(x, uniforms, levels, norm, codes):  # type: ignore[no-untyped-def]
    # level = floor(a) + [u < a - floor(a)] = ceil(a - u) with a = levels |x_i| / norm. The product is exact in float64,
    # so a is rounded once: multiples of norm / levels stay, and a <= levels because |x_i| <= norm.
    for i in range(x.size):
        level = np.ceil(levels * abs(np.float64(x[i])) / norm - np.float64(uniforms[i]))
        codes[i] = np.int16(math.copysign(level, x[i]))


@njit(cache=True, nogil=True)
def _dither_drawn32(key, start, x, levels, norm, codes):  # type: ignore[no-untyped-def]
    # _dither32 on the uniforms of _random.fill_uniforms, made tile by tile here: the same draws of the same counters
    # for an even start, without handing the interpreter's lock around for every block.
    uniforms = np.empty(TILE, np.float32)
    unit = np.float32(2.0**-24)
    for first in range(0, x.size, TILE):
        last = min(first + TILE, x.size)
        counter = key + np.uint64(((start + first) >> 1) + 1) * GOLDEN
        for i in range(TILE // 2):
            word = counter + np.uint64(i) * GOLDEN
            word = (word ^ (word >> _S30)) * MIX1
            word = (word ^ (word >> _S27)) * MIX2
            word ^= word >> _S31
            uniforms[2 * i] = np.float32(np.int64(word >> _S40)) * unit
            uniforms[2 * i + 1] = np.float32(np.int64(word & _LOW24)) * unit
        _dither32(x[first:last], uniforms[: last - first], levels, norm, codes[first:last])


@njit(cache=True, nogil=True)
def _dither64(x, uniforms, levels, norm, codes):  # type: ignore[no-untyped-def]
    # The same where the product is not exact, of x and norm times the power of two that brings the norm to [1, 2):
    # level = j - 1 + [rest > (u - 1) norm] + [rest > u norm] with rest = levels |x_i| - j norm
    # and j = floor(a), or one more where a is next to an integer. Entries and norm are split in two floats each, whose
    # products with levels and j are exact, and so are the differences of these: rest is rounded once, and 0 iff a = j.
    # two powers of two, as their product may be none
    exponent = 1 - math.frexp(norm)[1]
    first, second = math.ldexp(1.0, exponent // 2), math.ldexp(1.0, exponent - exponent // 2)
    norm = norm * first * second
    norm_top = np.float64(np.float32(norm))
    norm_rest = norm - norm_top
    for i in range(x.size):
        size = abs(x[i]) * first * second
        top = np.float64(np.float32(size))
        near = np.floor(levels * size / norm * ABOVE_ROUNDING)
        rest = (levels * top - near * norm_top) + (levels * (size - top) - near * norm_rest)
        level = near - 1.0
        if rest > (uniforms[i] - 1.0) * norm:
            level += 1.0
        if rest > uniforms[i] * norm:
            level += 1.0
        codes[i] = np.int16(math.copysign(level, x[i]))


@njit(cache=True, nogil=True)
def _undither(codes, levels, norm, out):  # type: ignore[no-untyped-def]
    # the last level is norm itself
    for i in range(codes.size):
        out[i] = norm * (codes[i] / levels)


class _Dithering(RandomisedQuantiser):
    """What the three share: all but the number of levels and which norm they are relative to."""

    _euclidean: ClassVar[bool] = False

    @property
    @abstractmethod
    def _levels(self) -> int: ...

    def _encoded(self, x: Array, draw: Draw) -> Coded:
        norm = norm2(x) if self._euclidean else x.dtype.type(finite_largest(x))
        codes = np.empty(x.shape, code_dtype(self._levels))
        levels, divisor = float(self._levels), float(norm)
        if divisor == 0:
            codes.fill(0)
        elif x.itemsize == 8:

            def decide64(start: int, stop: int) -> None:
                _dither64(x[start:stop], draw(start, stop), levels, divisor, codes[start:stop])

            for_blocks(x.size, decide64)
        elif isinstance(draw, Counted):
            key = draw.key

            def draw_and_decide32(start: int, stop: int) -> None:
                with quiet():  # the generator wraps around
                    _dither_drawn32(key, start, x[start:stop], levels, divisor, codes[start:stop])

            for_blocks(x.size, draw_and_decide32, _SPAN)
        else:
            for_blocks(
                x.size,
                lambda start, stop: _dither32(x[start:stop], draw(start, stop), levels, divisor, codes[start:stop]),
            )
        return Coded(x.shape, x.dtype, codes, self._levels, norm)

    def decompress(self, message: Coded) -> Array:
        """The vector that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Coded)
        check_same("levels", message.levels, self._levels)
        check_number("norm", message.norm, message.dtype)
        levels, norm = float(message.levels), float(message.norm)
        out = np.empty(message.shape, message.dtype)
        for_blocks(out.size, lambda start, stop: _undither(message.codes[start:stop], levels, norm, out[start:stop]))
        return out

    def law(self, x: Sequence[Any]) -> Law:
        """The exact distribution of the output: entries are independent, each on its two neighbouring levels.

        Parameters
        ----------
        x : sequence of int, Fraction or float
            Floats are taken at their exact binary value.

        Returns
        -------
        list of (probability, output)
            Fractions where the norm is rational, else exact sympy numbers.
        """
        values, s = checked_exact(x), self._levels
        squares = [v * v for v in values]
        square = sum(squares, Fraction(0)) if self._euclidean else max(squares)
        if square == 0:
            return [(Fraction(1), values)]
        norm: Exact = root(square)

        def marginal(v: Fraction) -> list[tuple[Exact, Exact]]:
            # a = s |v| / norm = (s |v| / norm^2) norm; floor(a) = floor(sqrt(floor(a^2)))
            sign = -1 if v < 0 else 1
            low = math.isqrt(int(a_square := s * s * v * v / square))
            up = norm * (s * abs(v) / square) - low
            if a_square == low * low:
                return [(Fraction(1), norm * Fraction(sign * low, s))]
            return [(1 - up, norm * Fraction(sign * low, s)), (up, norm * Fraction(sign * (low + 1), s))]

        return exact_law(product_law([marginal(v) for v in values]))


@dataclass(frozen=True)
class QSGD(_Dithering):
    """Stochastic rounding of every entry to multiples of the l2 norm over ``levels``.

    C(x)_i = norm2 sign(x_i) l_i / s with l_i = floor(a_i) + Bernoulli(a_i - floor(a_i)), a_i = s |x_i| / norm2
    (Alistarh et al. 2017), entries independent.

    Parameters
    ----------
    levels : int
        Positive levels s; in [1, 2^15 - 1].

    Notes
    -----
    Unbiased; E||C(x) - x||^2 is at most (sqrt(n)/s - 1) ||x||^2 where n >= 4 s^2, and n/(4 s^2) ||x||^2 elsewhere.
    The kernel rounds against the norm that is sent, rounded to the dtype, so a level never exceeds s and a vector with
    one nonzero entry is reproduced; entries on a level stay there surely. Uniforms are multiples of g = 2^-24 (float32)
    or 2^-53 (float64), so the probability p of the upper level is rounded up to a multiple of g: an entry's expectation
    is off by less than g norm2 / s. p itself comes from a_i rounded to float64 (float32 entries), or is off by at most
    2^-52 p (float64 entries). A float64 entry below 2^-1075 of the norm counts as zero.
    Fixed-length codes: 8 itemsize + n ceil(log2(2 s + 1)) bits. An l2 norm beyond the dtype is a ValueError.

    Examples
    --------
    >>> import numpy as np
    >>> QSGD(4)(np.array([3.0, 0.0, -4.0]), np.random.default_rng(0)).tolist() in (
    ...     [[a, 0.0, b] for a in (2.5, 3.75) for b in (-3.75, -5.0)])
    True
    """

    levels: int
    _euclidean = True
    claims = (
        "quantizers.qsgd.unbiased",
        "quantizers.qsgd.variance",
        "quantizers.qsgd.variance_printed",
        "quantizers.qsgd.second_moment",
        "quantizers.qsgd.shrunk_contraction",
        "quantizers.qsgd.level",
        "quantizers.qsgd.support",
        "quantizers.qsgd.support_printed",
        "quantizers.qsgd.wire",
        "quantizers.qsgd.elias",
        "quantizers.qsgd.entropy",
        "quantizers.qsgd.sparse_bits",
        "quantizers.qsgd.sign_symmetry",
        "quantizers.qsgd.scale_equivariance",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", checked_count("levels", self.levels, 1, MAX_LEVELS))

    @property
    def _levels(self) -> int:
        return self.levels


@dataclass(frozen=True)
class MaxDithering(_Dithering):
    """Stochastic rounding of every entry to multiples of the largest magnitude over ``levels``.

    C(x)_i = norminf sign(x_i) l_i / s, with l_i as in `QSGD` and a_i = s |x_i| / norminf.

    Parameters
    ----------
    levels : int
        Positive levels s; in [1, 2^15 - 1].

    Notes
    -----
    Unbiased; E||C(x) - x||^2 <= (sqrt(1 + (n - 1)/s^2) - 1)/2 ||x||^2, attained by one largest entry among equal ones.
    Entries of the largest magnitude are reproduced. Rounding, bias and wire size are as for `QSGD`; the norm is exact.

    Examples
    --------
    >>> import numpy as np
    >>> MaxDithering(2)(np.array([2.0, -1.0, 0.0], np.float32), np.random.default_rng(0))
    array([ 2., -1.,  0.], dtype=float32)
    """

    levels: int
    claims = (
        "quantizers.maxdithering.unbiased",
        "quantizers.maxdithering.variance",
        "quantizers.maxdithering.shrunk_contraction",
        "quantizers.maxdithering.level",
        "quantizers.maxdithering.wire",
        "quantizers.maxdithering.sign_symmetry",
        "quantizers.maxdithering.scale_equivariance",
        "quantizers.maxdithering.idempotence",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", checked_count("levels", self.levels, 1, MAX_LEVELS))

    @property
    def _levels(self) -> int:
        return self.levels


@dataclass(frozen=True)
class TernGrad(_Dithering):
    """Every entry at zero or at the largest magnitude: -1, 0 or 1 times norminf.

    C(x)_i = norminf sign(x_i) Bernoulli(|x_i| / norminf) (Wen et al. 2017), entries independent: `MaxDithering` with
    one level.

    Notes
    -----
    Unbiased; E||C(x) - x||^2 = norminf norm1 - norm2^2 <= (sqrt(n) - 1)/2 norm2^2. Without the clipping of the paper.
    8 itemsize + 2 n bits.

    Examples
    --------
    >>> import numpy as np
    >>> TernGrad()(np.array([2.0, -2.0, 0.0]), np.random.default_rng(0))
    array([ 2., -2.,  0.])
    """

    claims = (
        "quantizers.terngrad.unbiased",
        "quantizers.terngrad.error",
        "quantizers.terngrad.variance",
        "quantizers.terngrad.shrunk_contraction",
        "quantizers.terngrad.wire",
        "quantizers.terngrad.sign_symmetry",
        "quantizers.terngrad.scale_equivariance",
        "quantizers.terngrad.idempotence",
    )

    @property
    def _levels(self) -> int:
        return 1
