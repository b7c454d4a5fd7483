"""Rand-K whose k places are drawn with replacement."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Integers
from commbounds.compressors._blocks import BLOCK, quiet
from commbounds.compressors._magnitude import LARGEST, finite_largest
from commbounds.compressors._random import GOLDEN, MIX1, MIX2, key_from
from commbounds.compressors.base import (
    MAX_ENTRIES,
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
from commbounds.compressors.sparsifiers import Sparse
from commbounds.compressors.sparsifiers.message import Sparsifier

_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_LOW32 = np.uint64(2**32 - 1)


@njit(cache=True, nogil=True)
def _places(key, start, size, out):  # type: ignore[no-untyped-def]
    # draw i uniform on range(size): the high word of hash times size, drawn again where that would be unfair
    span = np.uint64(size)
    unfair = (_LOW32 - span + np.uint64(1)) % span
    for i in range(out.size):
        counter = np.uint64(start + i + 1)
        while True:
            word = key + counter * GOLDEN
            word = (word ^ (word >> _S30)) * MIX1
            word = (word ^ (word >> _S27)) * MIX2
            word ^= word >> _S31
            scaled = (word >> _S32) * span
            if (scaled & _LOW32) >= unfair:
                break
            counter += _LOW32 + np.uint64(1)
        out[i] = np.int64(scaled >> _S32)


@njit(cache=True, nogil=True)
def _count(places, times):  # type: ignore[no-untyped-def]
    # how often every place is drawn; returns how many are drawn at all
    found = 0
    for i in range(places.size):
        found += times[places[i]] == 0
        times[places[i]] += 1
    return found


@njit(cache=True, nogil=True)
def _collect(x, scale, added, times, indices, values):  # type: ignore[no-untyped-def]
    at = 0
    for i in range(x.size):
        if times[i]:
            indices[at] = i
            gain = scale * times[i] if added else scale
            values[at] = np.float64(x[i]) * gain
            at += 1


@dataclass(frozen=True)
class ReplacementRandK(Sparsifier):
    """k places drawn with replacement, their entries times n/k; a place that is drawn twice counts once.

    C(x)_i = (n/k) x_i where i is among the k draws, 0 elsewhere, as with a decoder that writes and does not add; where
    draws are `added`, C(x)_i = (n/k) N_i x_i, with N_i the times that i is drawn.

    Parameters
    ----------
    k : int
        Draws, in [1, 2^31 - 1]; each takes time.
    added : bool
        Whether a place that is drawn twice counts twice.

    Notes
    -----
    Written over: E C(x) = (n/k) (1 - (1 - 1/n)^k) x, which is x for k = 1 alone. Added: unbiased, and
    E||C(x) - x||^2 = (n - 1)/k ||x||^2, where Rand-K has (n - k)/k. n/k and its product with N_i are rounded to
    float64, and the product with an entry to the dtype of x. A message holds the places that were drawn, once each, and
    their number.

    Examples
    --------
    >>> import numpy as np
    >>> ReplacementRandK(2).compress_with(np.ones(4), np.array([3, 3])).values
    array([2.])
    """

    k: int
    added: bool = False
    randomised = True
    counted = True
    claims = (
        "shipped.replacementrandk.bias",
        "shipped.replacementrandk.error",
        "shipped.replacementrandk.unbiased_added",
        "shipped.replacementrandk.variance",
        "shipped.replacementrandk.shrunk_contraction",
        "shipped.replacementrandk.support",
        "shipped.replacementrandk.wire",
        "shipped.replacementrandk.sign_symmetry",
        "shipped.replacementrandk.scale_equivariance",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_count("k", self.k, 1, MAX_ENTRIES))
        object.__setattr__(self, "added", checked_flag("added", self.added))

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Sparse:
        """The drawn entries of `x`.

        Parameters
        ----------
        x : (n,) float32 or float64
            Finite.
        rng : numpy.random.Generator
            One 64-bit draw is taken from it.

        Returns
        -------
        Sparse
            At most min(k, n) entries, each ceil(log2 n) + bits of a value, and ceil(log2(n + 1)) for their number.

        Raises
        ------
        TypeError
            `x` is neither float32 nor float64, or `rng` is missing.
        ValueError
            `x` is not a vector, empty, not finite, or the largest factor times its largest entry overflows.
        """
        array, scale = self._checked(x)
        key, times = key_from(checked_rng(rng)), np.zeros(array.size, np.int64)
        found = 0
        places = np.empty(min(self.k, BLOCK), np.int64)
        with quiet():  # the generator wraps around
            for start in range(0, self.k, BLOCK):
                part = places[: self.k - start]
                _places(key, start, array.size, part)
                found += int(_count(part, times))
        return self._message(array, scale, times, found)

    def compress_with(self, x: ArrayLike, picks: ArrayLike) -> Sparse:
        """The entries of `x` at the given places.

        Parameters
        ----------
        x : (n,) float32 or float64
            As for `compress`.
        picks : (k,) integers
            In [0, n).

        Raises
        ------
        TypeError, ValueError
            As for `compress`; `picks` has another length or dtype, or a place that is none.
        """
        array, scale = self._checked(x)
        given = as_numbers(picks, "picks", kinds="iu")
        if given.shape != (self.k,):
            raise ValueError(f"picks must have shape ({self.k},), got {given.shape}")
        if given.min() < 0 or given.max() >= array.size:
            raise ValueError(f"picks must be in [0, {array.size - 1}], got [{given.min()}, {given.max()}]")
        times = np.zeros(array.size, np.int64)
        return self._message(array, scale, times, int(_count(given.astype(np.int64), times)))

    def _checked(self, x: ArrayLike) -> tuple[Array, float]:
        array = checked_array(x, finite=False)
        scale = array.size / self.k
        gain = array.size if self.added else max(scale, 1.0)
        if finite_largest(array) * gain > LARGEST[array.itemsize]:
            raise ValueError(f"x must not exceed the largest {array.dtype} when multiplied by {gain}")
        return array, scale

    def _message(self, x: Array, scale: float, times: Integers, found: int) -> Sparse:
        indices, values = np.empty(found, np.int32), np.empty(found, x.dtype)
        _collect(x, scale, self.added, times, indices, values)
        return Sparse(x.shape, x.dtype, indices, values, index_bits(x.size + 1) + found * index_bits(x.size))

    def law(self, x: Sequence[Any]) -> Law:
        """All n^k sequences of draws, equally likely.

        Raises
        ------
        ValueError
            There are more than 2^16.
        """
        exact = checked_exact(x)
        n = len(exact)
        if n**self.k > 2**16:
            raise ValueError("the law has more than 2**16 outcomes: use a shorter x")
        scale, sequences = Fraction(n, self.k), n**self.k
        gains: Counter[tuple[int, ...]] = Counter()
        for picks in product(range(n), repeat=self.k):
            gains[tuple(picks.count(i) if self.added else int(i in picks) for i in range(n))] += 1
        scaled = [scale * v for v in exact]
        return merged_law(
            [
                (Fraction(times, sequences), tuple(g * v for g, v in zip(gain, scaled, strict=True)))
                for gain, times in gains.items()
            ]
        )
