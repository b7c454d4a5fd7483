"""Who owns which entries: the ranks agree on the boundaries of their regions, and what that costs."""

from collections.abc import Callable, Mapping, Sequence, Set

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Integers
from commbounds.collectives._peers import checked_count
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.gathering import gathered_blocks
from commbounds.collectives.dense.on_rank import gathered
from commbounds.collectives.ranks._agreement import agreed_alike
from commbounds.collectives.ranks.communicator import Communicator, parcel
from commbounds.collectives.ranks.one_program import fused_program
from commbounds.collectives.sparse.entries import sizes_of_all
from commbounds.collectives.traffic import Traffic, summed
from commbounds.compressors.base import as_array, checked_choice, shown

BOUNDARIES = ("mean-of-quantiles", "global-count", "even")
ALGORITHMS = ("ring", "bruck", "recursive-doubling")
MAX_ENTRIES = 2**31 - 1

Cuts = Integers


@njit(cache=True, nogil=True)
def _to_owners(numbers, sums, sent, received):  # type: ignore[no-untyped-def]
    # number j of every rank goes to rank j + 1, who adds: in step s rank p sends to rank p + s
    P = numbers.shape[0]
    for shift in range(P):
        for p in range(P):
            target = (p + shift) % P
            if target > 0:
                sums[target - 1] += numbers[p, target - 1]
                if shift > 0:
                    sent[shift - 1, p] += 1
                    received[shift - 1, target] += 1


@njit(cache=True, nogil=True)
def _upto(indices, starts, middle, counts):  # type: ignore[no-untyped-def]
    # counts[p, j]: how many of the indices starts[p] .. starts[p + 1] are at most middle[j], by bisection
    for p in range(counts.shape[0]):
        for j in range(middle.size):
            low, high = starts[p], starts[p + 1]
            while low < high:
                place = (low + high) // 2
                if indices[place] <= middle[j]:
                    low = place + 1
                else:
                    high = place
            counts[p, j] = low - starts[p]


def _summed_at_owners(numbers: Integers, allgather: str) -> tuple[Integers, Traffic]:
    """The sums over ranks of P - 1 integers each, known to all ranks: an all-reduce.

    Every number goes to its owner, who adds; the sums are gathered. Rank 0 adds none, and is sent none.
    """
    P = len(numbers)
    sums, counts = np.zeros(P - 1, np.int64), np.zeros((2, P - 1, P), np.int64)
    _to_owners(numbers, sums, counts[0], counts[1])
    scattered = Traffic.of_steps(counts[0], counts[1], counts[0])
    return sums, summed([scattered, gathered_blocks((0, *[1] * (P - 1)), allgather)])


def proposed(indices: Integers, n: int, P: int) -> Integers:
    """The P - 1 inner boundaries that a rank proposes for quantiles, given the indices that it selected."""
    chunk = indices.size // P
    return indices[chunk * np.arange(1, P)] if indices.size else even_cuts(n, P)[1:-1]


def _mean_of_quantiles(selected: Sequence[Integers], n: int, allgather: str) -> tuple[Cuts, Traffic]:
    P = len(selected)
    proposals = np.stack([proposed(indices, n, P) for indices in selected])
    sums, traffic = _summed_at_owners(proposals, allgather)
    return sums // P, traffic


def counted_upto(indices: Integers, starts: Integers, middle: Integers) -> Cuts:
    """How many of every rank's indices, ``indices[starts[p] : starts[p + 1]]``, are at most each of `middle`."""
    counts = np.empty((starts.size - 1, middle.size), np.int64)
    _upto(indices, starts, middle, counts)
    return counts


