"""Top-K: the entries of largest magnitude."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from commbounds.compressors._blocks import run_all, spans
from commbounds.compressors._magnitude import magnitude_bits
from commbounds.compressors.base import Law, checked_array, checked_count, checked_exact, index_bits
from commbounds.compressors.sparse_message import Sparse, Sparsifier

__all__ = ["TopK", "largest", "largest_exact"]

# Magnitudes are compared by their keys: bit patterns without the sign, unsigned integers in the same order.

_SAMPLE = 1 << 13
"""Keys looked at to guess the k-th largest."""
_ONE, _PRIME = np.uint64(1), np.uint64(67)
_BIT = np.full(67, 255, np.uint8)
_BIT[[2**j % 67 for j in range(64)]] = range(64)
"""Which bit of a word is its only one, by the word modulo 67: powers of two leave distinct remainders."""


@njit(cache=True, nogil=True)
def _sample(bits, mask, keys):  # type: ignore[no-untyped-def]
    # one key from each of keys.size strata, at a hashed position within
    for i in range(keys.size):
        start = i * bits.size // keys.size
        width = (i + 1) * bits.size // keys.size - start
        keys[i] = bits[start + (i * 0x9E3779B1 >> 7) % width] & mask


@njit(cache=True, nogil=True)
def _count(bits, mask, level):  # type: ignore[no-untyped-def]
    # how many keys are above level, and how many equal to it
    above, equal = 0, 0
    for value in bits:
        above += (value & mask) > level
        equal += (value & mask) == level
    return above, equal


@njit(cache=True, nogil=True)
def _reached(bits, count, mask, level):  # type: ignore[no-untyped-def]
    # bit j: whether key j is at least level; count <= 64 keys
    word = np.uint64(0)
    for j in range(count):
        word |= np.uint64((bits[j] & mask) >= level) << np.uint64(j)
    return word


@njit(cache=True, nogil=True)
def _emit(bits, mask, level, ties, base, indices, values):  # type: ignore[no-untyped-def]
    # base + i and bits[i] for every key above level and for the first `ties` of those equal to it, in order of i;
    # returns their number, or -1 if it exceeds the room
    count = 0
    above = bits.dtype.type(level + 1)
    least = level if ties > 0 else above
    for start in range(0, bits.size, 64):
        tile = bits[start : start + 64]
        word = _reached(tile, 64, mask, least) if tile.size == 64 else _reached(tile, tile.size, mask, least)
        while word:
            rest = word & (word - _ONE)
            j = _BIT[(word ^ rest) % _PRIME]
            word = rest
            if (tile[j] & mask) == level:
                if ties == 0:
                    continue
                ties -= 1
                if ties == 0:
                    least = above
            if count == indices.size:
                return -1
            indices[count] = base + start + j
            values[count] = tile[j]
            count += 1
    return count


@njit(cache=True, nogil=True)
def _look_up(table, indices):  # type: ignore[no-untyped-def]
    for i in range(indices.size):
        indices[i] = table[indices[i]]


def _guesses(bits: NDArray[Any], mask: Any, k: int) -> list[tuple[Any, int]]:
    """Levels that the k-th largest key probably reaches, each with room for the keys that do; last the sure one, 0."""
    n = bits.size
    guesses = []
    if n >= 8 * _SAMPLE:
        keys = np.empty(_SAMPLE, bits.dtype)
        _sample(bits, mask, keys)
        keys.sort()
        # About `mean` of the k largest are in the sample, with a variance below that.
        mean = -(-k * _SAMPLE // n)
        for deviations in (5, 12):
            rank = mean + deviations * (isqrt(mean) + 2)
            if rank <= _SAMPLE:
                guesses.append((keys[_SAMPLE - rank], (rank + 5 * (isqrt(rank) + 2)) * n // _SAMPLE))
    return [*guesses, (bits.dtype.type(0), n)]


@dataclass(frozen=True)
class _Pieces:
    """Bit patterns of consecutive entries, in one piece per thread.

    An entry's index is its place in the piece plus the piece's `starts`, or what the piece's `labels` hold there.
    """

    bits: list[NDArray[Any]]
    mask: Any
    starts: list[int]
    labels: list[NDArray[np.int32]] | None = None

    def _on_threads(self, job: Callable[[int], None]) -> None:
        run_all([partial(job, p) for p in range(len(self.bits))], sum(piece.size for piece in self.bits))

    def counts(self, level: Any) -> NDArray[np.int64]:
        """For every piece, how many keys are above `level`, and how many equal to it."""
        counts = np.empty((len(self.bits), 2), np.int64)

        def job(p: int) -> None:
            counts[p] = _count(self.bits[p], self.mask, level)

        self._on_threads(job)
        return counts

    def reaching(self, level: Any, rooms: Iterable[int]) -> _Pieces | None:
        """The entries whose key is at least `level`, labelled; None if there are more in a piece than it has room."""
        bits = [np.empty(room, self.mask.dtype) for room in rooms]
        labels = [np.empty(room.size, np.int32) for room in bits]
        sizes = [0] * len(bits)

        def job(p: int) -> None:
            piece = self.bits[p]
            sizes[p] = _emit(piece, self.mask, level, piece.size, self.starts[p], labels[p], bits[p])
            labels[p], bits[p] = labels[p][: sizes[p]], bits[p][: sizes[p]]

        self._on_threads(job)
        return None if -1 in sizes else _Pieces(bits, self.mask, [0] * len(bits), labels)

    def top(self, k: int, level: Any, counts: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Indices and bit patterns of the `k` largest keys' entries, from the k-th largest key and its `counts`."""
        above, equal = counts.T
        ties = np.clip(k - above.sum() - (np.cumsum(equal) - equal), 0, equal)
        stops = np.cumsum(above + ties)
        indices, values = np.empty(k, np.int32), np.empty(k, self.mask.dtype)

        def job(p: int) -> None:
            own = slice(stops[p] - above[p] - ties[p], stops[p])
            _emit(self.bits[p], self.mask, level, ties[p], self.starts[p], indices[own], values[own])
            if self.labels:
                _look_up(self.labels[p], indices[own])

        self._on_threads(job)
        return indices, values


