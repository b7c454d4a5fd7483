"""Counter-based randomness: every draw is a function of (key, index), so results do not depend on threads or order.

The generator is splitmix64 evaluated at a counter: ``mix(key + (i + 1) * GOLDEN)``. The key comes from the caller's
Generator, one 64-bit draw per compression. A draw takes one evaluation; two float32 uniforms share one.
"""

import numpy as np
from numba import njit
from numpy.random import PCG64, PCG64DXSM, SFC64, Philox

from commbounds.array_types import Array, Integers
from commbounds.compressors._blocks import quiet

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX1 = np.uint64(0xBF58476D1CE4E5B9)
MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)
_S11, _S32, _S40 = np.uint64(11), np.uint64(32), np.uint64(40)
_LOW32, _LOW24 = np.uint64(2**32 - 1), np.uint64(2**24 - 1)
_WORDS = (PCG64, PCG64DXSM, SFC64, Philox)
"""Bit generators that make 64 bits at a time."""


def key_from(rng: np.random.Generator) -> np.uint64:
    """A 64-bit key, drawn from `rng`."""
    source = rng.bit_generator
    if type(source) in _WORDS:  # a word of theirs is what `integers` returns, in a tenth of the time
        return np.uint64(source.random_raw())
    return np.uint64(rng.integers(0, 2**64, dtype=np.uint64))


@njit(cache=True, nogil=True)
def _mix(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> _S30)) * MIX1
    z = (z ^ (z >> _S27)) * MIX2
    return z ^ (z >> _S31)


@njit(cache=True, nogil=True)
def _uniforms64(key, start, out):  # type: ignore[no-untyped-def]
    # out[i] = top 53 bits of draw start + i, over 2^53
    first = np.uint64(start + 1)
    for i in range(out.size):
        out[i] = np.float64(_mix(key + (first + np.uint64(i)) * GOLDEN) >> _S11) * 2.0**-53


@njit(cache=True, nogil=True)
def _uniforms32(key, start, out):  # type: ignore[no-untyped-def]
    # draws 2 i and 2 i + 1 are the top and the bottom 24 bits of hash i, over 2^24
    unit = np.float32(2.0**-24)
    skip = start & 1
    counter = key + np.uint64((start >> 1) + 1) * GOLDEN
    if skip:
        out[0] = np.float32(np.int64(_mix(counter) & _LOW24)) * unit
        counter += GOLDEN
    pairs = (out.size - skip) // 2
    body = out[skip : skip + 2 * pairs]
    for i in range(pairs):
        word = _mix(counter + np.uint64(i) * GOLDEN)
        body[2 * i] = np.float32(np.int64(word >> _S40)) * unit
        body[2 * i + 1] = np.float32(np.int64(word & _LOW24)) * unit
    if skip + 2 * pairs < out.size:
        out[out.size - 1] = np.float32(np.int64(_mix(counter + np.uint64(pairs) * GOLDEN) >> _S40)) * unit


@njit(cache=True, nogil=True)
def _bounded(key, start, low, out):  # type: ignore[no-untyped-def]
    # Lemire 2019: the high half of (32 random bits) * size, rejecting the low halves that would favour some results.
    # Attempt a for draw j uses counter j + 2^32 a, so that no two attempts share one. The first loop vectorises.
    first, smallest = np.uint64(start + 1), np.uint64(low + start)
    for i in range(out.size):
        out[i] = (_mix(key + (first + np.uint64(i)) * GOLDEN) >> _S32) * (smallest + np.uint64(i))
    for i in range(out.size):
        product = out[i]
        size = smallest + np.uint64(i)
        if (product & _LOW32) < size:
            unfair = (_LOW32 - size + np.uint64(1)) % size
            counter = first + np.uint64(i)
            while (product & _LOW32) < unfair:
                counter += _LOW32 + np.uint64(1)
                product = (_mix(key + counter * GOLDEN) >> _S32) * size
        out[i] = product >> _S32


def fill_bounded(key: np.uint64, start: int, low: int, out: Integers) -> None:
    """Fill `out` with independent integers, entry i exactly uniform on range(low + start + i).

    Parameters
    ----------
    key : uint64
        From `key_from`.
    start : int
        Counter of the first entry; >= 0.
    low : int
        Size of the range at counter 0; >= 1, and low + start + out.size <= 2^32.
    out : (n,) int64
        Filled.
    """
    with quiet():  # the generator means to wrap around
        _bounded(key, start, low, out.view(np.uint64))


def fill_uniforms(key: np.uint64, start: int, out: Array) -> None:
    """Fill `out` with the uniforms of counters start .. start + out.size - 1.

    Parameters
    ----------
    key : uint64
        From `key_from`.
    start : int
        Counter of the first entry; >= 0.
    out : (n,) float32 or float64
        Filled with multiples of 2^-24 (float32) or 2^-53 (float64) in [0, 1).
    """
    with quiet():  # the generator means to wrap around
        (_uniforms32 if out.dtype == np.float32 else _uniforms64)(key, start, out)
