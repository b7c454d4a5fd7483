"""SparDL: sparse reduce-scatter with top-h blocks, all-gather of the blocks, and nothing lost on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives.sparse.entries import (
    Entries,
    SparseResult,
    Wire,
    added,
    checked_choice,
    checked_request,
    even_cuts,
    left_over,
    strongest,
)
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.base import checked_count

__all__ = ["spardl_allreduce"]

Groups = list[list[int]]


def spardl_allreduce(
    stack: ArrayLike, k: int, *, teams: int = 1, synchronise: str = "r-sag", sag_entries: int | None = None
) -> tuple[SparseResult, Traffic]:
    """An approximation of the k largest entries of the sum, h = floor(k d / P) from each of P / d blocks.

    The P ranks form d teams of m = P / d. Within a team, blocks of n / m entries are reduced to their owners in
    ceil(log2 m) steps, every block cut down to its h largest entries whenever it is sent; teams then agree on every
    block, and an all-gather within the team brings the blocks to all.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite. Rank t m + j is member j of team t.
    k : int
        Entries of the update; 1 <= k <= n. Only m floor(k / m) of them are had: none where k < m, and then all messages
        are empty and the update is zero. Zeros fill up a block that has fewer than h nonzeros. Ties go to the lowest
        index.
    teams : int
        d; divides P.
    synchronise : str
        How the teams agree: r-sag, recursive doubling with top-h after every merge, d a power of two; b-sag, an
        all-gather of the `sag_entries` largest of every block, any d.
    sag_entries : int or None
        For b-sag: in [ceil(h / d), h]; None for h.

    Returns
    -------
    result : SparseResult
        Every rank gets the same bits. The residual keeps, at indices of the update, what each rank did not send or
        dropped on the way, and the rank's own entry elsewhere: nothing is lost. What is selected is
        decided together, block by block: for every rank the indices of the update.
    traffic : Traffic
        Phases reduce-scatter, synchronise and allgather.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` raises; k outside [1, n]; teams that do not divide P or suit `synchronise`; `sag_entries`
        out of range, or without b-sag.

    Examples
    --------
    >>> import numpy as np
    >>> result, traffic = spardl_allreduce(np.array([[3.0, 1.0, 1.0, 0.0], [2.0, 0.0, 0.0, -4.0]]), 2)
    >>> result.update, traffic.sent
    (array([ 5.,  0.,  0., -4.]), array([4, 4]))
    >>> result.residual.tolist()
    [[0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """
    array, k = checked_request(stack, k)
    P, n = array.shape
    d = _checked_teams(P, teams, synchronise)
    m = P // d
    h = k // m
    sent_by_team = _checked_sag(h, d, synchronise, sag_entries)
    held, cuts = array.copy(), even_cuts(n, m)
    within = [[t * m + j for j in range(m)] for t in range(d)]
    across = [[t * m + j for t in range(d)] for j in range(m)]
    own, scattered = _reduce_scattered(held, cuts, h, within)
    if synchronise == "r-sag":
        bags, agreed = _recursively(own, h, held, across)
    else:
        bags, agreed = _at_once(own, h, sent_by_team, held, across)
    wire = Wire(P)
    blocks = _bruck(wire, within, bags)
    phases = {"reduce-scatter": scattered, "synchronise": agreed, "allgather": wire.traffic()}
    update = np.zeros_like(array[0])
    for block in blocks[-1]:
        update[block.indices] = block.values
    final = np.concatenate([block.indices for block in blocks[-1]])
    return SparseResult(update, left_over(array, held, final), (final,) * P), Traffic.of_phases(phases)


def _checked_teams(P: int, teams: int, synchronise: str) -> int:
    checked_choice("synchronise", synchronise, ("r-sag", "b-sag"))
    d = checked_count("teams", teams, 1, P)
    if P % d:
        raise ValueError(f"teams must divide the number of ranks, {P}, got {d}")
    if synchronise == "r-sag" and d & (d - 1):
        raise ValueError(f"teams must be a power of two for r-sag, got {d}")
    return d


def _checked_sag(h: int, d: int, synchronise: str, sag_entries: int | None) -> int:
    if sag_entries is None:
        return h
    if synchronise != "b-sag":
        raise ValueError(f"sag_entries is for b-sag, got {sag_entries} for {synchronise}")
    return checked_count("sag_entries", sag_entries, -(-h // d), h)


@njit(cache=True, nogil=True)
def _take(row, start, stop, indices, values):  # type: ignore[no-untyped-def]
    # move the indices.size largest entries of row[start:stop] out, in ascending order; of equal ones the first; NaN (of
    # sums that overflow) is infinite
    h = indices.size
    if h == 0:
        return
    magnitudes = np.abs(row[start:stop])
    for i in range(magnitudes.size):
        if np.isnan(magnitudes[i]):
            magnitudes[i] = np.inf
    level = np.partition(magnitudes, magnitudes.size - h)[magnitudes.size - h]
    spare = h
    for i in range(magnitudes.size):
        spare -= magnitudes[i] > level
    count = 0
    for i in range(magnitudes.size):
        tied = magnitudes[i] == level and spare > 0
        if magnitudes[i] > level or tied:
            indices[count], values[count] = start + i, row[start + i]
            row[start + i] = 0
            count += 1
        spare -= tied


def _taken(row: NDArray[Any], cuts: NDArray[np.int64], block: int, h: int) -> Entries:
    """The `h` largest entries of a block, which leave the row."""
    entries = Entries(np.empty(h, np.int64), np.empty(h, row.dtype))
    _take(row, cuts[block], cuts[block + 1], entries.indices, entries.values)
    return entries


def _reduce_scattered(
    held: NDArray[Any], cuts: NDArray[np.int64], h: int, within: Groups
) -> tuple[list[Entries], Traffic]:
    """The `h` largest of every rank's own block, summed over its team; they leave `held`."""
    m, wire = len(within[0]), Wire(len(held))
    for level in reversed(range((m - 1).bit_length())):
        gap = 1 << level
        bag = min(gap, m - gap)
        wire.step()
        on_the_way = []
        for ranks in within:
            for j, rank in enumerate(ranks):
                parts = [_taken(held[rank], cuts, (j + gap + b) % m, h) for b in range(bag)]
                target = ranks[(j + gap) % m]
                on_the_way.append((target, wire.hand(rank, target, *parts)))
        for target, arrived in on_the_way:
            for indices, values in arrived:
                held[target, indices] += values
    own = [_taken(held[rank], cuts, j, h) for ranks in within for j, rank in enumerate(ranks)]
    return own, wire.traffic()


def _recursively(bags: list[Entries], h: int, held: NDArray[Any], across: Groups) -> tuple[list[Entries], Traffic]:
    """Every block's `h` largest over all teams, by recursive doubling; the lowest team of a merge keeps drops."""
    d, wire = len(across[0]), Wire(len(bags))
    for distance in (1 << level for level in range((d - 1).bit_length())):
        wire.step()
        merged = list(bags)
        for ranks in across:
            for t, rank in enumerate(ranks):
                partner = ranks[t ^ distance]
                (arrived,) = wire.hand(partner, rank, bags[partner])
                low, high = (bags[rank], arrived) if not t & distance else (arrived, bags[rank])
                merged[rank], dropped = strongest(added(low, high), h)
                if t % (2 * distance) == 0:
                    held[rank, dropped.indices] += dropped.values
        bags = merged
    return bags, wire.traffic()


def _at_once(
    bags: list[Entries], h: int, sent: int, held: NDArray[Any], across: Groups
) -> tuple[list[Entries], Traffic]:
    """Every block's `h` largest over all teams, from the `sent` largest of each; every rank keeps its own drops."""
    agreed, wire = list(bags), Wire(len(bags))
    for ranks in across:
        for rank in ranks:
            bags[rank], dropped = strongest(bags[rank], sent)
            held[rank, dropped.indices] += dropped.values
    gathered = _bruck(wire, across, bags)
    for rank, parts in enumerate(gathered):
        total = parts[0]
        for part in parts[1:]:
            total = added(total, part)
        agreed[rank], dropped = strongest(total, h)
        mine = np.isin(bags[rank].indices, dropped.indices, assume_unique=True)
        held[rank, bags[rank].indices[mine]] += bags[rank].values[mine]
    return agreed, wire.traffic()


def _bruck(wire: Wire, groups: Groups, bags: list[Entries]) -> list[list[Entries]]:
    """For every rank the bags of its group, in the group's order; all groups at the same time, any size."""
    size = len(groups[0])
    have = [[bag] for bag in bags]
    for distance in (1 << level for level in range((size - 1).bit_length())):
        wire.step()
        arrived = {}
        for ranks in groups:
            for i, rank in enumerate(ranks):
                target = ranks[i - distance]
                arrived[target] = wire.hand(rank, target, *have[rank][: min(distance, size - distance)])
        for rank, parts in arrived.items():
            have[rank] += parts
    ordered = list(have)
    for ranks in groups:
        for i, rank in enumerate(ranks):
            ordered[rank] = have[rank][size - i :] + have[rank][: size - i]
    return ordered
