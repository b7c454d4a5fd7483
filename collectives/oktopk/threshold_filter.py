"""What passes a threshold: indices and values, in one pass over every rank's vector."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from commbounds.array_types import Array, Floats, Integers
from commbounds.compressors._bits import ONE, lowest
from commbounds.compressors._blocks import run_all, spans
from commbounds.compressors._magnitude import magnitude_bits
from commbounds.compressors.base import is_finite

# Magnitudes are compared by their keys: bit patterns without the sign, unsigned integers in the same order.

_TILE = 4096
"""Keys compared in one go, before the ones found are written out: 64 words."""


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
def _pass(bits, mask, level, indices, found):  # type: ignore[no-untyped-def]
    # i and bits[i] for every key that is at least level, in order of i; returns their number, also where it exceeds
    # the room, which is filled then, and the largest key
    count = 0
    largest = bits.dtype.type(0)
    words = np.empty(_TILE // 64, np.uint64)
    for start in range(0, bits.size, _TILE):
        tile = bits[start : start + _TILE]
        _reached(tile, mask, level, words)
        for w in range((tile.size + 63) // 64):
            word = words[w]
            while word:
                i = 64 * w + lowest(word)
                word &= word - ONE
                largest = max(largest, tile[i] & mask)
                if count < indices.size:
                    indices[count] = start + i
                    found[count] = tile[i]
                count += 1
    return count, largest


@njit(cache=True, nogil=True)
def _pass_rows(bits, mask, levels, first, last, indices, found, counts, largest):  # type: ignore[no-untyped-def]
    for p in range(first, last):
        counts[p], largest[p] = _pass(bits[p], mask, levels[p], indices[p], found[p])


@dataclass(frozen=True, eq=False)
class Passing:
    """Every rank's entries that pass its threshold.

    Parameters
    ----------
    indices : (P, room) int32
        Row p holds ``counts[p]`` indices, ascending; what follows means nothing.
    values : (P, room) float32 or float64
        The values there.
    counts : (P,) int64
        Entries of every rank; at most the room.
    finite : bool
        Whether no entry of the vectors is NaN or an infinity.
    """

    indices: NDArray[np.int32]
    values: Array
    counts: Integers
    finite: bool

    def rows(self) -> Iterator[NDArray[np.int32]]:
        """Every rank's indices."""
        return (row[:count] for row, count in zip(self.indices, self.counts, strict=True))

    def entries(self, p: int) -> tuple[NDArray[np.int32], Array]:
        """Indices and values of rank `p`."""
        return self.indices[p, : self.counts[p]], self.values[p, : self.counts[p]]

    def narrow(self, p: int, keys: Array) -> None:
        """Keep of rank `p` only what has at least the key in the (1,) array `keys`."""
        indices, values = self.entries(p)
        kept = np.abs(values) >= keys.view(values.dtype)
        self.counts[p] = np.count_nonzero(kept)
        self.indices[p, : self.counts[p]], self.values[p, : self.counts[p]] = indices[kept], values[kept]


def least_keys(thresholds: Floats, dtype: np.dtype[Any], inclusive: bool) -> Array:
    """For every threshold the least key of `dtype` that passes it; zero never does, NaN and infinities always do.

    Parameters
    ----------
    thresholds : (P,) float64
        Finite, not negative; compared exactly, also with float32.
    dtype : float32 or float64
        Of the vectors.
    inclusive : bool
        Whether a magnitude equal to the threshold passes.
    """
    with np.errstate(over="ignore"):  # a threshold beyond the largest float32 lets only infinities pass
        least = thresholds.astype(dtype)
        exact = least.astype(np.float64)
        short = exact < thresholds if inclusive else exact <= thresholds
        least[short] = np.nextafter(least[short], dtype.type(np.inf))
    keys: Array = least.view(f"u{dtype.itemsize}")
    keys[keys == 0] = 1
    return keys


def passing(stack: Array, keys: Array, room: int) -> Passing:
    """The entries of every row of `stack` whose key is at least that of ``keys``.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        C-contiguous; n < 2^31.
    keys : (P,) unsigned integers as wide as the entries
        From `least_keys`.
    room : int
        Guess of the largest number of entries; a second pass takes place if it is too low.
    """
    bits, mask = magnitude_bits(stack)
    P, n = bits.shape
    rows = [(start // n, stop // n) for start, stop in spans(bits.size, max(n, 1))]
    counts, largest = np.zeros(P, np.int64), np.zeros(P, bits.dtype)
    room = min(room, n)
    while True:
        indices, found = np.empty((P, room), np.int32), np.empty((P, room), bits.dtype)
        jobs = [
            partial(_pass_rows, bits, mask, keys, first, last, indices, found, counts, largest) for first, last in rows
        ]
        run_all(jobs, bits.size)
        most = int(counts.max())
        if most <= room:
            finite = is_finite(largest.view(stack.dtype))  # what is not finite has the largest keys
            return Passing(indices, found.view(stack.dtype), counts, finite)
        room = most
