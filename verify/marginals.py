"""The law of a kernel, read off from outside: where each entry switches from its upper to its lower level.

A randomised elementwise kernel takes one uniform an entry and is monotone in it. Bisecting the switching point of all
entries at once costs one call per bit of the uniform and gives the distribution of the implementation itself, for any
number of entries, without sampling noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Marginals", "kernel_marginals"]


_NEAR = 2
"""Cells of the uniforms' grid on either side of the expected switch that are tried first."""


@dataclass(frozen=True)
class Marginals:
    """Independent two-point laws, one an entry.

    Parameters
    ----------
    upper, lower : (n,) float64
        The values taken with probability `p` and ``1 - p``.
    p : (n,) float64
        A multiple of `resolution`.
    resolution : float
        Spacing of the uniforms: 2^-24 for float32, 2^-53 for float64.
    """

    upper: NDArray[np.float64]
    lower: NDArray[np.float64]
    p: NDArray[np.float64]
    resolution: float

    @property
    def mean(self) -> NDArray[np.float64]:
        """Expected output, entry by entry."""
        return self.lower + self.p * (self.upper - self.lower)

    def expected_square(self, center: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected squared distance to `center`, entry by entry."""
        result: NDArray[np.float64] = self.p * (self.upper - center) ** 2 + (1.0 - self.p) * (self.lower - center) ** 2
        return result


def kernel_marginals(compressor: Any, x: NDArray[Any]) -> Marginals:
    """The exact marginal laws of ``compressor.compress_with(x, uniforms)``.

    Parameters
    ----------
    compressor : Compressor
        With an elementwise ``compress_with``.
    x : (n,) float32 or float64
        Finite.

    Returns
    -------
    Marginals
        `p` counts the uniforms of the dtype's grid that lead to `upper`, exactly.
    """
    bits = 24 if x.dtype == np.float32 else 53
    cells = 1 << bits

    def output(places: NDArray[np.int64]) -> NDArray[np.float64]:
        uniforms = (places.astype(np.float64) / cells).astype(x.dtype)
        y: NDArray[np.float64] = compressor.decompress(compressor.compress_with(x, uniforms)).astype(np.float64)
        return y

    # invariant: output(low) == upper, output(high) != upper, with high = cells standing for "never switches"
    low = np.zeros(x.shape, dtype=np.int64)
    upper = output(low)
    last = np.full(x.shape, cells - 1, dtype=np.int64)
    lower = output(last)
    high = np.where(lower == upper, cells, cells - 1).astype(np.int64)
    low = np.where(lower == upper, cells - 1, low).astype(np.int64)
    # An unbiased kernel switches where the mean is right: go on there, where a few cells around that hold the switch.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = np.nan_to_num((x.astype(np.float64) - lower) / (upper - lower), nan=0.0, posinf=0.0, neginf=0.0)
    guess = np.clip(np.ceil(np.clip(share, 0.0, 1.0) * cells), 0, cells - 1).astype(np.int64)
    below, above = np.maximum(guess - _NEAR, low), np.minimum(guess + _NEAR, high)
    starts = output(np.minimum(below, cells - 1)) == upper
    ends = (above >= cells) | (output(np.minimum(above, cells - 1)) != upper)
    bracketed = starts & ends & (below < above)
    low, high = np.where(bracketed, below, low), np.where(bracketed, above, high)
    while (high - low).max() > 1:
        middle = (low + high) // 2
        same = output(np.minimum(middle, cells - 1)) == upper
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return Marginals(upper, lower, high / cells, 1.0 / cells)
