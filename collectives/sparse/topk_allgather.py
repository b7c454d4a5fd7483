"""TopkA: every rank's top-k goes to every rank, and each adds them up."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from commbounds.collectives.dense.gathering import gather_blocks
from commbounds.collectives.sparse.entries import SparseResult, checked_request, dense_sum, selected_entries
from commbounds.collectives.traffic import Traffic

__all__ = ["topk_allgather"]


def topk_allgather(stack: ArrayLike, k: int, *, allgather: str = "bruck") -> tuple[SparseResult, Traffic]:
    """The sum of the ranks' top-k vectors, by an all-gather of k entries from each.

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
    array, k = checked_request(stack, k)
    chosen = selected_entries(array, k)
    traffic = gather_blocks(np.array([e.indices.size + e.values.size for e in chosen], np.int64), allgather)
    update, residual = dense_sum(chosen, array.shape[1], array.dtype), array.copy()
    for own, (indices, _) in zip(residual, chosen, strict=True):
        own[indices] = 0
    return SparseResult(update, residual, tuple(e.indices for e in chosen)), traffic
