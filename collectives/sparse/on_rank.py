"""What a rank does in sparse all-reduces of the top-k kind: the twins of TopkA, TopkDSA, gTopk and Gaussiank.

A rank knows its own vector and what arrives. What must be the same on all ranks, options included, they tell each other
first (`agreed_row`), so that bad input is an error on all of them; that is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives.dense.on_rank import gathered
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator, parcel
from commbounds.collectives.sparse.entries import (
    Entries,
    added,
    checked_choice,
    cut_up,
    dense_sum,
    even_cuts,
    left_over,
    selected_entries,
    strongest,
)
from commbounds.collectives.sparse.gaussiank import _ADAPTATIONS, _selection
from commbounds.collectives.sparse.gtopk import _levels
from commbounds.collectives.sparse.topk_dsa import _SWITCHES, _nonzero, _travels_densely
from commbounds.compressors.base import checked_count

__all__ = [
    "GaussiankRankResult",
    "SparseRankResult",
    "gaussiank_allreduce",
    "gtopk_allreduce",
    "topk_allgather",
    "topk_dsa",
]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class SparseRankResult:
    """What a sparse all-reduce leaves on one rank: its part of a `SparseResult`.

    Parameters
    ----------
    update : (n,) dtype of the vector
        The sum (not the mean), in the same bits on all ranks.
    residual : (n,) dtype of the vector
        What the rank keeps for the next iteration.
    selected : (k_p,) int64
        The indices that it chose from its own vector, ascending.
    """

    update: Array
    residual: Array
    selected: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GaussiankRankResult(SparseRankResult):
    """What `gaussiank_allreduce` leaves on one rank.

    Parameters
    ----------
    threshold : float
        What its entries had to exceed in magnitude, after adaptation.
    """

    threshold: float


def topk_allgather(comm: Communicator, vector: ArrayLike, k: int, *, allgather: str = "bruck") -> SparseRankResult:
    """The sum of the ranks' top-k vectors; the twin of `commbounds.collectives.sparse.topk_allgather`.

    Parameters
    ----------
    comm : Communicator
        This rank's end.
    vector : (n,) float32 or float64
        This rank's; finite.
    k, allgather
        As there; the same on all ranks.

    Raises
    ------
    TypeError, ValueError
        As there, and as `agreed_row`; on all ranks.
    """
    row = agreed_row(comm, vector, lambda row: {"k": checked_count("k", k, 1, row.size), "allgather": allgather})
    (own,) = selected_entries(row, k)
    parts = [Entries(*block) for block in gathered(comm, own, allgather)]
    return SparseRankResult(dense_sum(parts, row.size, row.dtype), _without(row[0], own), own.indices)


def topk_dsa(
    comm: Communicator, vector: ArrayLike, k: int, *, switch: str = "model", allgather: str = "ring"
) -> SparseRankResult:
    """The sum of the ranks' top-k vectors; the twin of `commbounds.collectives.sparse.topk_dsa`.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets the phases split, sizes and allgather or dense.
    vector : (n,) float32 or float64
        This rank's; finite.
    k, switch, allgather
        As there; the same on all ranks.

    Raises
    ------
    TypeError, ValueError
        As there, and as `agreed_row`; on all ranks.
    """

    def request(row: Array) -> dict[str, Any]:
        checked_choice("switch", switch, _SWITCHES)
        return {"k": checked_count("k", k, 1, row.size), "switch": switch, "allgather": allgather}

    row = agreed_row(comm, vector, request)
    n, rank, cuts = row.size, comm.rank, even_cuts(row.size, comm.size)
    (own,) = _nonzero(selected_entries(row, k))
    comm.phase("split")
    region = _split(comm, cut_up(own, cuts))
    comm.phase("sizes")
    sizes = gathered(comm, (np.array([region.indices.size]),), allgather)
    update = np.zeros(n, row.dtype)
    if _travels_densely(switch, sum(int(size[0]) for (size,) in sizes), n):
        comm.phase("dense")
        update[region.indices] = region.values
        blocks = gathered(comm, (update[cuts[rank] : cuts[rank + 1]],), allgather)
        update = np.concatenate([block for (block,) in blocks])
    else:
        comm.phase("allgather")
        for indices, values in gathered(comm, region, allgather):
            update[indices] = values
    return SparseRankResult(update, _without(row[0], own), own.indices)


def _split(comm: Communicator, pieces: list[Entries]) -> Entries:
    """The sum of this rank's region, the nearest rank before it first."""
    rank, P = comm.rank, comm.size
    region = pieces[rank]
    for s in range(1, P):
        target, source = (rank + s) % P, (rank - s) % P
        arrived = comm.step({target: parcel(*pieces[target])}, [source])
        region = added(region, Entries(*arrived[source].arrays))
    return region


