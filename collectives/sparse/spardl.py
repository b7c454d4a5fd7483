"""SparDL: sparse reduce-scatter with top-h blocks, all-gather of the blocks, and nothing lost on the way.

Sums that leave the dtype's range become infinite or NaN, as in the dense collectives.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks._team import Team
from commbounds.collectives.ranks.communicator import Communicator, parcel
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.sparse.entries import (
    Entries,
    SparseRankResult,
    added,
    dense_vector,
    entries_from,
    gathered_entries,
    largest_marked,
    left_over,
    of_all_ranks,
    strongest,
)
from commbounds.compressors.base import checked_choice, checked_count, shown


@one_program(of_all_ranks)
def spardl_allreduce(
    comm: Communicator,
    vector: ArrayLike,
    k: int,
    *,
    teams: int = 1,
    synchronise: str = "r-sag",
    sag_entries: int | None = None,
) -> SparseRankResult:
    """An approximation of the k largest entries of the sum, h = floor(k d / P) from each of P / d blocks.

    The P ranks form d teams of m = P / d. Within a team, blocks of n / m entries are reduced to their owners in
    ceil(log2 m) steps, every block cut down to its h largest entries whenever it is sent; teams then agree on every
    block, and an all-gather within the team brings the blocks to all.

    Sums that leave the range of the dtype become infinite, or NaN.

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
    P = comm.size

    def request(row: Array) -> dict[str, Any]:
        most, d = checked_count("k", k, 1, row.size), _checked_teams(P, teams, synchronise)
        sent = _checked_sag(most // (P // d), d, synchronise, sag_entries)
        return {"k": most, "teams": d, "synchronise": synchronise, "sag_entries": sent}

    row = agreed_row(comm, vector, request)
    m = P // teams
    h = k // m
    held, cuts = row[0].copy(), comm.shared(lambda: even_cuts(row.size, m).tolist())
    team, place = divmod(comm.rank, m)
    within = _of(comm, range(team * m, team * m + m))
    across = _of(comm, range(place, P, m))
    comm.phase("reduce-scatter")
    bag = _reduce_scattered(within, held, cuts, h)
    comm.phase("synchronise")
    if synchronise == "r-sag":
        bag = _recursively(across, bag, h, held)
    else:
        bag = _at_once(across, bag, h, _checked_sag(h, teams, synchronise, sag_entries), held)
    comm.phase("allgather")
    blocks = gathered_entries(within, bag, row.size, "bruck")
    update = comm.shared(lambda: dense_vector(blocks, row.size, row.dtype))
    final = np.concatenate([block.indices for block in blocks])
    return SparseRankResult(update, left_over(row, held[np.newaxis], final)[0], final)


def _of(comm: Communicator, members: range) -> Communicator:
    """The end of the wire to the members, who may be all ranks."""
    return comm if len(members) == comm.size else Team(comm, members)


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
        raise ValueError(f"sag_entries must be None but for b-sag, got {shown(sag_entries)} for {synchronise}")
    return checked_count("sag_entries", sag_entries, -(-h // d), h)


def _largest_of_block(row: Array, cuts: list[int], block: int, h: int) -> Entries:
    """The `h` largest entries of a block, which leave the row."""
    places = cuts[block] + np.flatnonzero(largest_marked(row[cuts[block] : cuts[block + 1]], h))
    entries = Entries(places, row[places])
    row[places] = 0
    return entries


def _reduce_scattered(team: Communicator, held: Array, cuts: list[int], h: int) -> Entries:
    """The `h` largest of this rank's own block, summed over its team; they leave `held`."""
    j, m = team.rank, team.size
    for level in reversed(range((m - 1).bit_length())):
        gap = 1 << level
        parts = [_largest_of_block(held, cuts, (j + gap + b) % m, h) for b in range(min(gap, m - gap))]
        source = (j - gap) % m
        outgoing = parcel(*(array for part in parts for array in part))
        arrived = team.step({(j + gap) % m: outgoing}, [source])[source].arrays
        for pair in zip(arrived[::2], arrived[1::2], strict=True):
            indices, values = entries_from(team, source, pair, held.size, held.dtype)
            held[indices] += values
    return _largest_of_block(held, cuts, j, h)


def _recursively(teams: Communicator, bag: Entries, h: int, held: Array) -> Entries:
    """The `h` largest of the block over all teams, by recursive doubling; the lowest team of a merge keeps drops."""
    t, d = teams.rank, teams.size
    for distance in (1 << level for level in range((d - 1).bit_length())):
        partner = t ^ distance
        sent = teams.step({partner: parcel(*bag)}, [partner])[partner]
        arrived = entries_from(teams, partner, sent, held.size, held.dtype)
        low, high = (bag, arrived) if t < partner else (arrived, bag)  # the same bits on both
        bag, dropped = strongest(added(low, high), h)
        if t % (2 * distance) == 0:
            held[dropped.indices] += dropped.values
    return bag


def _at_once(teams: Communicator, bag: Entries, h: int, sent: int, held: Array) -> Entries:
    """The `h` largest of the block over all teams, from the `sent` largest of each; this rank keeps what it cuts."""
    bag, dropped = strongest(bag, sent)
    held[dropped.indices] += dropped.values
    first, *others = gathered_entries(teams, bag, held.size, "bruck")
    total = first
    for part in others:
        total = added(total, part)
    return strongest(total, h)[0]
