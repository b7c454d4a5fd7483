"""TopkDSA: SparCML's dynamic sparse all-reduce of the ranks' top-k vectors."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives.dense.gathering import gather_blocks
from commbounds.collectives.sparse.entries import (
    Entries,
    SparseResult,
    Wire,
    added,
    checked_choice,
    checked_request,
    cut_up,
    even_cuts,
    selected_entries,
)
from commbounds.collectives.traffic import Traffic

__all__ = ["topk_dsa"]

_SWITCHES = ("model", "code", "never")


def topk_dsa(
    stack: ArrayLike, k: int, *, switch: str = "model", allgather: str = "ring"
) -> tuple[SparseResult, Traffic]:
    """The sum of the ranks' top-k vectors: entries go to the owners of even regions, which gather the sums.

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
    array, k = checked_request(stack, k)
    checked_choice("switch", switch, _SWITCHES)
    P, n = array.shape
    cuts = even_cuts(n, P)
    chosen = _nonzero(selected_entries(array, k))
    regions, split = _split(chosen, cuts)
    dense = _travels_densely(switch, sum(part.indices.size for part in regions), n)
    words = [stop - start for start, stop in pairwise(cuts)] if dense else _words(regions)
    phases = {
        "split": split,
        "sizes": gather_blocks(np.ones(P, np.int64), allgather),
        "dense" if dense else "allgather": gather_blocks(np.array(words, np.int64), allgather),
    }
    update, residual = np.zeros_like(array[0]), array.copy()
    for indices, values in regions:
        update[indices] = values
    for own, (indices, _) in zip(residual, chosen, strict=True):
        own[indices] = 0
    return SparseResult(update, residual, tuple(e.indices for e in chosen)), Traffic.of_phases(phases)


def _nonzero(chosen: list[Entries]) -> list[Entries]:
    """Every rank's entries but the zeros, which fill up where there are fewer than k nonzeros."""
    return [Entries(i[v != 0], v[v != 0]) for i, v in chosen]


def _travels_densely(switch: str, union: int, n: int) -> bool:
    """Whether the sums travel as dense blocks, where `union` indices were selected by any rank."""
    return switch != "never" and (2 if switch == "model" else 3) * union >= n


def _words(parts: list[Entries]) -> list[int]:
    return [part.indices.size + part.values.size for part in parts]


def _split(chosen: list[Entries], cuts: NDArray[np.int64]) -> tuple[list[Entries], Traffic]:
    """Every region's entries summed at its owner, and the traffic of bringing them there."""
    P = len(chosen)
    pieces = [cut_up(entries, cuts) for entries in chosen]
    regions = [pieces[r][r] for r in range(P)]
    wire = Wire(P)
    for s in range(1, P):
        wire.step()
        for p in range(P):
            r = (p + s) % P
            (piece,) = wire.hand(p, r, pieces[p][r])
            regions[r] = added(regions[r], piece)
    return regions, wire.traffic()
