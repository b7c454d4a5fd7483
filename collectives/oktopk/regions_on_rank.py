"""How a rank agrees with the others on the boundaries of the regions: the twin of `settled_boundaries`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives._peers import checked_count
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.on_rank import gathered
from commbounds.collectives.oktopk.regions import (
    ALGORITHMS,
    BOUNDARIES,
    MAX_ENTRIES,
    _checked_indices,
    bisected,
    checked_choice,
    counted_upto,
    proposed,
)
from commbounds.collectives.ranks._agreement import agreed_alike
from commbounds.collectives.ranks.communicator import Communicator, parcel

__all__ = ["agreed_boundaries", "oktopk_boundaries"]

Integers = NDArray[np.int64]


def oktopk_boundaries(
    comm: Communicator, selected: ArrayLike, n: int, rule: str = "mean-of-quantiles", *, allgather: str = "bruck"
) -> Integers:
    """The boundaries that the ranks agree on; the twin of `commbounds.collectives.oktopk_boundaries`.

    Parameters
    ----------
    comm : Communicator
        This rank's end.
    selected : (e,) array_like of int
        Indices that this rank selected: in range(n), ascending, unique.
    n, rule, allgather
        As there; the same on all ranks.

    Raises
    ------
    TypeError, ValueError
        As there, or `n` or an option differs; on all ranks.
    """

    def checked() -> tuple[int, Integers]:
        entries = checked_count(n, "n", 1, MAX_ENTRIES)
        checked_choice(rule, "rule", BOUNDARIES)
        checked_choice(allgather, "allgather", ALGORITHMS)
        return entries, _checked_indices(selected, entries)

    entries, indices = comm.agreed(checked)
    agreed_alike(comm, {"n": entries, "rule": rule, "allgather": allgather})
    return agreed_boundaries(comm, indices, entries, rule, allgather)


def agreed_boundaries(comm: Communicator, selected: Integers, n: int, rule: str, allgather: str) -> Integers:
    """The boundaries of the regions, (P + 1,), given the indices that this rank selected.

    Parameters
    ----------
    comm : Communicator
        This rank's end.
    selected : (e,) int64
        Ascending, in range(n).
    n, rule, allgather
        As in `oktopk_boundaries`; the same on all ranks.
    """
    P = comm.size
    if rule == "even" or P == 1:
        return even_cuts(n, P)
    if rule == "mean-of-quantiles":
        inner = _summed(comm, proposed(selected, n, P), allgather) // P
    else:
        inner = _at_equal_counts(comm, selected, n, allgather)
    return np.concatenate([[0], inner, [n]]).astype(np.int64)


def _summed(comm: Communicator, numbers: Integers, allgather: str) -> Integers:
    """The sums over the ranks of P - 1 integers: number j goes to rank j + 1, who adds; the sums are gathered."""
    rank, P = comm.rank, comm.size
    own = numbers[rank - 1 : rank].copy() if rank > 0 else np.zeros(0, np.int64)  # rank 0 adds none, and is sent none
    for shift in range(1, P):
        target, source = (rank + shift) % P, (rank - shift) % P
        outgoing = {target: parcel(numbers[target - 1 : target])} if target > 0 else {}
        arrived = comm.step(outgoing, [source] if rank > 0 else [])
        for message in arrived.values():
            own += message.arrays[0]
    return np.concatenate([sums for (sums,) in gathered(comm, (own,), allgather)])


def _at_equal_counts(comm: Communicator, selected: Integers, n: int, allgather: str) -> Integers:
    """The rule "global-count"."""
    counts = gathered(comm, (np.array([selected.size], np.int64),), allgather)
    total = sum(int(count[0]) for (count,) in counts)
    if total == 0:
        return even_cuts(n, comm.size)[1:-1]
    starts = np.array([0, selected.size], np.int64)

    def upto(middle: Integers) -> Integers:
        return _summed(comm, counted_upto(selected, starts, middle)[0], allgather)

    return bisected(total, n, comm.size, upto)
