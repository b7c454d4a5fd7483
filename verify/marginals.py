"""The law of a kernel, read off from outside: where each entry switches from its upper to its lower level.

A randomised elementwise kernel takes one uniform an entry and is monotone in it. Bisecting the switching point of all
entries at once costs one call per bit of the uniform and gives the distribution of the implementation itself, for any
number of entries, without sampling noise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from commbounds.array_types import Array, Floats, Integers
from commbounds.compressors._blocks import quiet
from commbounds.compressors.base import own

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

    upper: Floats
    lower: Floats
    p: Floats
    resolution: float

    @property
    def mean(self) -> Floats:
        """Expected output, entry by entry."""
        return self.lower + self.p * (self.upper - self.lower)

    def expected_square(self, center: Floats | float) -> Floats:
        """Expected squared distance to `center`, entry by entry."""
        result: Floats = self.p * (self.upper - center) ** 2 + (1.0 - self.p) * (self.lower - center) ** 2
        return result


@dataclass(frozen=True)
class StepLaws:
    """Independent laws of finitely many values, one law an entry: outputs as step functions of the uniforms.

    Parameters
    ----------
    values : (L, n) float64
        The value on the k-th stretch of uniforms; repeated where an entry has fewer stretches.
    ends : (L, n) int64
        Where the k-th stretch ends, in cells of the grid; the last is `cells`.
    cells : int
        Uniforms are multiples of 1/cells.
    """

    values: Floats
    ends: Integers
    cells: int

    @property
    def p(self) -> Floats:
        """Probabilities of the values, (L, n): exact multiples of the grid's spacing."""
        starts = np.vstack([np.zeros_like(self.ends[:1]), self.ends[:-1]])
        result: Floats = (self.ends - starts) / self.cells
        return result

    def expected_difference(self, center: Floats) -> Floats:
        """Expected output minus `center`, entry by entry."""
        result: Floats = (self.p * (self.values - center)).sum(axis=0)
        return result

    def expected_square(self, center: Floats) -> Floats:
        """Expected squared distance to `center`, entry by entry."""
        result: Floats = (self.p * (self.values - center) ** 2).sum(axis=0)
        return result

    def at(self, places: Integers) -> Floats:
        """The output for the uniforms ``places / cells``, one an entry."""
        stretch = (places[None] >= self.ends).sum(axis=0)
        result: Floats = np.take_along_axis(self.values, stretch[None], axis=0)[0]
        return result


Reader = Callable[[Integers], Floats]
"""Outputs, one an entry, for uniforms given by their cells."""


def kernel_marginals(compressor: Any, x: Array) -> Marginals:
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

    def output(places: Integers) -> Floats:
        uniforms = (places / cells).astype(x.dtype, copy=False)
        y: Floats = compressor.decompress(own(compressor.compress_with(x, uniforms))).astype(np.float64, copy=False)
        return y

    upper = output(np.zeros(x.shape, dtype=np.int64))
    lower = output(np.full(x.shape, cells - 1, dtype=np.int64))
    high = _switches(output, x, np.zeros(x.shape, dtype=np.int64), upper, lower, cells)
    return Marginals(upper, lower, high / cells, 1.0 / cells)


def _switches(output: Reader, x: Array, start: Integers, upper: Floats, lower: Floats, cells: int) -> Integers:
    """The first cell behind `start` where the output is not `upper`, which it is at `start`; `lower` is the last."""
    # invariant: output(low) == upper, output(high) != upper, with high = cells standing for "never switches"
    low, high, below, above = (np.empty(x.shape, np.int64) for _ in range(4))
    with quiet():
        _around_the_mean(x.astype(np.float64), lower, upper, start, cells, low, high, below, above)
    if _halved(low, high, cells, middle := np.empty_like(low)):
        _confirmed(output(below), output(above), upper, below, above, low, high)
    while _halved(low, high, cells, middle):
        _narrowed(output(middle), upper, low, high)
    return high


@njit(cache=True, nogil=True)
def _around_the_mean(x, lower, upper, start, cells, low, high, below, above):  # type: ignore[no-untyped-def]
    """Fills in where an entry may switch, and the few cells where an unbiased one does: where its mean is right."""
    for i in range(x.size):
        stays = lower[i] == upper[i] or (np.isnan(lower[i]) and np.isnan(upper[i]))
        low[i] = cells - 1 if stays else start[i]
        high[i] = cells if stays else cells - 1
        step = upper[i] - lower[i]
        share = (x[i] - lower[i]) / step if step != 0.0 else 0.0
        guess = 0
        if 0.0 < share < np.inf:
            guess = min(int(np.ceil(min(share, 1.0) * cells)), cells - 1)
        below[i] = max(guess - _NEAR, low[i])
        above[i] = min(guess + _NEAR, cells - 1)


@njit(cache=True, nogil=True)
def _confirmed(at_below, at_above, upper, below, above, low, high):  # type: ignore[no-untyped-def]
    """Leaves of every entry's cells the few around its mean, where it does switch there."""
    for i in range(low.size):
        starts = at_below[i] == upper[i] or (np.isnan(at_below[i]) and np.isnan(upper[i]))
        stays = at_above[i] == upper[i] or (np.isnan(at_above[i]) and np.isnan(upper[i]))
        if starts and not stays and below[i] < above[i]:
            low[i], high[i] = below[i], above[i]


@njit(cache=True, nogil=True)
def _halved(low, high, cells, middle):  # type: ignore[no-untyped-def]
    """Fills in where to look next; False where nothing is left to find."""
    widest = 0
    for i in range(low.size):
        widest = max(widest, high[i] - low[i])
        middle[i] = min((low[i] + high[i]) // 2, cells - 1)
    return widest > 1


@njit(cache=True, nogil=True)
def _narrowed(y, upper, low, high):  # type: ignore[no-untyped-def]
    """Moves the end on whose side the output at the middle is there."""
    for i in range(low.size):
        middle = (low[i] + high[i]) // 2
        if y[i] == upper[i] or (np.isnan(y[i]) and np.isnan(upper[i])):
            low[i] = middle
        else:
            high[i] = middle


def step_laws(output: Reader, x: Array, cells: int, most: int = 6) -> StepLaws | None:
    """The laws of entries whose outputs are monotone step functions of their own uniforms.

    Parameters
    ----------
    output : callable (places) -> (n,) float64
        What comes out for the uniforms ``places / cells``, one an entry.
    x : (n,) array
        The input: an unbiased output switches where its mean is right, which is tried first.
    cells : int
        Uniforms are multiples of 1/cells.
    most : int
        Most values of an entry.

    Returns
    -------
    StepLaws or None
        None if an entry takes more than `most` values. Whether entries are such functions at all is for the caller to
        find out: compare `StepLaws.at` with the output for other uniforms.
    """
    last = output(np.full(x.shape, cells - 1, dtype=np.int64))
    start = np.zeros(x.shape, dtype=np.int64)
    values, ends = [], []
    for _ in range(most):
        value = np.where(start < cells, output(np.minimum(start, cells - 1)), last)
        end = np.where(start < cells, _switches(output, x, start, value, last, cells), cells)
        values.append(value)
        ends.append(end)
        if (end >= cells).all():
            return StepLaws(np.array(values), np.array(ends), cells)
        start = end
    return None
