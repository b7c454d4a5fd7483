"""Ok-Topk: a sparse all-reduce of the largest entries (S. Li, T. Hoefler 2022, arXiv 2201.07598)."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats
from commbounds.collectives._peers import checked_count
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.gathering import gathered_blocks
from commbounds.collectives.oktopk.exchange import balanced_on_rank, joined, split_on_rank, summed_region
from commbounds.collectives.oktopk.regions import (
    ALGORITHMS,
    BOUNDARIES,
    MAX_ENTRIES,
    agreed_boundaries,
    settled_boundaries,
)
from commbounds.collectives.oktopk.split import split_and_reduce, used_up
from commbounds.collectives.oktopk.state import (
    Controller,
    OkTopkRankResult,
    OkTopkRankState,
    OkTopkResult,
    OkTopkState,
    trusted,
)
from commbounds.collectives.oktopk.threshold_filter import Passing, least_keys, passing
from commbounds.collectives.oktopk.winners import BALANCE, evened_out, gathered_sizes, winners_traffic
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import fused_program
from commbounds.collectives.sparse.entries import Entries, cut_up, gathered_entries, sizes_of_all
from commbounds.collectives.traffic import Traffic, summed
from commbounds.compressors._largest import largest
from commbounds.compressors.base import checked_choice, checked_flag, checked_kind, shown


@dataclass(frozen=True)
class _Options:
    """The options of `oktopk_allreduce`, checked."""

    boundaries: str
    balance: str
    allgather: str
    threshold: str
    tau: int
    tau_prime: int
    controller: Controller | None
    rotation: bool
    bucket: int

    def __post_init__(self) -> None:
        checked_choice("boundaries", self.boundaries, BOUNDARIES)
        checked_choice("balance", self.balance, BALANCE)
        checked_choice("allgather", self.allgather, ALGORITHMS)
        checked_choice("threshold", self.threshold, ("inclusive", "strict"))
        for name in ("tau", "tau_prime", "bucket"):
            object.__setattr__(self, name, checked_count(getattr(self, name), name))
        checked_flag("rotation", self.rotation)
        if self.controller is not None and not isinstance(self.controller, Controller):
            raise TypeError(f"controller must be a Controller or None, got {shown(self.controller)}")

    def keys(self, thresholds: Floats, dtype: np.dtype[Any]) -> Array:
        """The least keys that pass the thresholds."""
        return least_keys(thresholds, dtype, self.threshold == "inclusive")


def _kth_largest(vector: Array, k: int) -> float:
    """The k-th largest magnitude, zeros counted."""
    return float(np.abs(largest(vector, k)[1]).min())


def _room(k: int) -> int:
    """Guess of how many entries pass a threshold meant for k."""
    return k + k // 2 + 64


def _selection(stack: Array, k: int, thresholds: Floats, options: _Options, fresh: bool) -> tuple[Passing, Floats]:
    """What every rank selects, and the thresholds that do it."""
    if fresh:
        thresholds = np.array([_kth_largest(row, k) for row in stack])
    chosen = passing(stack, options.keys(thresholds, stack.dtype), _room(k))
    if not chosen.finite:  # NaN and the infinities pass any threshold
        raise ValueError("acc must be finite, got NaN or infinity")
    if options.controller is None or fresh:
        return chosen, thresholds
    thresholds, most = thresholds.copy(), int(options.controller.at_once_above * k)
    for p in range(len(stack)):
        for _ in range(options.controller.at_once_tries):
            if chosen.counts[p] <= most:
                break
            thresholds[p] = options.controller.raised(thresholds[p])
            chosen.narrow(p, options.keys(thresholds[p : p + 1], stack.dtype))
    return chosen, thresholds


def _all_ranks(
    acc: ArrayLike,
    k: int,
    state: OkTopkState | None = None,
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
) -> tuple[OkTopkResult, OkTopkState, Traffic]:
    """What all ranks do at once, with the same bits and traffic as their programs."""
    options = _Options(boundaries, balance, allgather, threshold, tau, tau_prime, controller, rotation, bucket)
    if state is not None:
        checked_kind("state", state, OkTopkState)
    fresh = state is None or state.t % options.tau_prime == 0
    stack = checked_stack(acc, "acc", finite=fresh)
    P, n = stack.shape
    if n > MAX_ENTRIES:
        raise ValueError(f"acc must have at most 2**31 - 1 entries a rank, got {n}")
    k = checked_count(k, "k", 1, n)
    t, thresholds, top, cuts = 0, np.zeros(P), 0.0, even_cuts(n, P)
    if state is not None:
        state.checked_for(P, n, k)
        t, thresholds, top, cuts = state.t, state.local_thresholds, state.global_threshold, state.boundaries
    phases = {"repartition": Traffic.none(P)}

    chosen, thresholds = _selection(stack, k, thresholds, options, fresh)
    if t % options.tau == 0:
        cuts, phases["repartition"] = settled_boundaries(
            [row.astype(np.int64) for row in chosen.rows()], n, boundaries, allgather
        )
    sums, region_counts, nonzero, phases["split"] = split_and_reduce(chosen, cuts, rotation, options.bucket)
    phases["reevaluation"], phases["sizes"] = Traffic.none(P), gathered_sizes(P, allgather)
    if fresh:
        phases["reevaluation"] = gathered_blocks(tuple((2 * nonzero).tolist()), allgather)
        phases["sizes"] = summed([phases["sizes"], gathered_sizes(P, allgather)])
        top = _kth_largest(sums, k)
    passed = passing(sums[np.newaxis], options.keys(np.array([top]), stack.dtype), _room(k))
    indices, values = passed.entries(0)
    places = np.searchsorted(indices, cuts)
    winners = (places[1:] - places[:-1]).astype(np.int64)
    phases["balance"], phases["allgather"] = winners_traffic(winners, balance, allgather)

    update = np.zeros(n, stack.dtype)
    update[indices] = values
    selected = used_up(chosen, update)
    result = OkTopkResult(update, indices.astype(np.int64), selected, chosen.counts, region_counts, nonzero, winners)
    after = trusted(OkTopkState, t + 1, k, thresholds, top, cuts)
    if controller is not None and not fresh:
        after = controller.after(after, chosen.counts, indices.size)
    return result, after, Traffic.of_phases(phases)


# --- a rank's program ---------------------------------------------------------------------------------------------

_PHASES = ("repartition", "split", "reevaluation", "sizes", "balance", "allgather")


def _as_given(acc: ArrayLike) -> ArrayLike:
    """The stack, which is checked with the state: what is not finite is found on the way, where thresholds are kept."""
    return acc


def _entries(passed: Passing, start: int = 0) -> Entries:
    """What passed of a single vector whose first index is `start`."""
    indices, values = passed.entries(0)
    return Entries(indices.astype(np.int64) + start, values)


def _reevaluated(comm: Communicator, sums: Array, start: int, n: int, k: int, allgather: str) -> float:
    """The k-th largest magnitude of all sums, of which this rank has those of its region."""
    places = np.flatnonzero(sums)
    everything = np.zeros(n, sums.dtype)
    for indices, values in gathered_entries(comm, (places + start, sums[places]), n, allgather):
        everything[indices] = values
    return _kth_largest(everything, k)


@fused_program(_all_ranks, stack="acc", checked=_as_given)
def oktopk_allreduce(
    comm: Communicator,
    acc: ArrayLike,
    k: int,
    state: Any = None,
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

    Algorithm 1 of the paper, in iteration t:

    1. if tau' divides t: every rank's threshold becomes its k-th largest magnitude;
    2. rank p selects S_p, the entries that pass its threshold;
    3. if tau divides t: the ranks agree on boundaries of P regions ("repartition");
    4. every rank sends the entries of S_p in region r to rank r, which adds ("split");
    5. if tau' divides t: all sums that are not zero are gathered ("reevaluation"), and the global threshold becomes
       the k-th largest magnitude of the sums;
    6. the sums that pass it, the winners, are counted ("sizes"), spread evenly ("balance") and gathered ("allgather").

    Parameters
    ----------
    acc : (P, n) float32 or float64
        The ranks' accumulated gradients; finite; P >= 1, n in [1, 2^31 - 1]. Not mutated.
    k : int
        Entries aimed at, in [1, n].
    state : OkTopkState or None
        From the call before, or made up; None before the first iteration.
    boundaries : {"mean-of-quantiles", "global-count", "even"}
        How regions are cut in step 3: see `oktopk_boundaries`.
    balance : {"always", "never", "4x-mean"}
        When the winners are spread evenly; "4x-mean": if some rank holds more than four times the mean.
    allgather : {"ring", "bruck", "recursive-doubling"}
        How sizes, sums and winners are gathered.
    threshold : {"inclusive", "strict"}
        Whether a magnitude equal to the threshold passes; the official code is strict.
    tau, tau_prime : int
        Periods of repartition and of re-evaluation; >= 1.
    controller : Controller or None
        Adapts the thresholds in iterations that do not re-evaluate them; None leaves them as they are.
    rotation : bool
        Whether rank p sends to rank p + s in round s of the split; else all send to rank s.
    bucket : int
        Rounds of the split in flight together; they make one step. >= 1; the official code has min(4, P).

    Returns
    -------
    result : OkTopkResult
        The update, what it took from every rank, and counts.
    state : OkTopkState
        For the next iteration.
    traffic : Traffic
        With the phases "repartition", "split", "reevaluation", "sizes", "balance" and "allgather", in this order; those
        that did not take place are empty.

    Raises
    ------
    TypeError
        `acc` has another dtype or ragged rows; a count is no integer.
    ValueError
        `acc` has no rank or no entry, or holds NaN or an infinity; `k`, a period or an option is out of its range;
        `state` is one of another P, n or k; a sum overflows.

    Notes
    -----
    - On a rank, `on_rank` takes an `OkTopkRankState` and returns an `OkTopkRankResult` and the next state. All but the
      vector and the local threshold must be the same on all ranks, which is asked.
    - Zeros are never selected. With fewer than k nonzero entries the threshold found is 0, and all of them pass.
    - Ties: "inclusive" selects all entries equal to the threshold, "strict" none; so re-evaluation gives exactly k
      entries only if the k-th magnitude is unique and the threshold inclusive; strict, it gives k - 1.
    - Sums are made in rank order in the dtype of `acc`, starting from zero, whatever the order of messages; an
      implementation that adds in order of arrival differs by rounding.
    - A sum that cancels to zero is no winner, and stays in the ranks' residuals. With fewer than k sums that are not
      zero, the update has fewer than k entries.
    - Thresholds are compared with sums, not means.
    - Words: an entry counts two, a size or a proposed boundary one. Empty messages of the split are sent; in the
      balancing they are not, as sizes are known. Sizes of a re-evaluation are in the phase "sizes".
    - The official code takes another way in iterations that re-evaluate: the k largest of the gathered sums are the
      update, without step 6.
    - P = 1 has no traffic.

    Examples
    --------
    >>> acc = np.array([[5.0, 0.0, 1.0, 0.0], [4.0, 1.0, 0.0, 3.0]])
    >>> result, state, traffic = oktopk_allreduce(acc, 2)
    >>> result.update.tolist(), [s.tolist() for s in result.selected]
    ([9.0, 0.0, 0.0, 3.0], [[0], [0, 3]])
    >>> state.boundaries.tolist(), state.local_thresholds.tolist(), state.global_threshold
    ([0, 2, 4], [1.0, 3.0], 3.0)
    >>> traffic.phases["split"].sent.tolist(), traffic.phases["allgather"].received.tolist()
    ([2, 2], [2, 2])
    """
    options = comm.agreed(
        lambda: _Options(boundaries, balance, allgather, threshold, tau, tau_prime, controller, rotation, bucket)
    )
    P, rank = comm.size, comm.rank
    if state is not None:
        comm.agreed(partial(checked_kind, "state", state, OkTopkRankState))
    fresh = state is None or state.t % options.tau_prime == 0

    def before(n: int) -> OkTopkRankState:
        if n > MAX_ENTRIES:
            raise ValueError(f"acc must have at most 2**31 - 1 entries a rank, got {n}")
        most = checked_count(k, "k", 1, n)
        if state is None:
            return trusted(OkTopkRankState, 0, most, 0.0, 0.0, even_cuts(n, P))
        known: OkTopkRankState = state.checked_for(P, n, most)
        return known

    def request(row: Array) -> dict[str, Any]:
        own = before(row.size)
        known = {"t": own.t, "global_threshold": own.global_threshold, "boundaries": own.boundaries.tolist()}
        return {"k": own.k, **vars(options), **{f"state.{name}": value for name, value in known.items()}}

    row = agreed_row(comm, acc, request, "acc", finite=fresh)
    n, now = row.size, before(row.size)
    for name in _PHASES:
        comm.phase(name)

    chosen, thresholds = comm.agreed(partial(_selection, row, now.k, np.array([now.local_threshold]), options, fresh))
    own = _entries(chosen)
    cuts = now.boundaries
    if now.t % options.tau == 0:
        comm.phase("repartition")
        cuts = agreed_boundaries(comm, own.indices, n, boundaries, allgather)
    comm.phase("split")
    pieces = cut_up(own, cuts)
    parts = split_on_rank(comm, pieces, rotation, options.bucket, n)
    start, stop = int(cuts[rank]), int(cuts[rank + 1])
    sums, nonzero = comm.agreed(partial(summed_region, parts, start, stop))
    global_threshold = now.global_threshold
    if fresh:
        comm.phase("sizes")
        sizes_of_all(comm, nonzero, allgather)
        comm.phase("reevaluation")
        global_threshold = _reevaluated(comm, sums, start, n, now.k, allgather)
    passed = passing(sums[np.newaxis], options.keys(np.array([global_threshold]), row.dtype), _room(now.k))
    mine = _entries(passed, start)
    comm.phase("sizes")
    winners = sizes_of_all(comm, mine.indices.size, allgather)
    if evened_out(winners, balance):
        comm.phase("balance")
        mine = balanced_on_rank(comm, mine, winners, n)
    comm.phase("allgather")
    indices, values = joined(gathered_entries(comm, mine, n, allgather))

    update = np.zeros(n, row.dtype)
    update[indices] = values
    (selected,) = used_up(chosen, update)
    region_counts = np.array([piece.indices.size for piece in pieces], np.int64)
    local_count = int(chosen.counts[0])
    result = OkTopkRankResult(update, indices, selected, local_count, region_counts, nonzero, winners)
    local_threshold = float(thresholds[0])
    if controller is not None and not fresh:
        local_threshold = controller.next_local(local_threshold, local_count, now.k)
        global_threshold = controller.next_global(global_threshold, indices.size, now.k)
    return result, trusted(OkTopkRankState, now.t + 1, now.k, local_threshold, global_threshold, cuts)
