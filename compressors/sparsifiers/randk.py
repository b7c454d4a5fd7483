"""Rand-K: a uniformly random subset of the entries."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from commbounds.array_types import Array
from commbounds.compressors._bits import ONE, lowest
from commbounds.compressors._blocks import BLOCK
from commbounds.compressors._magnitude import LARGEST, finite_largest
from commbounds.compressors._random import fill_bounded, key_from
from commbounds.compressors.base import (
    Law,
    as_numbers,
    checked_array,
    checked_count,
    checked_exact,
    checked_flag,
    checked_rng,
    index_bits,
    merged_law,
)
from commbounds.compressors.sparsifiers.message import Sparse, Sparsifier


@njit(cache=True, nogil=True)
def _floyd(draws, first, chosen):  # type: ignore[no-untyped-def]
    # Floyd's algorithm: put draws[i] from [0, first + i] into the set of bits, or first + i where it is in already
    for i in range(draws.size):
        t = draws[i]
        word, bit = chosen[t >> 6], ONE << np.uint64(t & 63)
        if word & bit:
            t = first + i
            word, bit = chosen[t >> 6], ONE << np.uint64(t & 63)
        chosen[t >> 6] = word | bit


@njit(cache=True, nogil=True)
def _outside(draws, first):  # type: ignore[no-untyped-def]
    # how many draws[i] are not in [0, first + i]
    count = 0
    for i in range(draws.size):
        count += draws[i] < 0 or draws[i] > first + i
    return count


@njit(cache=True, nogil=True)
def _gather(x, scale, chosen, indices, values):  # type: ignore[no-untyped-def]
    # the set bits, ascending, and the entries there times scale; the room is exactly right
    count = 0
    for w in range(chosen.size):
        word = chosen[w]
        while word:
            indices[count] = 64 * w + lowest(word)
            word &= word - ONE
            count += 1
    for i in range(indices.size):
        values[i] = np.float64(x[indices[i]]) * scale


def _message(array: Array, k: int, scale: float, chosen: NDArray[np.uint64]) -> Sparse:
    """The chosen entries of `array`, multiplied by `scale`."""
    indices, values = np.empty(k, np.int32), np.empty(k, array.dtype)
    _gather(array, scale, chosen, indices, values)
    return Sparse(array.shape, array.dtype, indices, values, k * index_bits(array.size))


@dataclass(frozen=True)
class RandK(Sparsifier):
    """A uniformly random subset of k entries, the others zero (Stich 2018).

    C(x)_i = (n/k) x_i for i in S, 0 elsewhere, where S is uniform among the subsets of k indices; without the factor
    n/k if not `scaled`.

    Parameters
    ----------
    k : int
        Entries kept; 1 <= k <= n.
    scaled : bool
        Whether the kept entries are multiplied by n/k, which makes the compressor unbiased.

    Notes
    -----
    Scaled: E C(x) = x and E||C(x) - x||^2 = (n/k - 1) ||x||^2. Unscaled: E||C(x) - x||^2 = (1 - k/n) ||x||^2. Both are
    equalities for every x. The factor n/k is rounded to float64 and its product with an entry to the dtype of x.

    Examples
    --------
    >>> import numpy as np
    >>> RandK(2).compress(np.ones(6), np.random.default_rng(0)).values
    array([3., 3.])
    """

    k: int
    scaled: bool = True
    randomised = True
    claims = (
        "sparsifiers.randk.contraction",
        "sparsifiers.randk.bias",
        "sparsifiers.randk.unbiased",
        "sparsifiers.randk.variance",
        "sparsifiers.randk.second_moment",
        "sparsifiers.randk.shrunk_contraction",
        "sparsifiers.randk.support",
        "sparsifiers.randk.global_contraction_shared",
        "sparsifiers.randk.global_error_independent",
        "sparsifiers.randk.global_error_scaled",
        "sparsifiers.randk.wire",
        "sparsifiers.randk.sign_symmetry",
        "sparsifiers.randk.scale_equivariance",
        "sparsifiers.randk.idempotence_defect",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_count("k", self.k))
        object.__setattr__(self, "scaled", checked_flag("scaled", self.scaled))

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Sparse:
        """A random subset of the entries of `x`.

        Parameters
        ----------
        x : (n,) float32 or float64
            Finite; n >= k.
        rng : numpy.random.Generator
            One 64-bit draw is taken from it.

        Returns
        -------
        Sparse
            k entries; k (ceil(log2 n) + bits of a value) bits.

        Raises
        ------
        TypeError
            `x` is neither float32 nor float64, or `rng` is missing.
        ValueError
            `x` is not a vector, empty, not finite, shorter than k, or n/k times its largest entry overflows.
        """
        array, k, scale = self._checked(x)
        n = array.size
        key = key_from(checked_rng(rng))
        # Drawing what is left out is as good, and cheaper, when that is less.
        count = min(k, n - k)
        chosen = np.zeros(-(-n // 64), np.uint64)
        draws = np.empty(min(count, BLOCK), np.int64)
        for start in range(0, count, BLOCK):
            block = draws[: count - start]
            fill_bounded(key, start, n - count + 1, block)
            _floyd(block, n - count + start, chosen)
        if count < k:
            np.invert(chosen, out=chosen)
            chosen[-1] &= np.uint64(2**64 - 1 >> -n % 64)
        return _message(array, k, scale, chosen)

    def compress_with(self, x: ArrayLike, draws: ArrayLike) -> Sparse:
        """The subset that Floyd's algorithm makes of the given integers: draw j joins the set, or n - k + j does.

        Parameters
        ----------
        x : (n,) float32 or float64
            As for `compress`.
        draws : (k,) integers
            Draw j in [0, n - k + j]; independent and uniform there, they make the subset uniform.

        Raises
        ------
        TypeError, ValueError
            As for `compress`; `draws` has the wrong length or dtype, or a draw outside its range.
        """
        array, k, scale = self._checked(x)
        n, given = array.size, as_numbers(draws, "draws", kinds="iu")
        if given.shape != (k,):
            raise ValueError(f"draws must have shape ({k},), got {given.shape}")
        given = np.ascontiguousarray(given, np.int64)
        if _outside(given, n - k):
            raise ValueError(f"draws[j] must be in [0, {n - k} + j]")
        chosen = np.zeros(-(-n // 64), np.uint64)
        _floyd(given, n - k, chosen)
        return _message(array, k, scale, chosen)

    def _checked(self, x: ArrayLike) -> tuple[Array, int, float]:
        """`x` as an array, k, and the factor for the entries kept."""
        array = checked_array(x, finite=False)
        k = checked_count("k", self.k, 1, array.size)
        scale = array.size / k if self.scaled else 1.0
        if finite_largest(array) * scale > LARGEST[array.itemsize]:
            raise ValueError(f"x must not exceed the largest {array.dtype} when multiplied by n/k = {scale}")
        return array, k, scale

    def law(self, x: Sequence[Any]) -> Law:
        """Every subset with probability 1 / C(n, k).

        Raises
        ------
        ValueError
            There are more than 2^16 subsets.
        """
        exact = checked_exact(x)
        n = len(exact)
        k = checked_count("k", self.k, 1, n)
        if comb(n, k) > 2**16:
            raise ValueError("the law has more than 2**16 outcomes: use a shorter x")
        scale = Fraction(n, k) if self.scaled else Fraction(1)
        return merged_law(
            [
                (Fraction(1, comb(n, k)), tuple(scale * v if i in kept else Fraction(0) for i, v in enumerate(exact)))
                for kept in combinations(range(n), k)
            ]
        )
