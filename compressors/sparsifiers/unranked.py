"""Sparsifiers that need no selection: a hard threshold, one random entry, and all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from sys import float_info
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors._blocks import BLOCK, for_blocks
from commbounds.compressors._largest import reaching
from commbounds.compressors._magnitude import finite_largest, power_near_inverse
from commbounds.compressors.base import (
    Compressor,
    Law,
    Message,
    check_part,
    checked_array,
    checked_exact,
    checked_message,
    checked_rng,
    hold_python_numbers,
    index_bits,
    merged_law,
)
from commbounds.compressors.sparsifiers.message import Sparse, Sparsifier


@lru_cache(maxsize=16)
def _rounded_up(threshold: float | Fraction, dtype: np.dtype[Any]) -> Any:
    """The smallest number of `dtype`, infinity included, that is at least the threshold."""
    with np.errstate(over="ignore"):
        rounded = dtype.type(float(threshold))
        return rounded if float(rounded) >= threshold else np.nextafter(rounded, dtype.type(np.inf))


@dataclass(frozen=True)
class HardThreshold(Sparsifier):
    """The entries of magnitude at least `threshold`, the others zero.

    Parameters
    ----------
    threshold : int, float or Fraction
        In the unit of the entries; positive, and finite as a float64. Compared exactly, whatever the dtype.

    Notes
    -----
    ||C(x) - x||^2 < n threshold^2 surely; no contraction, as an input below the threshold is lost whole.

    Examples
    --------
    >>> import numpy as np
    >>> HardThreshold(2.0)(np.array([1.0, -3.0, 2.0]))
    array([ 0., -3.,  2.])
    """

    threshold: float | Fraction
    claims = (
        "sparsifiers.hardthreshold.absolute_error",
        "sparsifiers.hardthreshold.nonexpansive",
        "sparsifiers.hardthreshold.wire",
        "sparsifiers.hardthreshold.sign_symmetry",
        "sparsifiers.hardthreshold.idempotence",
    )

    def __post_init__(self) -> None:
        hold_python_numbers(self)
        if isinstance(self.threshold, bool) or not isinstance(self.threshold, int | float | Fraction):
            raise TypeError(f"threshold must be an int, a float or a Fraction, got {self.threshold!r}")
        if not 0 < self.threshold <= float_info.max:
            raise ValueError(f"threshold must be positive and finite, got {self.threshold}")

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Sparse:
        """The entries of `x` that reach the threshold.

        Parameters
        ----------
        x : (n,) float32 or float64
            Finite.
        rng : None
            Ignored.

        Returns
        -------
        Sparse
            ceil(log2 n) + bits of a value for every entry kept, and ceil(log2(n + 1)) for their number.

        Raises
        ------
        TypeError
            `x` is neither float32 nor float64.
        ValueError
            `x` is not a vector, empty, or not finite.
        """
        array = checked_array(x, finite=False)
        indices, values = reaching(array, _rounded_up(self.threshold, array.dtype))
        position_bits = index_bits(array.size + 1) + indices.size * index_bits(array.size)
        return Sparse(array.shape, array.dtype, indices, values, position_bits)

    def law(self, x: Sequence[Any]) -> Law:
        """The output, with probability one."""
        exact, threshold = checked_exact(x), Fraction(self.threshold)
        return [(Fraction(1), tuple(v if abs(v) >= threshold else Fraction(0) for v in exact))]


@njit(cache=True, nogil=True)
def _reach(x, scale, target):  # type: ignore[no-untyped-def]
    # the first i at which scale (|x_0| + ... + |x_i|), added in order, exceeds target, and that sum;
    # the last nonzero entry where none does
    total, last = 0.0, 0
    for i in range(x.size):
        if x[i] != 0:
            total += abs(np.float64(x[i])) * scale
            last = i
            if total > target:
                break
    return last, total


@dataclass(frozen=True)
class AdaptiveSparsification(Sparsifier):
    """One entry, entry i with probability |x_i| / ||x||_1, unscaled (Beznosikov 2020, adaptive random sparsification).

    Notes
    -----
    E||C(x) - x||^2 = ||x||_2^2 - ||x||_3^3 / ||x||_1 <= (1 - 1/n) ||x||_2^2; equality iff all |x_i| are equal.
    The zero vector sends its entry 0. The partial sums of |x_i| are added
    in order in float64, so a probability is off by at most n 2^-53; entries below 2^-1022 of the largest are not drawn.

    Examples
    --------
    >>> import numpy as np
    >>> AdaptiveSparsification()(np.array([0.0, -3.0, 0.0]), np.random.default_rng(0))
    array([ 0., -3.,  0.])
    """

    randomised = True
    claims = (
        "sparsifiers.adaptivesparsification.error",
        "sparsifiers.adaptivesparsification.contraction",
        "sparsifiers.adaptivesparsification.support",
        "sparsifiers.adaptivesparsification.wire",
        "sparsifiers.adaptivesparsification.sign_symmetry",
        "sparsifiers.adaptivesparsification.scale_equivariance",
        "sparsifiers.adaptivesparsification.idempotence",
    )

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Sparse:
        """One random entry of `x`.

        Parameters
        ----------
        x : (n,) float32 or float64
            Finite.
        rng : numpy.random.Generator
            One uniform is taken from it.

        Returns
        -------
        Sparse
            One entry; ceil(log2 n) + bits of a value.

        Raises
        ------
        TypeError
            `x` is neither float32 nor float64, or `rng` is missing.
        ValueError
            `x` is not a vector, empty, or not finite.
        """
        array = checked_array(x, finite=False)
        largest = finite_largest(array)
        return _one_entry(array, _drawn(array, largest, checked_rng(rng).random()))

    def compress_with(self, x: ArrayLike, u: float) -> Sparse:
        """The first entry at which the partial sum of |x_i| exceeds u ||x||_1.

        Parameters
        ----------
        x : (n,) float32 or float64
            As for `compress`.
        u : float
            In [0, 1).

        Raises
        ------
        TypeError, ValueError
            As for `compress`; `u` outside [0, 1).
        """
        array = checked_array(x, finite=False)
        if not 0 <= u < 1:
            raise ValueError(f"u must be in [0, 1), got {u}")
        return _one_entry(array, _drawn(array, finite_largest(array), float(u)))

    def law(self, x: Sequence[Any]) -> Law:
        """Entry i with probability |x_i| / ||x||_1."""
        exact = checked_exact(x)
        total = sum((abs(v) for v in exact), Fraction(0))
        zero = (Fraction(0),) * len(exact)
        if total == 0:
            return [(Fraction(1), zero)]
        return merged_law([(abs(v) / total, (*zero[:i], v, *zero[i + 1 :])) for i, v in enumerate(exact)])


def _one_entry(x: Array, index: int) -> Sparse:
    indices = np.array([index], np.int32)
    return Sparse(x.shape, x.dtype, indices, x[indices], index_bits(x.size))


def _drawn(x: Array, largest: float, u: float) -> int:
    """The index that `u` draws, with probabilities proportional to |x_i|; 0 for the zero vector."""
    if largest == 0:
        return 0
    scale = power_near_inverse(largest)
    if x.size <= BLOCK:
        total = _reach(x, scale, np.inf)[1]
        return int(_reach(x, scale, u * total)[0])
    sums = np.zeros(1 + -(-x.size // BLOCK))

    def work(start: int, stop: int) -> None:
        sums[1 + start // BLOCK] = _reach(x[start:stop], scale, np.inf)[1]

    for_blocks(x.size, work, BLOCK)
    before = np.cumsum(sums)
    target = u * before[-1]
    block = int(np.searchsorted(before, target, side="right")) - 1
    index, _ = _reach(x[block * BLOCK : (block + 1) * BLOCK], scale, target - before[block])
    return int(block * BLOCK + index)


@dataclass(frozen=True, eq=False)
class Dense(Message):
    """Every entry as it is.

    Parameters
    ----------
    values : (n,) float32 or float64
        A copy of the vector.
    """

    values: Array

    @property
    def bits(self) -> int:
        """Exact size on the wire: every value at its dtype."""
        return self.values.size * 8 * self.dtype.itemsize

    def check(self) -> None:
        super().check()
        check_part("values", self.values, self.shape, (self.dtype,))


@dataclass(frozen=True)
class Identity(Compressor):
    """The vector itself: C(x) = x, without error and without saving.

    Examples
    --------
    >>> import numpy as np
    >>> Identity().compress(np.ones(3, np.float32)).bits
    96
    """

    claims = (
        "sparsifiers.identity.contraction",
        "sparsifiers.identity.unbiased",
        "sparsifiers.identity.wire",
        "sparsifiers.identity.sign_symmetry",
        "sparsifiers.identity.scale_equivariance",
        "sparsifiers.identity.idempotence",
    )

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Dense:
        """A copy of `x`.

        Parameters
        ----------
        x : (n,) float32 or float64
            Finite.
        rng : None
            Ignored.

        Raises
        ------
        TypeError
            `x` is neither float32 nor float64.
        ValueError
            `x` is not a vector, empty, or not finite.
        """
        array = checked_array(x)
        return Dense(array.shape, array.dtype, array.copy())

    def decompress(self, message: Dense) -> Array:
        """The values of `message`, copied."""
        checked_message(message, Dense)
        return message.values.copy()

    def law(self, x: Sequence[Any]) -> Law:
        """`x` itself, with probability one."""
        return [(Fraction(1), checked_exact(x))]
