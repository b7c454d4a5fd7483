"""What a rank does in Ok-Topk's all-reduce: the twin of `commbounds.collectives.oktopk_allreduce`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives._peers import checked_count
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.on_rank import gathered
from commbounds.collectives.oktopk.allreduce import _kth_largest, _Options, _room, _selection
from commbounds.collectives.oktopk.exchange import balanced_on_rank, joined, split_on_rank, summed_region
from commbounds.collectives.oktopk.regions import MAX_ENTRIES, agreed_boundaries
from commbounds.collectives.oktopk.split import used_up
from commbounds.collectives.oktopk.state import Controller, OkTopkState
from commbounds.collectives.oktopk.threshold_filter import Passing, passing
from commbounds.collectives.oktopk.winners import evened_out
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.sparse.entries import Entries, cut_up

Array = NDArray[Any]

_PHASES = ("repartition", "split", "reevaluation", "sizes", "balance", "allgather")


@dataclass(frozen=True, eq=False)
class OkTopkRankState:
    """What one rank remembers: its own threshold, and what all have agreed on.

    Parameters
    ----------
    t, k : int
        As in `OkTopkState`; the same on all ranks.
    local_threshold : float
        This rank's; finite, not negative.
    global_threshold : float
        As in `OkTopkState`; the same on all ranks.
    boundaries : (P + 1,) array_like of int
        As in `OkTopkState`; the same on all ranks.

    Raises
    ------
    TypeError, ValueError
        As `OkTopkState` raises.
    """

    t: int
    k: int
    local_threshold: float
    global_threshold: float
    boundaries: NDArray[np.int64]

    def __post_init__(self) -> None:
        alone = np.full(max(np.size(self.boundaries) - 1, 0), self.local_threshold)
        checked = OkTopkState(self.t, self.k, alone, self.global_threshold, self.boundaries)
        for name in ("t", "k", "global_threshold", "boundaries"):
            object.__setattr__(self, name, getattr(checked, name))
        object.__setattr__(self, "local_threshold", float(self.local_threshold))

    @classmethod
    def of(cls, state: OkTopkState, rank: int) -> OkTopkRankState:
        """What `rank` knows of the state of all ranks."""
        threshold = float(state.local_thresholds[rank])
        return cls(state.t, state.k, threshold, state.global_threshold, state.boundaries)

    def checked_for(self, P: int, n: int, k: int) -> OkTopkRankState:
        """The state itself, if it is one of `P` ranks, `n` entries and `k` of them aimed at."""
        cuts = self.boundaries
        OkTopkState(self.t, self.k, np.zeros(cuts.size - 1), self.global_threshold, cuts).checked_for(P, n, k)
        return self


@dataclass(frozen=True, eq=False)
class OkTopkRankResult:
    """What an iteration leaves on one rank: its part of an `OkTopkResult`.

    Parameters
    ----------
    update : (n,) dtype of the vector
        The sum over the ranks, in the same bits on all of them.
    indices : (T,) int64
        Where the sum passes the global threshold, ascending.
    selected : (s,) int64
        The indices, ascending, that this rank selected and that are in the update: what its residual loses.
    local_count : int
        Entries that its threshold selected.
    region_counts : (P,) int64
        Those in every region.
    nonzero_sums : int
        Sums in its own region that are not zero.
    winners : (P,) int64
        Sums in every region that pass the global threshold, before balancing: all ranks know them.
    """

    update: Array
    indices: NDArray[np.int64]
    selected: NDArray[np.int64]
    local_count: int
    region_counts: NDArray[np.int64]
    nonzero_sums: int
    winners: NDArray[np.int64]


def oktopk_allreduce(
    comm: Communicator,
    acc: ArrayLike,
    k: int,
    state: OkTopkRankState | None = None,
    *,
    boundaries: str = "mean-of-quantiles",
    balance: str = "always",
    allgather: str = "bruck",
    threshold: str = "inclusive",
    tau: int = 64,
    tau_prime: int = 32,
    controller: Controller | None = None,
    rotation: bool = True,
    bucket: int = 1,
) -> tuple[OkTopkRankResult, OkTopkRankState]:
    """The sum of what the ranks' vectors have above their thresholds, where it passes a threshold for sums.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets the phases of the twin.
    acc : (n,) float32 or float64
        This rank's accumulated gradient; finite. Not mutated.
    k : int
        As there.
    state : OkTopkRankState or None
        From the call before, or made up; None before the first iteration.
    boundaries, balance, allgather, threshold, tau, tau_prime, controller, rotation, bucket
        As there.

    Returns
    -------
    result : OkTopkRankResult
        This rank's.
    state : OkTopkRankState
        For its next iteration.

    Raises
    ------
    TypeError, ValueError
        As there, and as `agreed_row`; on all ranks. All but `acc` and the local threshold must be the same on them.
    """
    options = comm.agreed(
        lambda: _Options(boundaries, balance, allgather, threshold, tau, tau_prime, controller, rotation, bucket)
    )
    P, rank = comm.size, comm.rank
    fresh = state is None or state.t % options.tau_prime == 0

    def before(n: int) -> OkTopkRankState:
        if n > MAX_ENTRIES:
            raise ValueError(f"acc must have at most 2**31 - 1 entries a rank, got {n}")
        most = checked_count(k, "k", 1, n)
        if state is None:
            return OkTopkRankState(0, most, 0.0, 0.0, even_cuts(n, P))
        return state.checked_for(P, n, most)

    def request(row: Array) -> dict[str, Any]:
        own = before(row.size)
        known = {"t": own.t, "global_threshold": own.global_threshold, "boundaries": own.boundaries.tolist()}
        return {"k": own.k, **vars(options), **{f"state.{name}": value for name, value in known.items()}}

    row = agreed_row(comm, acc, request, "acc", finite=fresh)
    n, now = row.size, before(row.size)
    for name in _PHASES:
        comm.phase(name)

    alone = OkTopkState(now.t, now.k, np.array([now.local_threshold]), now.global_threshold, np.array([0, n]))
    chosen, alone = comm.agreed(partial(_selection, row, alone, options, fresh))
    own = _entries(chosen)
    cuts = now.boundaries
    if now.t % options.tau == 0:
        comm.phase("repartition")
        cuts = agreed_boundaries(comm, own.indices, n, boundaries, allgather)
    comm.phase("split")
    pieces = cut_up(own, cuts)
    parts = split_on_rank(comm, pieces, rotation, options.bucket)
    start, stop = int(cuts[rank]), int(cuts[rank + 1])
    sums, nonzero = comm.agreed(partial(summed_region, parts, start, stop))
    global_threshold = alone.global_threshold
    if fresh:
        comm.phase("sizes")
        _gathered_sizes(comm, nonzero, allgather)
        comm.phase("reevaluation")
        global_threshold = _reevaluated(comm, sums, start, n, now.k, allgather)
    passed = passing(sums[np.newaxis], options.keys(np.array([global_threshold]), row.dtype), _room(now.k))
    mine = _entries(passed, start)
    comm.phase("sizes")
    winners = _gathered_sizes(comm, mine.indices.size, allgather)
    if evened_out(winners, balance):
        comm.phase("balance")
        mine = balanced_on_rank(comm, mine, winners)
    comm.phase("allgather")
    indices, values = joined([Entries(*block) for block in gathered(comm, mine, allgather)])

    update = np.zeros(n, row.dtype)
    update[indices] = values
    (selected,) = used_up(chosen, update)
    region_counts = np.array([piece.indices.size for piece in pieces], np.int64)
    local_count = int(chosen.counts[0])
    result = OkTopkRankResult(update, indices, selected, local_count, region_counts, nonzero, winners)
    local_threshold = float(alone.local_thresholds[0])
    if controller is not None and not fresh:
        local_threshold = controller.next_local(local_threshold, local_count, now.k)
        global_threshold = controller.next_global(global_threshold, indices.size, now.k)
    return result, OkTopkRankState(now.t + 1, now.k, local_threshold, global_threshold, cuts)


def _entries(passed: Passing, start: int = 0) -> Entries:
    """What passed of a single vector whose first index is `start`."""
    indices, values = passed.entries(0)
    return Entries(indices.astype(np.int64) + start, values)


def _gathered_sizes(comm: Communicator, size: int, allgather: str) -> NDArray[np.int64]:
    """One number of every rank."""
    return np.concatenate([sizes for (sizes,) in gathered(comm, (np.array([size], np.int64),), allgather)])


def _reevaluated(comm: Communicator, sums: Array, start: int, n: int, k: int, allgather: str) -> float:
    """The k-th largest magnitude of all sums, of which this rank has those of its region."""
    places = np.flatnonzero(sums)
    everything = np.zeros(n, sums.dtype)
    for indices, values in gathered(comm, (places + start, sums[places]), allgather):
        everything[indices] = values
    return _kth_largest(everything, k)
