"""What a rank does when groups average, or add up, by butterfly all-reduce: two steps, every member to all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives._peers import checked_mask
from commbounds.collectives.moshpit.group_average import _chunk_mean, checked_groups
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator, parcel

__all__ = ["combined_in_groups", "group_average"]

Array = NDArray[Any]


def group_average(
    comm: Communicator, vector: ArrayLike, groups: ArrayLike, *, receives: ArrayLike | None = None
) -> Array:
    """The vector of this rank after its group has averaged; the twin of `commbounds.collectives.moshpit.group_average`.

    Parameters
    ----------
    comm : Communicator
        This rank's end. No phase is named.
    vector : (n,) float32 or float64
        This rank's; finite, n >= 1, and as long as the others'.
    groups : (P,) integers
        Label of each rank's group; the same on all ranks.
    receives : (P,) bool or None
        Ranks that get the result; the same on all ranks.

    Returns
    -------
    (n,) dtype of vector

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as the twin. On all ranks.
    """
    P = comm.size
    labels, gets = comm.agreed(lambda: (checked_groups(groups, P), checked_mask(receives, (P,), "receives")))
    settings = {"groups": labels.tolist(), "receives": gets.tolist()}
    (own,) = agreed_row(comm, vector, lambda _: settings)
    return combined_in_groups(comm, own, labels, gets, _mean)


def _mean(rows: Array) -> Array:
    """The mean of `rows`, added up in their order in float64 and rounded once."""
    size, length = rows.shape
    total = np.empty(length)
    _chunk_mean(rows, np.arange(size), 0, length, total)
    return total.astype(rows.dtype)


def combined_in_groups(
    comm: Communicator, own: Array, labels: Array, gets: NDArray[np.bool_], combine: Callable[[Array], Array]
) -> Array:
    """A vector that has been combined chunk by chunk: chunk c by the c-th member of this rank's group.

    Parameters
    ----------
    comm : Communicator
        This rank's end. Both steps are left out where no rank speaks in them, which all ranks can tell.
    own : (n,) array
        This rank's.
    labels, gets : (P,) integers, (P,) bool
        As `groups` and `receives` in `group_average`.
    combine : callable ((members, c) array) -> (c,) array
        What becomes of a chunk; of the members' chunks in rank order.

    Returns
    -------
    (n,) dtype of own
        A copy of `own` where this rank's group has no other member, or where it gets nothing.
    """
    values, counts = np.unique(labels[labels >= 0], return_counts=True)
    in_company = np.isin(labels, values[counts > 1])
    if not in_company.any():
        return own.copy()
    members = np.flatnonzero(labels == labels[comm.rank]).tolist() if in_company[comm.rank] else [comm.rank]
    others = [peer for peer in members if peer != comm.rank]
    edges = [c * own.size // len(members) for c in range(len(members) + 1)]
    chunk = {peer: slice(edges[c], edges[c + 1]) for c, peer in enumerate(members)}
    arrived = comm.step({peer: parcel(own[chunk[peer]]) for peer in others}, others)
    result = own.copy()
    if others:
        mine = own[chunk[comm.rank]]
        rows = [mine if peer == comm.rank else arrived[peer].arrays[0] for peer in members]
        result[chunk[comm.rank]] = combine(np.stack(rows))
    if not (in_company & gets).any():
        return own.copy()
    outgoing = {peer: parcel(result[chunk[comm.rank]]) for peer in others if gets[peer]}
    if not gets[comm.rank]:
        comm.step(outgoing)
        return own.copy()
    for peer, message in comm.step(outgoing, others).items():
        result[chunk[peer]] = message.arrays[0]
    return result
