"""TopkA: every rank's top-k goes to every rank, and each adds them up.

Sums that leave the dtype's range become infinite or NaN, as in the dense collectives.
"""

from numpy.typing import ArrayLike

from commbounds.collectives.dense.messages import ALGORITHMS
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.sparse.entries import (
    SparseRankResult,
    dense_sum,
    gathered_entries,
    of_all_ranks,
    selected_entries,
    without,
)
from commbounds.compressors.base import checked_choice, checked_count


@one_program(of_all_ranks)
def topk_allgather(comm: Communicator, vector: ArrayLike, k: int, *, allgather: str = "bruck") -> SparseRankResult:
    """The sum of the ranks' top-k vectors, by an all-gather of k entries from each.

    Sums that leave the range of the dtype become infinite, or NaN.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite.
    k : int
        Entries that every rank sends; 1 <= k <= n. Exactly k: zeros fill up where there are fewer nonzeros. Ties go to
        the lowest index.
    allgather : str
        ring, bruck or recursive-doubling.

    Returns
    -------
    result : SparseResult
        The update is summed in the order of the ranks, in the dtype of the stack, alike on every rank. The residual is
        the vector less its own selection.
    traffic : Traffic
        2k(P-1) words sent and received by every rank.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` raises; k outside [1, n]; an unknown all-gather.

    Examples
    --------
    >>> import numpy as np
    >>> result, traffic = topk_allgather(np.array([[3.0, 1.0, 0.0], [0.0, 2.0, -5.0]]), 1)
    >>> result.update, traffic.received
    (array([ 3.,  0., -5.]), array([2, 2]))
    """
    row = agreed_row(
        comm,
        vector,
        lambda row: {
            "k": checked_count("k", k, 1, row.size),
            "allgather": checked_choice("allgather", allgather, ALGORITHMS),
        },
    )
    (own,) = selected_entries(row, k)
    parts = gathered_entries(comm, own, row.size, allgather)
    update = comm.shared(lambda: dense_sum(parts, row.size, row.dtype))
    return SparseRankResult(update, without(row[0], own), own.indices)
