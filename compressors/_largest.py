"""The k entries of largest magnitude: exact, in one pass and a bit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from math import isqrt
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from commbounds.array_types import Array
from commbounds.compressors._bits import ONE, lowest
from commbounds.compressors._blocks import run_all, spans
from commbounds.compressors._magnitude import INFINITE, finite_largest, magnitude_bits

# Magnitudes are compared by their keys: bit patterns without the sign, unsigned integers in the same order.

_SAMPLE = 1 << 14
"""Keys looked at, at most, to guess the k-th largest."""
_SHORT = 64 * 64
"""Fewer keys than this are too few for a sample."""
_FEW = 1 << 13
"""At most so many keys are chosen from by counting bytes, in one call; of more, numpy finds the k-th largest sooner."""
_BYTE = np.uint64(255)
_TILE = 4096
"""Keys compared in one go, before the ones found are written out: 64 words."""
_WORD = np.uint64(64)


@njit(cache=True, nogil=True)
def _sample(bits, mask, keys):  # type: ignore[no-untyped-def]
    # one key from each of keys.size strata, at a hashed position within
    width = bits.size // keys.size
    for i in range(keys.size):
        keys[i] = bits[i * width + ((i * 0x9E3779B1 & 0xFFFFFFFF) * width >> 32)] & mask


@njit(cache=True, nogil=True)
def _count(bits, mask, level):  # type: ignore[no-untyped-def]
    # how many keys are above level, and how many equal to it
    above, equal = 0, 0
    for i in range(bits.size):
        above += bits.dtype.type(bits[i] & mask) > level
        equal += bits.dtype.type(bits[i] & mask) == level
    return above, equal


@njit(cache=True, nogil=True)
def _reached(bits, mask, level, words):  # type: ignore[no-untyped-def]
    # bit j of words[w]: whether key 64 w + j is at least level
    whole = bits.size // 64
    for w in range(whole):
        tile = bits[64 * w : 64 * w + 64]
        word = np.uint64(0)
        for j in range(64):
            word |= np.uint64((tile[j] & mask) >= level) << np.uint64(j)
        words[w] = word
    if 64 * whole < bits.size:
        words[whole] = 0
        for j in range(bits.size - 64 * whole):
            words[whole] |= np.uint64((bits[64 * whole + j] & mask) >= level) << np.uint64(j)


@njit(cache=True, nogil=True)
def _emit(bits, mask, level, ties, base, indices, values):  # type: ignore[no-untyped-def]
    # base + i and bits[i] for every key above level and for the first `ties` of those equal to it, in order of i;
    # returns their number, or -1 if it exceeds the room
    count, room = np.uint64(0), np.uint64(indices.size)  # unsigned: no look at whether an index is negative
    above = bits.dtype.type(level + 1)
    words = np.empty(_TILE // 64, np.uint64)
    for start in range(0, bits.size, _TILE):
        tile = bits[start : start + _TILE]
        _reached(tile, mask, level if ties > 0 else above, words)
        every = ties == 0 or ties >= bits.size - start  # what is reached is wanted
        for w in range((tile.size + 63) // 64):
            word, first = words[w], np.uint64(64 * w)
            if every and count + _WORD <= room:
                while word:
                    i = first + np.uint64(lowest(word))
                    word &= word - ONE
                    indices[count] = base + start + np.int64(i)
                    values[count] = tile[i]
                    count += ONE
            while word:
                i = first + np.uint64(lowest(word))
                word &= word - ONE
                if (tile[i] & mask) == level:
                    if ties == 0:
                        continue
                    ties -= 1
                if count == room:
                    return -1
                indices[count] = base + start + np.int64(i)
                values[count] = tile[i]
                count += ONE
    return np.int64(count)


@njit(cache=True, nogil=True)
def _narrow(bits, labels, mask, level, ties, indices, values):  # type: ignore[no-untyped-def]
    # what _emit finds, where most entries are wanted: labels instead of indices, and the room is exactly right
    count, i = 0, 0
    above = bits.dtype.type(level + 1)
    while count < indices.size:
        key = bits[i] & mask
        indices[count] = labels[i]
        values[count] = bits[i]
        least = level if ties > 0 else above
        ties -= key == level
        count += key >= least
        i += 1


@njit(cache=True, nogil=True)
def _short(x, bits, mask, indices, values):  # type: ignore[no-untyped-def]
    # index and entry of the largest keys of a short vector, as many as there is room for, ascending; returns the
    # largest key of all
    left, wanted = bits.size, indices.size
    keys = np.empty(left, np.uint64)
    largest = np.uint64(0)
    for i in range(left):
        keys[i] = bits[i] & mask
        if keys[i] > largest:
            largest = keys[i]
    # the level: byte by byte from the top, which is the next one of the wanted-th largest of the keys that are left?
    counts = np.empty(256, np.int64)
    shift = np.uint64(8 * bits.itemsize)
    while left > 1 and shift > 0:
        shift -= np.uint64(8)
        for byte in range(256):
            counts[byte] = 0
        for i in range(left):
            counts[(keys[i] >> shift) & _BYTE] += 1
        byte = 255
        while counts[byte] < wanted:
            wanted -= counts[byte]
            byte -= 1
        count, left = left, 0
        for i in range(count):
            keys[left] = keys[i]
            left += (keys[i] >> shift) & _BYTE == np.uint64(byte)
    level, ties = keys[0], wanted
    count, i = 0, 0
    while count < indices.size:
        key = np.uint64(bits[i] & mask)
        indices[count] = i
        values[count] = x[i]
        count += (key > level) | ((key == level) & (ties > 0))
        ties -= key == level
        i += 1
    return largest


def _guesses(bits: Array, mask: Any, k: int) -> list[tuple[Any, int]]:
    """Levels that the k-th largest key probably reaches, cheapest first, each with room for the keys that do."""
    n, size = bits.size, min(_SAMPLE, bits.size // 64)
    guesses = []
    keys = np.empty(size, bits.dtype)
    _sample(bits, mask, keys)
    keys.sort()
    # About `mean` of the k largest are in the sample, with a variance below that.
    mean = -(-k * size // n)
    for deviations in (3, 10):
        rank = mean + deviations * (isqrt(mean) + 2)
        if rank <= size:
            level = keys[size - rank]
            tied = level == keys[max(0, size - 2 * rank)]  # far more keys reach it: no use to make room for them
            guesses.append((level, 0 if tied else (rank + 5 * (isqrt(rank) + 2)) * n // size))
    return guesses


@dataclass(frozen=True)
class _Pieces:
    """Bit patterns of consecutive entries, in one piece per thread.

    An entry's index is its place in the piece plus the piece's `starts`, or what the piece's `labels` hold there.
    """

    bits: list[Array]
    mask: Any
    starts: list[int]
    labels: list[NDArray[np.int32]] | None = None

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.bits)

    def _on_threads(self, job: Callable[[int], None]) -> None:
        run_all([partial(job, p) for p in range(len(self.bits))], self.size)

    def counts(self, level: Any) -> list[tuple[int, int]]:
        """For every piece, how many keys are above `level`, and how many equal to it."""
        counts = [(0, 0)] * len(self.bits)

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

    def kth(self, k: int) -> tuple[Any, list[tuple[int, int]]]:
        """The k-th largest key, and its `counts`."""
        keys = np.empty(self.size, self.mask.dtype)
        stops = list(accumulate(piece.size for piece in self.bits))

        def job(p: int) -> None:
            np.bitwise_and(self.bits[p], self.mask, out=keys[stops[p] - self.bits[p].size : stops[p]])

        self._on_threads(job)
        keys.partition(keys.size - k)
        level = keys[keys.size - k]
        return level, self.counts(level)

    def top(self, k: int, level: Any, counts: list[tuple[int, int]]) -> tuple[NDArray[np.int32], Array]:
        """Indices and bit patterns of the `k` largest keys' entries, from the k-th largest key and its `counts`."""
        spare = k - sum(above for above, _ in counts)
        ties = []
        for _, equal in counts:
            ties.append(min(equal, spare))
            spare -= ties[-1]
        stops = list(accumulate(above + tied for (above, _), tied in zip(counts, ties, strict=True)))
        indices, values = np.empty(k, np.int32), np.empty(k, self.mask.dtype)

        def job(p: int) -> None:
            own = slice(stops[p] - counts[p][0] - ties[p], stops[p])
            if self.labels:
                _narrow(self.bits[p], self.labels[p], self.mask, level, ties[p], indices[own], values[own])
            else:
                _emit(self.bits[p], self.mask, level, ties[p], self.starts[p], indices[own], values[own])

        self._on_threads(job)
        return indices, values


