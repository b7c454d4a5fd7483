"""Stochastic rounding to equidistant levels of a norm: QSGD, max-norm dithering, TernGrad."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from commbounds.compressors._blocks import for_blocks
from commbounds.compressors._norms import largest_magnitude, norm2
from commbounds.compressors._surds import exact_law, root
from commbounds.compressors.base import Exact, Law, checked_count, checked_exact, product_law
from commbounds.compressors.coded_message import Coded, Draw, RandomisedQuantiser, code_dtype

__all__ = ["QSGD", "MaxDithering", "TernGrad"]

MAX_LEVELS = 2**15 - 1
_HUGE = 2.0**1000


@njit(cache=True, nogil=True)
def _dither(x, uniforms, levels, norm, codes):  # type: ignore[no-untyped-def]
    # level = floor(a) + [u < a - floor(a)] with a = levels |x_i| / norm
    for i in range(x.size):
        a = levels * abs(np.float64(x[i])) / norm
        low = math.floor(a)
        level = low + (np.float64(uniforms[i]) < a - low)
        if level > levels:
            level = levels
        codes[i] = -level if x[i] < 0 else level


class _Dithering(RandomisedQuantiser):
    """What the three share: everything but the norm and where the number of levels comes from."""

    @property
    @abstractmethod
    def _levels(self) -> int: ...

    @abstractmethod
    def _norm(self, x: NDArray[Any]) -> Any: ...

    @abstractmethod
    def _squared_norm(self, x: Sequence[Fraction]) -> Fraction: ...

    def _encoded(self, x: NDArray[Any], draw: Draw) -> Coded:
        norm = self._norm(x)
        codes = np.zeros(x.shape, code_dtype(self._levels))
        if norm > 0:
            # levels |x_i| must not overflow
            shift = 2.0**-16 if float(norm) > _HUGE else 1.0
            divisor, levels = float(norm) * shift, float(self._levels)

            def work(start: int, stop: int) -> None:
                entries = x[start:stop] if shift == 1.0 else x[start:stop] * shift
                _dither(entries, draw(start, stop), levels, divisor, codes[start:stop])

            for_blocks(x.size, work)
        return Coded(x.shape, x.dtype, codes, self._levels, norm)

    def _magnitudes(self, message: Coded) -> NDArray[Any]:
        return float(message.norm) * (np.arange(1, message.levels + 1) / message.levels)

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
        square = self._squared_norm(values)
        if square == 0:
            return [(Fraction(1), values)]
        norm: Exact = root(square)

        def marginal(v: Fraction) -> list[tuple[Exact, Exact]]:
            # a = s |v| / norm = (s |v| / norm^2) norm; floor(a) = floor(sqrt(floor(a^2)))
            sign = -1 if v < 0 else 1
            low = math.isqrt(int(s * s * v * v / square))
            up = norm * (s * abs(v) / square) - low
            if s * s * v * v == low * low * square:
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
    one nonzero entry is reproduced. a_i is correctly rounded to float64 for float32 entries, and within one part in
    2^52 for float64. Uniforms are multiples of g = 2^-24 (float32) or 2^-53 (float64), so that the probability of the
    upper level is that of a_i rounded up to a multiple of g: an entry's expectation is off by less than g norm2 / s.
    Fixed-length codes: 8 itemsize + n ceil(log2(2 s + 1)) bits. An l2 norm beyond the dtype is a ValueError.

    Examples
    --------
    >>> import numpy as np
    >>> QSGD(4)(np.array([3.0, 0.0, -4.0]), np.random.default_rng(0)).tolist() in (
    ...     [[a, 0.0, b] for a in (2.5, 3.75) for b in (-3.75, -5.0)])
    True
    """

    levels: int
    claims = (
        "quantizers.qsgd.variance",
        "quantizers.qsgd.unbiased",
        "quantizers.qsgd.wire",
        "quantizers.qsgd.sign_symmetry",
        "quantizers.qsgd.scale_equivariance",
    )

    def __post_init__(self) -> None:
        checked_count("levels", self.levels, 1, MAX_LEVELS)

    @property
    def _levels(self) -> int:
        return self.levels

    def _norm(self, x: NDArray[Any]) -> Any:
        return norm2(x)

    def _squared_norm(self, x: Sequence[Fraction]) -> Fraction:
        return sum((v * v for v in x), Fraction(0))


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
        "quantizers.maxdithering.variance",
        "quantizers.maxdithering.unbiased",
        "quantizers.maxdithering.wire",
        "quantizers.maxdithering.sign_symmetry",
        "quantizers.maxdithering.scale_equivariance",
    )

    def __post_init__(self) -> None:
        checked_count("levels", self.levels, 1, MAX_LEVELS)

    @property
    def _levels(self) -> int:
        return self.levels

    def _norm(self, x: NDArray[Any]) -> Any:
        return largest_magnitude(x)

    def _squared_norm(self, x: Sequence[Fraction]) -> Fraction:
        return max(v * v for v in x)


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
        "quantizers.terngrad.variance",
        "quantizers.terngrad.unbiased",
        "quantizers.terngrad.wire",
        "quantizers.terngrad.sign_symmetry",
        "quantizers.terngrad.scale_equivariance",
    )

    @property
    def _levels(self) -> int:
        return 1

    def _norm(self, x: NDArray[Any]) -> Any:
        return largest_magnitude(x)

    def _squared_norm(self, x: Sequence[Fraction]) -> Fraction:
        return max(v * v for v in x)