def _without(row: Array, entries: Entries) -> Array:
    """The vector less what was chosen from it."""
    residual = row.copy()
    residual[entries.indices] = 0
    return residual


def gtopk_allreduce(comm: Communicator, vector: ArrayLike, k: int, *, putback: str = "conserving") -> SparseRankResult:
    """An approximation of the k largest entries of the sum; the twin of `commbounds.collectives.gtopk_allreduce`.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets the phases reduce and broadcast.
    vector : (n,) float32 or float64
        This rank's; finite.
    k, putback
        As there; the same on all ranks.

    Raises
    ------
    TypeError, ValueError
        As there, and as `agreed_row`; on all ranks.
    """

    def request(row: Array) -> dict[str, Any]:
        checked_choice("putback", putback, ("conserving", "published"))
        return {"k": checked_count("k", k, 1, row.size), "putback": putback}

    row = agreed_row(comm, vector, request)
    (own,) = selected_entries(row, k)
    held = _without(row[0], own)
    comm.phase("reduce")
    bag = _reduced(comm, own, k, held)
    comm.phase("broadcast")
    final = _broadcast(comm, bag)
    update = np.zeros(row.size, row.dtype)
    update[final.indices] = final.values
    if putback == "published":
        residual = row[0].copy()
        residual[np.intersect1d(own.indices, final.indices, assume_unique=True)] = 0
    else:
        (residual,) = left_over(row, held[np.newaxis], final.indices)
    return SparseRankResult(update, residual, own.indices)


def _reduced(comm: Communicator, bag: Entries, k: int, held: Array) -> Entries:
    """What this rank has when the tree is through: the root's is the result; `held` gets what a merge here drops."""
    for distance in _levels(comm.size):
        place = comm.rank % (2 * distance)
        if place == distance:
            comm.step({comm.rank - distance: parcel(*bag)})
        elif place == 0 and comm.rank + distance < comm.size:
            source = comm.rank + distance
            arrived = comm.step(sources=[source])[source]
            bag, dropped = strongest(added(bag, Entries(*arrived.arrays)), k)
            held[dropped.indices] += dropped.values
        else:
            comm.step()
    return bag


def _broadcast(comm: Communicator, bag: Entries) -> Entries:
    """What rank 0 has: the same tree downwards."""
    for distance in reversed(_levels(comm.size)):
        place = comm.rank % (2 * distance)
        if place == distance:
            source = comm.rank - distance
            bag = Entries(*comm.step(sources=[source])[source].arrays)
        elif place == 0 and comm.rank + distance < comm.size:
            comm.step({comm.rank + distance: parcel(*bag)})
        else:
            comm.step()
    return bag


def gaussiank_allreduce(
    comm: Communicator, vector: ArrayLike, k: int, *, adapt: str = "none", allgather: str = "bruck"
) -> GaussiankRankResult:
    """The sum of what exceeds each rank's normal-quantile threshold; the twin of the collective of the same name.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets the phases sizes and allgather.
    vector : (n,) float32 or float64
        This rank's; finite.
    k, adapt, allgather
        As there; the same on all ranks.

    Raises
    ------
    TypeError, ValueError
        As there, and as `agreed_row`; on all ranks.
    """

    def request(row: Array) -> dict[str, Any]:
        checked_choice("adapt", adapt, tuple(_ADAPTATIONS))
        return {"k": checked_count("k", k, 1, row.size), "adapt": adapt, "allgather": allgather}

    row = agreed_row(comm, vector, request)
    threshold, own = _selection(row[0], k, adapt)
    comm.phase("sizes")
    gathered(comm, (np.array([own.indices.size]),), allgather)  # an all-gather of unequal blocks needs them
    comm.phase("allgather")
    parts = [Entries(*block) for block in gathered(comm, own, allgather)]
    update = dense_sum(parts, row.size, row.dtype)
    return GaussiankRankResult(update, _without(row[0], own), own.indices, threshold)
