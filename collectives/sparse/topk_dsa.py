"""TopkDSA: SparCML's dynamic sparse all-reduce of the ranks' top-k vectors.

Sums that leave the dtype's range become infinite or NaN, as in the dense collectives.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.messages import ALGORITHMS
from commbounds.collectives.dense.on_rank import gathered
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator, parcel
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.sparse.entries import (
    Entries,
    SparseRankResult,
    added,
    cut_up,
    dense_vector,
    entries_from,
    gathered_entries,
    of_all_ranks,
    selected_entries,
    sizes_of_all,
    without,
)
from commbounds.compressors.base import checked_choice, checked_count

_SWITCHES = ("model", "code", "never")


@one_program(of_all_ranks)
def topk_dsa(
    comm: Communicator, vector: ArrayLike, k: int, *, switch: str = "model", allgather: str = "ring"
) -> SparseRankResult:
    """The sum of the ranks' top-k vectors: entries go to the owners of even regions, which gather the sums.

    Sums that leave the range of the dtype become infinite, or NaN.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite.
    k : int
        Entries that every rank selects; 1 <= k <= n. Of those it sends the ones that are not zero. Ties go to the
        lowest index.
    switch : str
        When the sums travel as dense blocks of one word an entry. With u the number of indices that any rank selected:
        model, if 2u >= n (the sparse form would be no shorter); code, if 3u >= n; never.
    allgather : str
        ring, bruck or recursive-doubling.

    Returns
    -------
    result : SparseResult
        An owner adds its own entries first, then those of the ranks before it, nearest first; every rank holds the
        same bits. The residual is the vector less its own selection.
    traffic : Traffic
        Phases split, sizes (one word a rank, so that everybody knows u) and allgather or dense. A sum that cancels
        is sent like any other.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` raises; k outside [1, n]; an unknown switch or all-gather.

    Notes
    -----
    The split takes P - 1 steps; in step s rank p sends to rank p + s (mod P), a message even where it is empty.

    Examples
    --------
    >>> import numpy as np
    >>> result, traffic = topk_dsa(np.array([[3.0, 1.0, 0.0, 0.0], [2.0, 0.0, 0.0, 1.0]]), 1)
    >>> result.update, traffic.only("split").received, traffic.only("allgather").received
    (array([5., 0., 0., 0.]), array([2, 0]), array([0, 2]))
    """

    def request(row: Array) -> dict[str, Any]:
        most = checked_count("k", k, 1, row.size)
        checked_choice("switch", switch, _SWITCHES)
        return {"k": most, "switch": switch, "allgather": checked_choice("allgather", allgather, ALGORITHMS)}

    row = agreed_row(comm, vector, request)
    n, rank, cuts = row.size, comm.rank, comm.shared(lambda: even_cuts(row.size, comm.size))
    (own,) = _nonzero(selected_entries(row, k))
    comm.phase("split")
    region = _split(comm, cut_up(own, cuts), n)
    comm.phase("sizes")
    sizes = sizes_of_all(comm, region.indices.size, allgather)
    if _travels_densely(switch, int(sizes.sum()), n):
        comm.phase("dense")
        mine = np.zeros(cuts[rank + 1] - cuts[rank], row.dtype)
        mine[region.indices - cuts[rank]] = region.values
        blocks = gathered(comm, (mine,), allgather, forms=lambda r: [(row.dtype, (int(cuts[r + 1] - cuts[r]),))])
        regions = [Entries(np.arange(cuts[r], cuts[r + 1]), block) for r, (block,) in enumerate(blocks)]
    else:
        comm.phase("allgather")
        regions = gathered_entries(comm, region, n, allgather)
    update = comm.shared(lambda: dense_vector(regions, n, row.dtype))
    return SparseRankResult(update, without(row[0], own), own.indices)


def _nonzero(chosen: list[Entries]) -> list[Entries]:
    """Every rank's entries but the zeros, which fill up where there are fewer than k nonzeros."""
    return [Entries(i[v != 0], v[v != 0]) for i, v in chosen]


def _travels_densely(switch: str, union: int, n: int) -> bool:
    """Whether the sums travel as dense blocks, where `union` indices were selected by any rank."""
    return switch != "never" and (2 if switch == "model" else 3) * union >= n


def _split(comm: Communicator, pieces: list[Entries], n: int) -> Entries:
    """The sum of this rank's region, the nearest rank before it first."""
    rank, P = comm.rank, comm.size
    region = pieces[rank]
    for s in range(1, P):
        target, source = (rank + s) % P, (rank - s) % P
        arrived = comm.step({target: parcel(*pieces[target])}, [source])
        region = added(region, entries_from(comm, source, arrived[source], n, region.values.dtype))
    return region
