"""What a rank does in SparDL's all-reduce: the twin of `commbounds.collectives.spardl_allreduce`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives.dense.on_rank import gathered
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks._team import Team
from commbounds.collectives.ranks.communicator import Communicator, parcel
from commbounds.collectives.sparse.entries import Entries, added, even_cuts, left_over, strongest
from commbounds.collectives.sparse.on_rank import SparseRankResult
from commbounds.collectives.sparse.spardl import _checked_sag, _checked_teams, _taken
from commbounds.compressors.base import checked_count

__all__ = ["spardl_allreduce"]

Array = NDArray[Any]


def spardl_allreduce(
    comm: Communicator,
    vector: ArrayLike,
    k: int,
    *,
    teams: int = 1,
    synchronise: str = "r-sag",
    sag_entries: int | None = None,
) -> SparseRankResult:
    """An approximation of the k largest entries of the sum, h from each block.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets the phases reduce-scatter, synchronise and allgather.
    vector : (n,) float32 or float64
        This rank's; finite.
    k, teams, synchronise, sag_entries
        As in the twin; the same on all ranks.

    Raises
    ------
    TypeError, ValueError
        As the twin, and as `agreed_row`; on all ranks.
    """
    P = comm.size

    def request(row: Array) -> dict[str, Any]:
        most, d = checked_count("k", k, 1, row.size), _checked_teams(P, teams, synchronise)
        sent = _checked_sag(most // (P // d), d, synchronise, sag_entries)
        return {"k": most, "teams": d, "synchronise": synchronise, "sag_entries": sent}

    row = agreed_row(comm, vector, request)
    m = P // teams
    h = k // m
    held, cuts = row[0].copy(), even_cuts(row.size, m)
    team, place = divmod(comm.rank, m)
    within = Team(comm, range(team * m, team * m + m))
    across = Team(comm, range(place, P, m))
    comm.phase("reduce-scatter")
    bag = _reduce_scattered(within, held, cuts, h)
    comm.phase("synchronise")
    if synchronise == "r-sag":
        bag = _recursively(across, bag, h, held)
    else:
        bag = _at_once(across, bag, h, _checked_sag(h, teams, synchronise, sag_entries), held)
    comm.phase("allgather")
    blocks = [Entries(*block) for block in gathered(within, bag, "bruck")]
    update = np.zeros(row.size, row.dtype)
    for block in blocks:
        update[block.indices] = block.values
    final = np.concatenate([block.indices for block in blocks])
    return SparseRankResult(update, left_over(row, held[np.newaxis], final)[0], final)


def _reduce_scattered(team: Communicator, held: Array, cuts: NDArray[np.int64], h: int) -> Entries:
    """The `h` largest of this rank's own block, summed over its team; they leave `held`."""
    j, m = team.rank, team.size
    for level in reversed(range((m - 1).bit_length())):
        gap = 1 << level
        parts = [_taken(held, cuts, (j + gap + b) % m, h) for b in range(min(gap, m - gap))]
        source = (j - gap) % m
        outgoing = parcel(*(array for part in parts for array in part))
        arrived = team.step({(j + gap) % m: outgoing}, [source])[source].arrays
        for indices, values in zip(arrived[::2], arrived[1::2], strict=True):
            held[indices] += values
    return _taken(held, cuts, j, h)


def _recursively(teams: Communicator, bag: Entries, h: int, held: Array) -> Entries:
    """The `h` largest of the block over all teams, by recursive doubling; the lowest team of a merge keeps drops."""
    t, d = teams.rank, teams.size
    for distance in (1 << level for level in range((d - 1).bit_length())):
        partner = t ^ distance
        arrived = Entries(*teams.step({partner: parcel(*bag)}, [partner])[partner].arrays)
        low, high = (bag, arrived) if t < partner else (arrived, bag)  # the same bits on both
        bag, dropped = strongest(added(low, high), h)
        if t % (2 * distance) == 0:
            held[dropped.indices] += dropped.values
    return bag


def _at_once(teams: Communicator, bag: Entries, h: int, sent: int, held: Array) -> Entries:
    """The `h` largest of the block over all teams, from the `sent` largest of each; this rank keeps its own drops."""
    bag, dropped = strongest(bag, sent)
    held[dropped.indices] += dropped.values
    first, *others = [Entries(*part) for part in gathered(teams, bag, "bruck")]
    total = first
    for part in others:
        total = added(total, part)
    agreed, dropped = strongest(total, h)
    mine = np.isin(bag.indices, dropped.indices, assume_unique=True)
    held[bag.indices[mine]] += bag.values[mine]
    return agreed
