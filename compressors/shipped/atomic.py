"""Entry-wise ATOMO: entries kept independently, with the probabilities that make the variance least."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors._magnitude import LARGEST, finite_largest
from commbounds.compressors._random import key_from
from commbounds.compressors.base import (
    Law,
    checked_array,
    checked_exact,
    checked_real,
    checked_rng,
    hold_python_numbers,
    index_bits,
    product_law,
)
from commbounds.compressors.quantizers.message import Counted, checked_uniforms
from commbounds.compressors.sparsifiers import Sparse
from commbounds.compressors.sparsifiers.message import Sparsifier


@njit(cache=True, nogil=True)
def _least_variance(sizes, budget):  # type: ignore[no-untyped-def]
    # sizes descending, at least budget of them: the least m for which the entries behind the m first share what is left
    # of the budget, no probability above one; and their level, over the largest of them, so that no sum overflows
    for m in range(sizes.size):
        left, rest = budget - m, 0.0
        for i in range(sizes.size - 1, m - 1, -1):
            rest += sizes[i] / sizes[m]
        if left <= rest:
            break
    return m, rest / left


@njit(cache=True, nogil=True)
def _keep(x, uniforms, level, kept):  # type: ignore[no-untyped-def]
    # entries that reach the level are certain
    count = 0
    for i in range(x.size):
        kept[i] = x[i] != 0 and np.float64(uniforms[i]) < abs(np.float64(x[i])) / level
        count += kept[i]
    return count


@njit(cache=True, nogil=True)
def _gather(x, level, kept, indices, values):  # type: ignore[no-untyped-def]
    at = 0
    for i in range(x.size):
        if kept[i]:
            indices[at] = i
            values[at] = x[i] if abs(np.float64(x[i])) >= level else math.copysign(level, x[i])
            at += 1


@dataclass(frozen=True)
class Atomic(Sparsifier):
    """Entry i, over p_i, with probability p_i, else zero; `budget` entries in expectation (ATOMO, entry-wise).

    p_i = min(1, |x_i| / level), where the level makes the p_i add up to the budget; all one where it reaches the number
    of nonzero entries (Wang et al. 2018). Entries are independent.

    Parameters
    ----------
    budget : int, float or Fraction
        Expected number of entries kept; positive.

    Notes
    -----
    Unbiased. Where budget norminf <= norm1, E||C(x) - x||^2 = norm1^2 / budget - norm2^2, and all entries kept have
    the magnitude norm1 / budget. The level is computed in float64; uniforms are multiples of 2^-24 (float32) or 2^-53.

    Examples
    --------
    >>> import numpy as np
    >>> Atomic(2).compress_with(np.array([4.0, -1.0, 1.0, 0.0]), np.array([0.9, 0.4, 0.6, 0.0])).values
    array([ 4., -2.])
    """

    budget: float | Fraction
    randomised = True
    counted = True
    claims = (
        "shipped.atomic.unbiased",
        "shipped.atomic.variance_balanced",
        "shipped.atomic.variance",
        "shipped.atomic.shrunk_contraction",
        "shipped.atomic.support",
        "shipped.atomic.wire",
        "shipped.atomic.sign_symmetry",
        "shipped.atomic.scale_equivariance",
    )

    def __post_init__(self) -> None:
        hold_python_numbers(self)
        if not 0 < checked_real("budget", self.budget) < math.inf:
            raise ValueError(f"budget must be positive and finite, got {self.budget}")

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Sparse:
        """The drawn entries of `x`.

        Parameters
        ----------
        x : (n,) float32 or float64
            Finite.
        rng : numpy.random.Generator
            One 64-bit key is drawn from it; entry i then uses draw i of a counter-based generator.

        Returns
        -------
        Sparse
            ceil(log2 n) + bits of a value for every entry kept, and ceil(log2(n + 1)) for their number.

        Raises
        ------
        TypeError
            `x` is neither float32 nor float64, or `rng` is missing.
        ValueError
            `x` is not a vector, empty, not finite, or the magnitude of what is kept would overflow.
        """
        array = checked_array(x, finite=False)
        level = self._level(array)
        return _sent(array, level, Counted(key_from(checked_rng(rng)), array.dtype)(0, array.size))

    def compress_with(self, x: ArrayLike, uniforms: ArrayLike) -> Sparse:
        """The entries of `x` whose uniform is below their probability.

        Parameters
        ----------
        x : (n,) float32 or float64
            As for `compress`.
        uniforms : (n,) dtype of x
            In [0, 1).

        Raises
        ------
        TypeError, ValueError
            As for `compress`; `uniforms` has another dtype or shape, or leaves [0, 1).
        """
        array = checked_array(x, finite=False)
        level = self._level(array)
        return _sent(array, level, checked_uniforms(uniforms, array))

    def _level(self, x: Array) -> float:
        """The magnitude of entries that are not certain: a probability is the entry over it."""
        finite_largest(x)
        sizes = np.sort(np.abs(x[x != 0].astype(np.float64)))[::-1].copy()
        if self.budget > sizes.size:  # exact, as Python compares floats with Fractions
            return float(sizes[-1]) if sizes.size else 1.0
        scale = 2.0**500 if self.budget < 2.0**-600 else 1.0  # sums over such a budget leave the range; m is zero
        m, share = _least_variance(sizes, float(self.budget) * scale)
        if not (level := float(share) * float(sizes[m]) * scale) <= LARGEST[x.itemsize]:
            raise ValueError(
                f"x must not exceed the largest {x.dtype} when added up and divided by the budget, {self.budget}"
            )
        return level

    def law(self, x: Sequence[Any]) -> Law:
        """Independent entries, each kept or not."""
        exact, budget = checked_exact(x), Fraction(self.budget)
        sizes = sorted((abs(v) for v in exact if v != 0), reverse=True)
        level = Fraction(0)
        for m in range(len(sizes)):
            rest, left = sum(sizes[m:], Fraction(0)), budget - m
            if left * sizes[m] <= rest:
                level = rest / left
                break

        def marginal(v: Fraction) -> list[tuple[Any, Any]]:
            if abs(v) >= level:
                return [(Fraction(1), v)]
            p = abs(v) / level
            return [(1 - p, Fraction(0)), (p, level if v > 0 else -level)]

        return product_law([marginal(v) for v in exact])


def _sent(x: Array, level: float, uniforms: Array) -> Sparse:
    kept = np.empty(x.size, np.bool_)
    found = int(_keep(x, uniforms, level, kept))
    indices, values = np.empty(found, np.int32), np.empty(found, x.dtype)
    _gather(x, level, kept, indices, values)
    return Sparse(x.shape, x.dtype, indices, values, index_bits(x.size + 1) + found * index_bits(x.size))