def bisected(total: int, n: int, P: int, upto: Callable[[Integers], Integers]) -> Cuts:
    """The P - 1 inner boundaries at equal counts of `total` selected entries, all at once.

    Parameters
    ----------
    total, n, P : int
        At least 1.
    upto : callable (P - 1,) -> (P - 1,)
        How many entries have indices up to these; asked ceil(log2 n) times.
    """
    wanted = np.array([-(-j * total // P) for j in range(1, P)], np.int64)
    # the least index up to which there are `wanted` entries is in [low, high]
    low, high = np.zeros(P - 1, np.int64), np.full(P - 1, n - 1, np.int64)
    for _ in range((n - 1).bit_length()):
        middle = (low + high) // 2
        sums = upto(middle)
        low = np.where(sums < wanted, middle + 1, low)
        high = np.where(sums < wanted, high, middle)
    return high + 1


def _global_count(selected: Sequence[Integers], n: int, allgather: str) -> tuple[Cuts, Traffic]:
    P = len(selected)
    indices = np.concatenate([np.zeros(0, np.int64), *selected])
    starts = np.cumsum([0] + [own.size for own in selected], dtype=np.int64)
    traffics = [gathered_blocks((1,) * P, allgather)]
    total = indices.size
    if total == 0:
        return even_cuts(n, P)[1:-1], traffics[0]

    def upto(middle: Integers) -> Integers:
        sums, traffic = _summed_at_owners(counted_upto(indices, starts, middle), allgather)
        traffics.append(traffic)
        return sums

    return bisected(total, n, P, upto), summed(traffics)


def settled_boundaries(selected: Sequence[Integers], n: int, rule: str, allgather: str) -> tuple[Cuts, Traffic]:
    """What `oktopk_boundaries` returns, of arguments that were checked."""
    P = len(selected)
    if rule == "even" or P == 1:
        return even_cuts(n, P), Traffic.none(P)
    agree = _mean_of_quantiles if rule == "mean-of-quantiles" else _global_count
    inner, traffic = agree(selected, n, allgather)
    return np.concatenate([[0], inner, [n]]).astype(np.int64), traffic


def agreed_boundaries(comm: Communicator, selected: Cuts, n: int, rule: str, allgather: str) -> Cuts:
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


def _summed(comm: Communicator, numbers: Cuts, allgather: str) -> Cuts:
    """The sums over the ranks of P - 1 integers: number j goes to rank j + 1, who adds; the sums are gathered."""
    rank, P = comm.rank, comm.size
    own = numbers[rank - 1 : rank].copy() if rank > 0 else np.zeros(0, np.int64)  # rank 0 adds none, and is sent none
    for shift in range(1, P):
        target, source = (rank + shift) % P, (rank - shift) % P
        outgoing = {target: parcel(numbers[target - 1 : target])} if target > 0 else {}
        arrived = comm.step(outgoing, [source] if rank > 0 else [])
        for message in arrived.values():
            own += comm.fitting(source, message, own)[0]
    return np.concatenate(
        [sums for (sums,) in gathered(comm, (own,), allgather, forms=lambda r: [(np.int64, (min(r, 1),))])]
    )


def _at_equal_counts(comm: Communicator, selected: Cuts, n: int, allgather: str) -> Cuts:
    """The rule "global-count"."""
    total = int(sizes_of_all(comm, selected.size, allgather).sum())
    if total == 0:
        return even_cuts(n, comm.size)[1:-1]
    starts = np.array([0, selected.size], np.int64)

    def upto(middle: Cuts) -> Cuts:
        return _summed(comm, counted_upto(selected, starts, middle)[0], allgather)

    return bisected(total, n, comm.size, upto)


def _listed(selected: Sequence[ArrayLike]) -> Sequence[ArrayLike]:
    if isinstance(selected, str | bytes | Set | Mapping | type) or not hasattr(selected, "__len__"):
        raise TypeError(f"selected must be a sequence of arrays, one for every rank, got {shown(selected)}")
    if getattr(selected, "ndim", 1) == 0 or len(selected) == 0:
        raise ValueError("selected must have one array for every rank, got none")
    return selected


def _settled(
    selected: Sequence[ArrayLike], n: int, rule: str = "mean-of-quantiles", *, allgather: str = "bruck"
) -> tuple[Cuts, Traffic]:
    entries = _checked_options(n, rule, allgather)
    return settled_boundaries([_checked_indices(given, entries) for given in selected], entries, rule, allgather)


def _checked_options(n: int, rule: str, allgather: str) -> int:
    entries = checked_count(n, "n", 1, MAX_ENTRIES)
    checked_choice("rule", rule, BOUNDARIES)
    checked_choice("allgather", allgather, ALGORITHMS)
    return entries


@fused_program(_settled, stack="selected", checked=_listed)
def oktopk_boundaries(
    comm: Communicator, selected: ArrayLike, n: int, rule: str = "mean-of-quantiles", *, allgather: str = "bruck"
) -> Cuts:
    """Boundaries of the regions that P ranks agree on, given the indices that each has selected.

    - "mean-of-quantiles" (official code): rank p proposes, for j = 1 .. P - 1, its selected index number
      ``j * floor(|S_p| / P)`` (from 0, ascending); boundary j is the mean over the ranks, rounded down.
    - "global-count": boundary j comes right after the least index up to which the ranks together have selected
      ``ceil(j M / P)`` entries, M in all: cuts at equal counts that do not split an index.
    - "even": regions of n / P entries, the first n mod P one larger.

    Parameters
    ----------
    selected : sequence of P arrays of int
        Indices in range(n), ascending, unique; P >= 1.
    n : int
        Entries of a vector, in [1, 2^31 - 1].
    rule : str
        One of the three.
    allgather : {"ring", "bruck", "recursive-doubling"}
        How what was summed reaches all ranks.

    Returns
    -------
    boundaries : (P + 1,) int64
        From 0 to n, never descending.
    traffic : Traffic
        "mean-of-quantiles": proposal j goes to rank j, which adds (P - 1 steps of one word), and the P - 1 sums are
        gathered. "global-count": the numbers of selected entries are gathered, then ceil(log2 n) rounds of bisection
        find all cuts at once, each of which sums P - 1 counts in the same way. "even": nothing.

    Raises
    ------
    TypeError
        Indices are no integers.
    ValueError
        No rank, an index out of range or not in order, no such rule or algorithm.

    Notes
    -----
    Quantiles as published leave the remainder of |S_p| / P to the last region; with |S_p| < P all proposals are the
    first index. A rank that selected nothing proposes even boundaries; with nothing selected at all, "global-count"
    gives those. With "global-count" no region has more than ceil(M / P) + P - 1 entries. Sums are int64.

    Examples
    --------
    >>> oktopk_boundaries([[0, 1, 2, 9], [4, 5, 6, 7]], 12)[0].tolist()
    [0, 4, 12]
    >>> oktopk_boundaries([[0, 1, 2, 9], [4, 5, 6, 7]], 12, "global-count")[0].tolist()
    [0, 5, 12]
    """

    def checked() -> tuple[int, Cuts]:
        entries = _checked_options(n, rule, allgather)
        return entries, _checked_indices(selected, entries)

    entries, indices = comm.agreed(checked)
    agreed_alike(comm, {"n": entries, "rule": rule, "allgather": allgather})
    return agreed_boundaries(comm, indices, entries, rule, allgather)


def _checked_indices(given: ArrayLike, n: int) -> Integers:
    indices = as_array(given, "selected")
    if indices.ndim != 1:
        raise ValueError(f"selected must hold vectors of ascending indices, got shape {indices.shape}")
    if indices.size == 0:
        return np.zeros(0, np.int64)
    if indices.dtype.kind not in "iu":
        raise TypeError(f"selected must hold integers, got {indices.dtype}")
    indices = indices.astype(np.int64)
    if indices.ndim != 1 or indices.min() < 0 or indices.max() >= n or (np.diff(indices) <= 0).any():
        raise ValueError(f"selected must hold ascending indices in range({n}), got {indices[:8].tolist()}")
    return indices
