"""The largest magnitude of a vector, and with it the proof that the vector is finite."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from commbounds.compressors._blocks import BLOCK, for_blocks

__all__ = ["finite_largest", "magnitude_bits", "power_near_inverse"]


def magnitude_bits(x: NDArray[Any]) -> tuple[NDArray[Any], Any]:
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
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return x.view(unsigned), unsigned.type(np.iinfo(unsigned).max >> 1)


@njit(cache=True, nogil=True)
def _largest(bits, mask):  # type: ignore[no-untyped-def]
    largest = bits[0] & mask
    for i in range(bits.size):
        largest = max(largest, bits[i] & mask)
    return largest


def finite_largest(x: NDArray[Any]) -> float:
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
    largest = np.zeros(-(-x.size // BLOCK), bits.dtype)

    def work(start: int, stop: int) -> None:
        largest[start // BLOCK] = _largest(bits[start:stop], mask)

    for_blocks(x.size, work, BLOCK)
    value = float(largest.max().view(x.dtype))
    if not np.isfinite(value):
        raise ValueError("x must be finite, got NaN or infinity")
    return value


def power_near_inverse(largest: float) -> float:
    """A power of two whose product with `largest` is in [2^-74, 1], for sums clear of overflow and of denormals."""
    return float(np.ldexp(1.0, -max(int(np.frexp(largest)[1]), -1000)))
