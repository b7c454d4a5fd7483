"""Gaussiank: a threshold as if the entries were normal, and an all-gather of whatever exceeds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from commbounds.collectives.dense.gathering import gather_blocks
from commbounds.collectives.sparse.entries import Entries, SparseResult, checked_choice, checked_request, dense_sum
from commbounds.collectives.traffic import Traffic

__all__ = ["GaussiankResult", "gaussiank_allreduce"]

_ADAPTATIONS = {"none": (1.0, 0, False), "vgg": (1.02, 20, True), "lstm": (1.012, 50, False)}
"""Factor, largest number of changes, and whether the threshold may rise as well."""


@dataclass(frozen=True, eq=False)
class GaussiankResult(SparseResult):
    """What `gaussiank_allreduce` leaves on the ranks.

    Parameters
    ----------
    thresholds : (P,) float64
        What the entries of every rank had to exceed in magnitude, after adaptation.
    """

    thresholds: NDArray[np.float64]


def gaussiank_allreduce(
    stack: ArrayLike, k: int, *, adapt: str = "none", allgather: str = "bruck"
) -> tuple[GaussiankResult, Traffic]:
    """The sum of what exceeds each rank's normal-quantile threshold, by an all-gather of blocks of unequal sizes.

    A rank selects the entries with |x_i| > mean + z sd, where z is the standard normal quantile of 1 - k/(2n), and mean
    and sd (over n) are those of its vector. For normal entries of mean zero about k exceed it.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite.
    k : int
        Entries hoped for; 1 <= k <= n.
    adapt : str
        none; vgg: the threshold is divided, or multiplied, by 1.02 up to 20 times while fewer than 3k/4, or more than
        5k/4, exceed it; lstm: it is divided by 1.012 up to 50 times while fewer than 3k/4 do, and never raised.
    allgather : str
        ring, bruck or recursive-doubling.

    Returns
    -------
    result : GaussiankResult
        The update is summed in the order of the ranks, alike on every rank. The residual is the vector less its own
        selection.
    traffic : Traffic
        Phases sizes (one word a rank) and allgather.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` raises; k outside [1, n]; an unknown adaptation or all-gather.

    Notes
    -----
    The mean is signed, as in the published code: the selection of -x is not that of x, and a mean so negative that the
    threshold is too lets every nonzero pass. Zeros are never selected. A vector of one magnitude has its threshold at
    that magnitude or below; of equal positive entries none passes, of equal negative ones all do.

    Examples
    --------
    >>> import numpy as np
    >>> result, traffic = gaussiank_allreduce(np.array([[9.0, 1.0, -1.0, 0.0], [0.0, 0.0, 0.0, 0.0]]), 1)
    >>> result.update, traffic.only("allgather").received
    (array([9., 0., 0., 0.]), array([0, 2]))
    """
    array, k = checked_request(stack, k)
    checked_choice("adapt", adapt, tuple(_ADAPTATIONS))
    P, n = array.shape
    thresholds = np.empty(P)
    chosen = []
    for p, x in enumerate(array):
        thresholds[p], entries = _selection(x, k, adapt)
        chosen.append(entries)
    phases = {
        "sizes": gather_blocks(np.ones(P, np.int64), allgather),
        "allgather": gather_blocks(np.array([e.indices.size + e.values.size for e in chosen], np.int64), allgather),
    }
    update, residual = dense_sum(chosen, n, array.dtype), array.copy()
    for own, (indices, _) in zip(residual, chosen, strict=True):
        own[indices] = 0
    result = GaussiankResult(update, residual, tuple(e.indices for e in chosen), thresholds)
    return result, Traffic.of_phases(phases)


def _selection(x: NDArray[Any], k: int, adapt: str) -> tuple[float, Entries]:
    """The threshold of one rank, and what of its vector exceeds it."""
    magnitudes = np.abs(x).astype(np.float64)
    threshold = _adapted(magnitudes, _threshold(x, magnitudes, -float(ndtri(k / x.size / 2))), k, adapt)
    indices = np.flatnonzero((magnitudes > threshold) & (magnitudes > 0))
    return threshold, Entries(indices, x[indices])


@njit(cache=True, nogil=True)
def _moments(x, scale):  # type: ignore[no-untyped-def]
    # mean and standard deviation (over n) of x / scale, summed in the order of the entries
    total, square = 0.0, 0.0
    for i in range(x.size):
        total += x[i] / scale
    mean = total / x.size
    for i in range(x.size):
        square += (x[i] / scale - mean) ** 2
    return mean, np.sqrt(square / x.size)


def _threshold(x: NDArray[Any], magnitudes: NDArray[np.float64], z: float) -> float:
    """Mean plus `z` standard deviations; scaled by a power of two, so that no square overflows."""
    scale = float(np.ldexp(1.0, int(np.frexp(magnitudes.max())[1]) - 1))
    mean, deviation = _moments(x.astype(np.float64), scale)
    return float(scale * (mean + z * deviation))


def _adapted(magnitudes: NDArray[np.float64], threshold: float, k: int, adapt: str) -> float:
    factor, changes, rises = _ADAPTATIONS[adapt]
    for _ in range(changes):
        count = np.count_nonzero(magnitudes > threshold)
        if 4 * count < 3 * k:
            threshold /= factor
        elif rises and 4 * count > 5 * k:
            threshold *= factor
        else:
            break
    return threshold
