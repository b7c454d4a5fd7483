"""Norms as they go on the wire: rounded to the vector's dtype, without overflow or underflow on the way.

Sums run in float64 over fixed tiles, so that they do not depend on the thread count.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from commbounds.array_types import Array
from commbounds.compressors._blocks import BLOCK, for_blocks, quiet
from commbounds.compressors._magnitude import LARGEST, finite_largest

LANES = 64
"""Partial sums per block: independent chains of additions, which the compiler may vectorise."""
_SAFE = (2.0**-960, 2.0**1020)
"""Sums of squares in here lost nothing that matters: 2^31 squares that underflowed add less than 2^-1043."""


@njit(cache=True, nogil=True)
def _add_lanes(lanes):  # type: ignore[no-untyped-def]
    # pairwise, in place
    width = LANES // 2
    while width > 0:
        for j in range(width):
            lanes[j] += lanes[j + width]
        width //= 2
    return lanes[0]


@njit(cache=True, nogil=True)
def _sum_squares(x):  # type: ignore[no-untyped-def]
    # lane j sums x_i^2 over i = j mod LANES; then the lanes pairwise
    lanes = np.empty(LANES)
    for j in range(LANES):
        lanes[j] = 0.0
    whole = x.size // LANES
    for i in range(whole):
        tile = x[i * LANES : (i + 1) * LANES]
        for j in range(LANES):
            lanes[j] += np.float64(tile[j]) * np.float64(tile[j])
    for j in range(x.size - whole * LANES):
        value = np.float64(x[whole * LANES + j])
        lanes[j] += value * value
    return _add_lanes(lanes)


@njit(cache=True, nogil=True)
def _sum_magnitudes(x):  # type: ignore[no-untyped-def]
    # lane j sums |x_i| over i = j mod LANES; then the lanes pairwise
    lanes = np.empty(LANES)
    for j in range(LANES):
        lanes[j] = 0.0
    whole = x.size // LANES
    for i in range(whole):
        tile = x[i * LANES : (i + 1) * LANES]
        for j in range(LANES):
            lanes[j] += abs(np.float64(tile[j]))
    for j in range(x.size - whole * LANES):
        lanes[j] += abs(np.float64(x[whole * LANES + j]))
    return _add_lanes(lanes)


def _total(kernel: Callable[[Array], float], x: Array) -> float:
    # the sum over blocks of what the kernel makes of each; overflow is looked for afterwards
    if x.size <= BLOCK:
        with quiet():
            return float(kernel(x))
    parts = np.empty(-(-x.size // BLOCK))

    def work(start: int, stop: int) -> None:
        with quiet():
            parts[start // BLOCK] = kernel(x[start:stop])

    for_blocks(x.size, work)
    with np.errstate(over="ignore"):
        return float(parts.sum())


def norm2(x: Array) -> Any:
    """The Euclidean norm of `x`, rounded to its dtype; at least the largest |x_i|.

    Parameters
    ----------
    x : (n,) float32 or float64
        Contiguous; n >= 1.

    Raises
    ------
    ValueError
        `x` holds NaN or an infinity, or its norm exceeds the dtype's largest finite value.

    Notes
    -----
    The sum of squares is off by at most d = min(n / 64, 1024) + n / 65536 + 9 units of 2^-53, relatively: additions
    along a lane, over blocks and lanes, and one rounding of each square. So the norm is off by d / 2 + 1 of them, and
    by one rounding to float32.
    """
    exponent = 0
    total = _total(_sum_squares, x)
    if not _SAFE[0] <= total <= _SAFE[1]:
        largest = finite_largest(x)
        if largest == 0.0:
            return x.dtype.type(0)
        exponent = math.frexp(largest)[1]
        total = _total(_sum_squares, np.ldexp(x.astype(np.float64), -exponent))
    root = math.sqrt(total)
    if exponent == 0 and root <= LARGEST[x.itemsize]:
        return x.dtype.type(root)
    with np.errstate(over="ignore"):
        norm = x.dtype.type(np.ldexp(root, exponent))
    if not math.isfinite(norm):
        raise ValueError(f"the l2 norm of x must not exceed the largest finite {x.dtype}: scale x down")
    return norm


def mean_magnitude(x: Array) -> Any:
    """The mean of |x_i|, rounded to the dtype of `x`; at most the largest |x_i|.

    Parameters
    ----------
    x : (n,) float32 or float64
        Contiguous; n >= 1.

    Raises
    ------
    ValueError
        `x` holds NaN or an infinity.
    """
    exponent, largest = 0, finite_largest(x)
    total = _total(_sum_magnitudes, x)
    if not math.isfinite(total):
        exponent = math.frexp(largest)[1]
        total = _total(_sum_magnitudes, np.ldexp(x, -exponent))
    # rounding may lift the mean of equal entries over them, and then over the largest finite value
    return x.dtype.type(math.ldexp(min(total / x.size, math.ldexp(largest, -exponent)), exponent))
