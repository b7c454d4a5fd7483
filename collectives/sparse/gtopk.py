"""gTopk: a binomial tree that keeps the k largest entries at every merge, and a broadcast of what is left.

Sums that leave the dtype's range become infinite or NaN, as in the dense collectives.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator, parcel
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.sparse.entries import (
    Entries,
    SparseRankResult,
    added,
    dense_vector,
    entries_from,
    left_over,
    of_all_ranks,
    selected_entries,
    strongest,
    without,
)
from commbounds.compressors.base import checked_choice, checked_count


@one_program(of_all_ranks)
def gtopk_allreduce(comm: Communicator, vector: ArrayLike, k: int, *, putback: str = "conserving") -> SparseRankResult:
    """An approximation of the k largest entries of the sum: top-k after every merge of a binomial tree.

    Sums that leave the range of the dtype become infinite, or NaN.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite. Any P: rank p sends in the step of its lowest set bit, so that the tree has
        ceil(log2 P) levels; for powers of two it is the published one.
    k : int
        Entries of every message; 1 <= k <= n. Exactly k: zeros fill up where there are fewer nonzeros. Ties go to the
        lowest index, at every merge.
    putback : str
        What the residual is made of. published: the rank's vector, with zeros where its own selection is in the
        update. conserving: the same, plus what was dropped at the rank on the way at indices of the update, so that
        nothing is lost.

    Returns
    -------
    result : SparseResult
        The update has k entries; every rank gets the same bits. A merge adds the arriving values to the ones there.
    traffic : Traffic
        Phases reduce and broadcast.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` raises; k outside [1, n]; an unknown putback.

    Examples
    --------
    >>> import numpy as np
    >>> result, traffic = gtopk_allreduce(np.array([[3.0, 2.0], [0.0, 2.0]]), 1)
    >>> result.update, traffic.critical_path  # the sum's largest entry is 4, at index 1
    (array([3., 0.]), 4)
    """

    def request(row: Array) -> dict[str, Any]:
        most = checked_count("k", k, 1, row.size)
        checked_choice("putback", putback, ("conserving", "published"))
        return {"k": most, "putback": putback}

    row = agreed_row(comm, vector, request)
    (own,) = selected_entries(row, k)
    held = without(row[0], own)
    comm.phase("reduce")
    bag = _reduced(comm, own, k, held)
    comm.phase("broadcast")
    final = _broadcast(comm, bag, row.size)
    update = comm.shared(lambda: dense_vector([final], row.size, row.dtype))
    if putback == "published":
        residual = row[0].copy()
        residual[np.intersect1d(own.indices, final.indices, assume_unique=True)] = 0
    else:
        (residual,) = left_over(row, held[np.newaxis], final.indices)
    return SparseRankResult(update, residual, own.indices)


def _levels(P: int) -> list[int]:
    return [1 << level for level in range((P - 1).bit_length())]


def _reduced(comm: Communicator, bag: Entries, k: int, held: Array) -> Entries:
    """What this rank has when the tree is through: the root's is the result; `held` gets what a merge here drops."""
    for distance in _levels(comm.size):
        place = comm.rank % (2 * distance)
        if place == distance:
            comm.step({comm.rank - distance: parcel(*bag)})
        elif place == 0 and comm.rank + distance < comm.size:
            source = comm.rank + distance
            arrived = comm.step(sources=[source])[source]
            bag, dropped = strongest(added(bag, entries_from(comm, source, arrived, held.size, held.dtype)), k)
            held[dropped.indices] += dropped.values
        else:
            comm.step()
    return bag


def _broadcast(comm: Communicator, bag: Entries, n: int) -> Entries:
    """What rank 0 has: the same tree downwards."""
    for distance in reversed(_levels(comm.size)):
        place = comm.rank % (2 * distance)
        if place == distance:
            source = comm.rank - distance
            bag = entries_from(comm, source, comm.step(sources=[source])[source], n, bag.values.dtype)
        elif place == 0 and comm.rank + distance < comm.size:
            comm.step({comm.rank + distance: parcel(*bag)})
        else:
            comm.step()
    return bag