def _cut(bits: Array, mask: Any) -> _Pieces:
    """`bits` in one piece per thread."""
    cuts = spans(bits.size)
    return _Pieces([bits[start:stop] for start, stop in cuts], mask, [start for start, _ in cuts])


def _largest_of_short(x: Array, bits: Array, mask: Any, k: int) -> tuple[NDArray[np.int32], Array]:
    """Indices and values of the `k` largest keys' entries, without a guess; what is not finite is refused."""
    indices, values = np.empty(k, np.int32), np.empty(k, x.dtype)
    if _short(x, bits, mask, indices, values) >= INFINITE[x.itemsize]:
        raise ValueError("x must be finite, got NaN or infinity")
    return indices, values


def _by_a_guess(x: Array, bits: Array, mask: Any, k: int) -> tuple[NDArray[np.int32], Array] | None:
    """The same of a longer vector, in one piece, where a guess is right and few keys reach it; else None."""
    for level, room in _guesses(bits, mask, k):
        if room > _FEW:
            return None
        labels, found = np.empty(min(room, x.size), np.int32), np.empty(min(room, x.size), bits.dtype)
        count = _emit(bits, mask, level, x.size, 0, labels, found)
        if count < 0:
            return None
        if count >= k:
            found = found[:count]
            places, values = _largest_of_short(found.view(x.dtype), found, mask, k)
            return labels[places], values
    return None


