"""The largest magnitude of a vector, and with it the proof that the vector is finite."""

import math
from struct import Struct
from typing import Any

import numpy as np
from numba import njit

from commbounds.array_types import Array
from commbounds.compressors._blocks import BLOCK, for_blocks

_PATTERNS = {size: np.dtype(f"u{size}") for size in (4, 8)}
_MASKS = {size: unsigned.type(np.iinfo(unsigned).max >> 1) for size, unsigned in _PATTERNS.items()}
_FORMS = {4: (Struct("I"), Struct("f")), 8: (Struct("Q"), Struct("d"))}
INFINITE = {4: int(np.float32(np.inf).view(np.uint32)), 8: int(np.float64(np.inf).view(np.uint64))}
"""Size of a float in bytes -> its pattern of infinity: finite magnitudes have smaller ones, NaN has larger ones."""
LARGEST = {4: float(np.finfo(np.float32).max), 8: float(np.finfo(np.float64).max)}
"""Size of a float in bytes -> the largest finite one."""


def magnitude_bits(x: Array) -> tuple[Array, Any]:
    """The bit patterns of `x` as unsigned integers, and the mask that clears the sign.

    Masked patterns are ordered like magnitudes, with the infinities above all finite numbers and NaN above those.

    Parameters
    ----------
    x : (n,) float32 or float64
        Contiguous.

    Returns
    -------
    bits : (n,) uint32 or uint64
        A view of `x`.
    mask : uint32 or uint64 scalar
        All ones but the sign bit.
    """
    size = x.itemsize
    return x.view(_PATTERNS[size]), _MASKS[size]


@njit(cache=True, nogil=True)
def _largest(bits, mask):  # type: ignore[no-untyped-def]
    largest = bits[0] & mask
    for i in range(bits.size):
        largest = max(largest, bits[i] & mask)
    return largest


def finite_largest(x: Array) -> float:
    """The largest ``|x_i|``.

    Parameters
    ----------
    x : (n,) float32 or float64
        Contiguous.

    Raises
    ------
    ValueError
        `x` holds NaN or an infinity.
    """
    bits, mask = magnitude_bits(x)
    if x.size <= BLOCK:
        return _value(int(_largest(bits, mask)), x.itemsize)
    largest = np.empty(-(-x.size // BLOCK), bits.dtype)

    def work(start: int, stop: int) -> None:
        largest[start // BLOCK] = _largest(bits[start:stop], mask)

    for_blocks(x.size, work, BLOCK)
    return _value(int(largest.max()), x.itemsize)


def _value(key: int, size: int) -> float:
    """The magnitude of that pattern, of a float of `size` bytes."""
    if key >= INFINITE[size]:
        raise ValueError("x must be finite, got NaN or infinity")
    pattern, number = _FORMS[size]
    value: float = number.unpack(pattern.pack(key))[0]
    return value


def power_near_inverse(largest: float) -> float:
    """A power of two whose product with `largest` is in [2^-74, 1], for sums clear of overflow and of denormals."""
    return math.ldexp(1.0, -max(math.frexp(largest)[1], -1000))
