"""Counter-based randomness: every draw is a function of (key, index), so results do not depend on threads or order.

The generator is splitmix64 evaluated at a counter: ``mix(key + (i + 1) * GOLDEN)``. The key comes from the caller's
Generator, one 64-bit draw per compression.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["fill_uniforms", "key_from"]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)
_S11, _S40 = np.uint64(11), np.uint64(40)


def key_from(rng: np.random.Generator) -> np.uint64:
    """A 64-bit key, drawn from `rng`."""
    return np.uint64(rng.integers(0, 2**64, dtype=np.uint64))


@njit(cache=True, nogil=True)
def _mix(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


@njit(cache=True, nogil=True)
def _uniforms64(key, start, out):  # type: ignore[no-untyped-def]
    # out[i] = top 53 bits of draw start + i, over 2^53
    for i in range(out.size):
        out[i] = np.float64(_mix(key + (start + np.uint64(i + 1)) * GOLDEN) >> _S11) * 2.0**-53


@njit(cache=True, nogil=True)
def _uniforms32(key, start, out):  # type: ignore[no-untyped-def]
    # out[i] = top 24 bits of draw start + i, over 2^24
    for i in range(out.size):
        out[i] = np.float32(_mix(key + (start + np.uint64(i + 1)) * GOLDEN) >> _S40) * np.float32(2.0**-24)


def fill_uniforms(key: np.uint64, start: int, out: NDArray[Any]) -> None:
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
    (_uniforms32 if out.dtype == np.float32 else _uniforms64)(key, np.uint64(start), out)
