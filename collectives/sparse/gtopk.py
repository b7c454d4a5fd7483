"""gTopk: a binomial tree that keeps the k largest entries at every merge, and a broadcast of what is left."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives.sparse.entries import (
    Entries,
    SparseResult,
    Wire,
    added,
    checked_choice,
    checked_request,
    left_over,
    selected_entries,
    strongest,
)
from commbounds.collectives.traffic import Traffic

__all__ = ["gtopk_allreduce"]


def gtopk_allreduce(stack: ArrayLike, k: int, *, putback: str = "conserving") -> tuple[SparseResult, Traffic]:
    """An approximation of the k largest entries of the sum: top-k after every merge of a binomial tree.

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
    array, k = checked_request(stack, k)
    checked_choice("putback", putback, ("conserving", "published"))
    chosen = selected_entries(array, k)
    held = array.copy()
    for own, (indices, _) in zip(held, chosen, strict=True):
        own[indices] = 0
    root, up = _reduced(chosen, k, held)
    final, down = _broadcast(root, len(array))
    update = np.zeros_like(array[0])
    update[final.indices] = final.values
    if putback == "published":
        residual = array.copy()
        for own, (indices, _) in zip(residual, chosen, strict=True):
            own[np.intersect1d(indices, final.indices, assume_unique=True)] = 0
    else:
        residual = left_over(array, held, final.indices)
    traffic = Traffic.of_phases({"reduce": up, "broadcast": down})
    return SparseResult(update, residual, tuple(e.indices for e in chosen)), traffic


def _levels(P: int) -> list[int]:
    return [1 << level for level in range((P - 1).bit_length())]


def _reduced(chosen: list[Entries], k: int, held: NDArray[Any]) -> tuple[Entries, Traffic]:
    """What rank 0 ends with, and the traffic; `held` gets what the merging ranks drop."""
    bags, wire = list(chosen), Wire(len(chosen))
    for distance in _levels(len(bags)):
        wire.step()
        for source in range(distance, len(bags), 2 * distance):
            target = source - distance
            (arrived,) = wire.hand(source, target, bags[source])
            bags[target], dropped = strongest(added(bags[target], arrived), k)
            held[target, dropped.indices] += dropped.values
    return bags[0], wire.traffic()


def _broadcast(root: Entries, P: int) -> tuple[Entries, Traffic]:
    """What rank 0 has, on every rank: the same tree downwards."""
    bags: list[Entries] = [root] * P
    wire = Wire(P)
    for distance in reversed(_levels(P)):
        wire.step()
        for target in range(distance, P, 2 * distance):
            (bags[target],) = wire.hand(target - distance, target, bags[target - distance])
    return bags[-1], wire.traffic()