def _largest(bits: Array, mask: Any, k: int) -> tuple[NDArray[np.int32], Array]:
    """Indices and bit patterns of the entries with the `k` largest keys."""
    vector = _cut(bits, mask)
    for level, room in _guesses(bits, mask, k):
        found = vector.reaching(level, [min(room, piece.size) for piece in vector.bits])
        if found is None:
            # Too many. Are most of them equal to the guess, and is it the k-th largest itself?
            counts = vector.counts(level)
            above = sum(a for a, _ in counts)
            if above < k <= above + sum(e for _, e in counts):
                return vector.top(k, level, counts)
            found = vector.reaching(bits.dtype.type(level + 1), [a for a, _ in counts])
        if found is not None and found.size >= k:
            return found.top(k, *found.kth(k))
    return vector.top(k, *vector.kth(k))


def largest(x: Array, k: int) -> tuple[NDArray[np.int32], Array]:
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
    if x.size < _SHORT:
        return _largest_of_short(x, bits, mask, k)
    if len(spans(x.size)) == 1 and (found := _by_a_guess(x, bits, mask, k)):
        return found
    indices, patterns = _largest(bits, mask, k)
    values = patterns.view(x.dtype)
    finite_largest(values)  # NaN and the infinities have the largest keys: if there are any, one is among the k
    return indices, values


def _finite(values: Array) -> Array:
    """The values that reach a threshold: NaN and the infinities reach any."""
    if values.size:
        finite_largest(values)
    return values


def reaching(x: Array, threshold: Any) -> tuple[NDArray[np.int32], Array]:
    """Indices, ascending, and values of the entries of `x` whose magnitude is at least `threshold`.

    Parameters
    ----------
    x : (n,) float32 or float64
        Contiguous.
    threshold : scalar of the dtype of x
        Not negative, not NaN.

    Raises
    ------
    ValueError
        `x` holds NaN or an infinity.
    """
    bits, mask = magnitude_bits(x)
    level = threshold.view(bits.dtype)
    if x.size < _SHORT:
        above, equal = _count(bits, mask, level)
        indices, found = np.empty(above + equal, np.int32), np.empty(above + equal, bits.dtype)
        _emit(bits, mask, level, equal, 0, indices, found)
        return indices, _finite(found.view(x.dtype))
    vector = _cut(bits, mask)
    counts = vector.counts(level)
    indices, found = vector.top(sum(a + e for a, e in counts), level, counts)
    return indices, _finite(found.view(x.dtype))
