"""Gaussiank: a threshold as if the entries were normal, and an all-gather of whatever exceeds it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats
from commbounds.collectives.dense.messages import ALGORITHMS
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.sparse.entries import (
    Entries,
    SparseRankResult,
    SparseResult,
    dense_sum,
    gathered_entries,
    of_all_ranks,
    sizes_of_all,
    without,
)
from commbounds.compressors.base import checked_choice, checked_count

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

    thresholds: Floats


@dataclass(frozen=True, eq=False)
class GaussiankRankResult(SparseRankResult):
    """What `gaussiank_allreduce` leaves on one rank.

    Parameters
    ----------
    threshold : float
        What its entries had to exceed in magnitude, after adaptation.
    """

    threshold: float


def _of_all_ranks(results: Sequence[GaussiankRankResult]) -> GaussiankResult:
    thresholds = np.array([result.threshold for result in results])
    return GaussiankResult(**vars(of_all_ranks(results)), thresholds=thresholds)


@one_program(_of_all_ranks)
def gaussiank_allreduce(
    comm: Communicator, vector: ArrayLike, k: int, *, adapt: str = "none", allgather: str = "bruck"
) -> GaussiankRankResult:
    """The sum of what exceeds each rank's normal-quantile threshold, by an all-gather of blocks of unequal sizes.

    A rank selects the entries with |x_i| > mean + z sd, where z is the standard normal quantile of 1 - k/(2n), and mean
    and sd (over n) are those of its vector. For normal entries of mean zero about k exceed it.

    Sums that leave the range of the dtype become infinite, or NaN.

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

    def request(row: Array) -> dict[str, Any]:
        most = checked_count("k", k, 1, row.size)
        checked_choice("adapt", adapt, tuple(_ADAPTATIONS))
        return {"k": most, "adapt": adapt, "allgather": checked_choice("allgather", allgather, ALGORITHMS)}

    row = agreed_row(comm, vector, request)
    threshold, own = _selection(row[0], k, adapt)
    comm.phase("sizes")
    sizes_of_all(comm, own.indices.size, allgather)  # an all-gather of unequal blocks needs them
    comm.phase("allgather")
    parts = gathered_entries(comm, own, row.size, allgather)
    update = comm.shared(lambda: dense_sum(parts, row.size, row.dtype))
    return GaussiankRankResult(update, without(row[0], own), own.indices, threshold)


def _normal_quantile(share: float) -> float:
    from scipy.special import ndtri  # slow to import

    return float(ndtri(share))


def _selection(x: Array, k: int, adapt: str) -> tuple[float, Entries]:
    """The threshold of one rank, and what of its vector exceeds it."""
    magnitudes = np.abs(x).astype(np.float64)
    threshold = _adapted(magnitudes, _threshold(x, magnitudes, -_normal_quantile(k / x.size / 2)), k, adapt)
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


def _threshold(x: Array, magnitudes: Floats, z: float) -> float:
    """Mean plus `z` standard deviations; scaled by a power of two, so that no square overflows."""
    scale = math.ldexp(1.0, math.frexp(float(magnitudes.max()))[1] - 1)
    mean, deviation = _moments(x.astype(np.float64), scale)
    return float(scale * (mean + z * deviation))


def _adapted(magnitudes: Floats, threshold: float, k: int, adapt: str) -> float:
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