def _largest(bits: NDArray[Any], mask: Any, k: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Indices and bit patterns of the entries with the `k` largest keys."""
    cuts = spans(bits.size)
    vector = _Pieces([bits[start:stop] for start, stop in cuts], mask, [start for start, _ in cuts])
    found = None
    for level, room in _guesses(bits, mask, k):
        found = vector.reaching(level, [min(room, piece.size) for piece in vector.bits])
        if found is None:
            # Too many. Are most of them equal to the guess, and is it the k-th largest itself?
            counts = vector.counts(level)
            above, equal = counts.sum(axis=0)
            if above < k <= above + equal:
                return vector.top(k, level, counts)
            found = vector.reaching(bits.dtype.type(level + 1), counts[:, 0])
        if found is not None and sum(piece.size for piece in found.bits) >= k:
            break
    assert found is not None
    keys = np.concatenate(found.bits) & mask
    keys.partition(keys.size - k)
    level = keys[keys.size - k]
    return found.top(k, level, found.counts(level))


def largest(x: NDArray[Any], k: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Indices and values of the `k` entries of `x` largest in magnitude.

    Parameters
    ----------
    x : (n,) float32 or float64
        Contiguous.
    k : int
        In [1, n].

    Returns
    -------
    indices : (k,) int32
        Ascending; of equal magnitudes the lowest index goes first.
    values : (k,) dtype of x
        ``x[indices]``.

    Raises
    ------
    ValueError
        `x` holds NaN or an infinity.

    Notes
    -----
    A sample gives a level that a few more than k entries reach; one pass collects those; the k-th largest of them
    decides. When most of the vector is equal to the level, two passes count and collect instead. A guess that fewer
    than k entries reach is followed by a lower one.
    """
    bits, mask = magnitude_bits(x)
    indices, found = _largest(bits, mask, k)
    values = found.view(x.dtype)
    # NaN and the infinities have the largest keys: if there are any, one is among the k.
    if not np.isfinite(values).all():
        raise ValueError("x must be finite, got NaN or infinity")
    return indices, values


def largest_exact(x: Sequence[Fraction], k: int) -> tuple[int, ...]:
    """Ascending indices of the `k` entries of `x` largest in magnitude; ties go to the lowest index."""
    return tuple(sorted(sorted(range(len(x)), key=lambda i: (-abs(x[i]), i))[:k]))


@dataclass(frozen=True)
class TopK(Sparsifier):
    """The k entries of largest magnitude, the others zero.

    C(x)_i = x_i for i in S, 0 elsewhere, where S holds the k largest |x_i| (Stich 2018, Alistarh 2018).

    Parameters
    ----------
    k : int
        Entries kept; 1 <= k <= n.

    Notes
    -----
    Exactly `k` entries are sent; ties go to the lowest index.
    ||C(x) - x||^2 <= (1 - k/n) ||x||^2 surely; equality iff all |x_i| are equal (or k = n).

    Examples
    --------
    >>> import numpy as np
    >>> TopK(2)(np.array([1.0, -3.0, 2.0, 2.0]))
    array([ 0., -3.,  2.,  0.])
    """

    k: int
    claims = (
        "sparsifiers.topk.contraction",
        "sparsifiers.topk.wire",
        "sparsifiers.topk.sign_symmetry",
        "sparsifiers.topk.scale_equivariance",
        "sparsifiers.topk.idempotence",
    )

    def __post_init__(self) -> None:
        checked_count("k", self.k)

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Sparse:
        """The k largest entries of `x`.

        Parameters
        ----------
        x : (n,) float32 or float64
            Finite; n >= k.
        rng : None
            Ignored.

        Returns
        -------
        Sparse
            k entries; k (ceil(log2 n) + bits of a value) bits.

        Raises
        ------
        TypeError
            `x` is neither float32 nor float64.
        ValueError
            `x` is not a vector, empty, not finite, or shorter than k.
        """
        array = checked_array(x, finite=False)
        k = checked_count("k", self.k, 1, array.size)
        indices, values = largest(array, k)
        return Sparse(array.shape, array.dtype, indices, values, k * index_bits(array.size))

    def law(self, x: Sequence[Any]) -> Law:
        """The output, with probability one."""
        exact = checked_exact(x)
        kept = set(largest_exact(exact, checked_count("k", self.k, 1, len(exact))))
        return [(Fraction(1), tuple(v if i in kept else Fraction(0) for i, v in enumerate(exact)))]
