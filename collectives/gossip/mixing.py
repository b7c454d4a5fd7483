"""Gossip averaging on rings, tori and exponential graphs, and push-sum with link loss.

Sums that leave the dtype's range become infinite or NaN, even where their mean would not: divide beforehand.
"""

from collections.abc import Callable, Iterator
from math import isqrt
from types import MappingProxyType
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats, Integers, Mask
from commbounds.collectives._peers import checked_count, checked_entries, checked_mask
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator, packets
from commbounds.collectives.ranks.one_program import fused_program
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.base import as_numbers, checked_choice, shown

Peers = Integers
Rounds = Iterator[tuple[Peers, Mask]]
Links = list[Any] | Mask | None


def _shifted(N: int, shifts: list[int]) -> Peers:
    """Column h: the peer that is shifts[h] places further on; (N, shifts)."""
    return (np.arange(N)[:, None] + np.array(shifts, np.int64).reshape(1, -1)) % N


def _hops(N: int) -> int:
    """ceil(log2 N)."""
    return (N - 1).bit_length()


def _ring(N: int, _t: int) -> Peers:
    return _shifted(N, [1, N - 1])


def _torus(N: int, _t: int) -> Peers:
    m = isqrt(N)
    if m * m != N:
        raise ValueError(f"a torus needs a square number of peers, got {N}")
    row, column = np.divmod(np.arange(N), m)
    steps = ((0, 1), (0, m - 1), (1, 0), (m - 1, 0))
    return np.stack([(row + a) % m * m + (column + b) % m for a, b in steps], axis=1)


def _exponential(N: int, _t: int) -> Peers:
    return _shifted(N, [1 << h for h in range(_hops(N))])


def _one_peer(N: int, t: int) -> Peers:
    return _shifted(N, [1 << t % _hops(N)] if N > 1 else [])


def _two_peer(N: int, t: int) -> Peers:
    if N == 2:
        raise ValueError("a two-peer exponential graph needs three peers, or one, got 2")
    shift = 1 << t % ((N - 1).bit_length() - 1) if N > 1 else 0
    return _shifted(N, [shift, 2 * shift] if N > 1 else [])


TOPOLOGIES: MappingProxyType[str, Callable[[int, int], Peers]] = MappingProxyType(
    {"ring": _ring, "torus": _torus, "exponential": _exponential, "one-peer": _one_peer, "two-peer": _two_peer}
)
"""(N, t) -> (N, k): to whom each of N peers sends in round t, in order; on a ring of two, twice to the same."""


def _topology(name: str) -> Callable[[int, int], Peers]:
    return TOPOLOGIES[checked_choice("topology", name, TOPOLOGIES)]


@njit(cache=True, nogil=True)
def _add(values, total):  # type: ignore[no-untyped-def]
    for e in range(total.size):
        total[e] += values[e]


@njit(cache=True, nogil=True)
def _share(values, parts, share):  # type: ignore[no-untyped-def]
    for e in range(share.size):
        share[e] = values[e] / parts


@njit(cache=True, nogil=True)
def _gossip(stack, targets, alive, reached, own, total, out, counts):  # type: ignore[no-untyped-def]
    # reached[i, h]: whether what i sends to targets[i, h] arrives. total[j]: own vector plus all that arrive, and, if
    # own, the own vector again for each that does not, unless j is down itself; counts: words sent, received, messages
    N, n = stack.shape
    shares = np.ones(N, np.int64)
    for j in range(N):
        for e in range(n):
            total[j, e] = stack[j, e]
    for h in range(targets.shape[1]):
        for i in range(N):
            j = targets[i, h]
            arrives = reached[i, h]
            if not (arrives or (own and alive[j])):
                continue
            source = i if arrives else j
            shares[j] += 1
            _add(stack[source], total[j])
            if arrives and i != j:
                counts[0, i] += n
                counts[1, j] += n
                counts[2, i] += 1
    for j in range(N):
        _share(total[j], shares[j], out[j])


def _gossip_at_once(
    array: Array,
    topology: str,
    rounds: int = 1,
    *,
    start: int = 0,
    alive: ArrayLike | None = None,
    delivered: Links = None,
    missing: str = "self",
) -> tuple[Array, Traffic]:
    N, n = array.shape
    talks = partners(N, topology, rounds, start=start, alive=alive, delivered=delivered, missing=missing)
    counts, total = np.zeros((rounds, 3, N), np.int64), np.empty((N, n))
    for t, (targets, part, reached) in enumerate(talks):
        out = np.empty_like(array)
        _gossip(array, targets, part, reached, missing == "self", total, out, counts[t])
        array = out
    return (array.copy() if rounds == 0 else array), _spoken(counts)


def _plain(rounds: list[tuple[Peers, Mask]]) -> dict[str, Any]:
    """The rounds in plain numbers, for ranks to compare."""
    return {
        "targets": [t.tolist() for t, _ in rounds],
        "who takes part, or what works,": [w.tolist() for _, w in rounds],
    }


def _delivered(comm: Communicator, message: Array, targets: Peers, works: Mask) -> dict[int, Iterator[Array]]:
    """What reaches this rank where `works`, by sender, in the order of the topology; no step where nobody sends."""
    sends = works & (targets != np.arange(comm.size)[:, np.newaxis])
    if not sends.any():
        return {}
    outgoing: dict[int, list[Array]] = {}
    for target in targets[comm.rank][sends[comm.rank]].tolist():
        outgoing.setdefault(target, []).append(message)
    sources = np.flatnonzero((sends & (targets == comm.rank)).any(axis=1)).tolist()
    arrived = comm.step({target: packets(copies) for target, copies in outgoing.items()}, sources)
    for source, parcel in arrived.items():
        comm.fitting(source, parcel, *[message] * len(parcel.arrays))  # a kernel adds them
    return {source: iter(message.arrays) for source, message in arrived.items()}


def _links_to(rank: int, targets: Peers) -> list[tuple[int, int]]:
    """The links that end at `rank`, as their sender and its number: by number, then by sender."""
    return [(sender, h) for h in range(targets.shape[1]) for sender in np.flatnonzero(targets[:, h] == rank).tolist()]


@fused_program(_gossip_at_once)
def gossip(
    comm: Communicator,
    vector: ArrayLike,
    topology: str,
    rounds: int = 1,
    *,
    start: int = 0,
    alive: ArrayLike | None = None,
    delivered: Links = None,
    missing: str = "self",
) -> Array:
    """The peers' vectors after some rounds of averaging with those who send to them, all with equal weights.

    Sums that leave the range of the dtype become infinite, or NaN.

    Parameters
    ----------
    stack : (N, n) float32 or float64
        The peers' vectors; finite.
    topology : str
        A name in `TOPOLOGIES`: ring (two neighbours), torus (four; N a square), exponential (shifts 1, 2, 4, ... below
        N), one-peer (one of these shifts a round, in turn), two-peer (two consecutive ones a round, in turn).
    rounds : int
        Rounds, >= 0.
    start : int
        Number of the first round.
    alive : (rounds, N) bool or None
        Who takes part in which round; the others keep their vectors, and neither send nor receive.
    delivered : sequence of (N, k) bool, one a round, or None
        Which links work: that of peer i to its h-th target. A link may work one way and not the other.
    missing : "self" or "renormalise"
        What a peer does about vectors that do not come: takes its own in their place, or divides by the number of
        those that it has.

    Returns
    -------
    result : (N, n) dtype of stack
        Summed in float64, own vector first, then by the order of the topology; rounded once a round.
    traffic : Traffic
        With a step for every round in which somebody sends; a peer sends to all its neighbours in one step. Nothing is
        sent over links that do not work.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; unknown names; N no square for a torus; alive or delivered of another shape.

    Notes
    -----
    Without failures the weights are doubly stochastic, so the mean stays. With peers that are down it stays on a ring
    or a torus under "self", since the weights stay symmetric, and so with links that break both ways; "renormalise"
    moves it, and so does a link that breaks one way.

    Examples
    --------
    >>> result, traffic = gossip([[3.0], [0.0], [0.0], [6.0]], "ring")
    >>> result.ravel().tolist(), traffic.sent.tolist()
    ([3.0, 1.0, 2.0, 3.0], [2, 2, 2, 2])
    """
    P = comm.size
    talks = comm.agreed(
        lambda: list(partners(P, topology, rounds, start=start, alive=alive, delivered=delivered, missing=missing))
    )
    agreed = {**_plain([talk[:2] for talk in talks]), "the links that work": [talk[2].tolist() for talk in talks]}
    own: Array = agreed_row(comm, vector, lambda _: {**agreed, "missing": missing})[0].copy()
    for targets, there, reached in talks:
        arrived = _delivered(comm, own, targets, reached)
        total, shares = own.astype(np.float64), 1
        for sender, h in _links_to(comm.rank, targets):
            if reached[sender, h]:
                _add(own if sender == comm.rank else next(arrived[sender]), total)
            elif missing == "self" and there[comm.rank]:
                _add(own, total)
            else:
                continue
            shares += 1
        own = np.empty_like(own)
        _share(total, shares, own)
    return own


def partners(
    N: int, topology: str, rounds: int, *, start: int, alive: ArrayLike | None, delivered: Links, missing: str
) -> Iterator[tuple[Peers, Mask, Mask]]:
    """For every round of `gossip`: to whom the peers send, which peers take part, and over which links vectors arrive.

    One round after another.
    """
    checked_choice("missing", missing, ("self", "renormalise"))
    links = _open_links(N, topology, rounds, start, delivered)
    part = checked_mask(alive, (rounds, N), "alive")
    return ((to, part[t], works & part[t][:, np.newaxis] & part[t][to]) for t, (to, works) in enumerate(links))


def _spoken(counts: Integers) -> Traffic:
    """The traffic of the steps in which somebody sends; counts: (steps, 3, P)."""
    spoken = counts[counts[:, 2].any(axis=1)]
    return Traffic.of_steps(spoken[:, 0], spoken[:, 1], spoken[:, 2])


@njit(cache=True, nogil=True)
def _push(sums, weights, targets, delivered, kept, new_sums, new_weights, counts):  # type: ignore[no-untyped-def]
    # every peer keeps one of k + 1 equal shares of its sum and of its weight, and pushes one to each of k targets
    N, n = sums.shape
    parts = targets.shape[1] + 1
    for i in range(N):
        new_weights[i] = weights[i] / parts
        _share(sums[i], parts, new_sums[i])
    for h in range(targets.shape[1]):
        for i in range(N):
            j = targets[i, h]
            if not delivered[i, h]:
                if not kept:
                    continue
                j = i
            elif i != j:
                counts[0, i] += n + 1
                counts[1, j] += n + 1
                counts[2, i] += 1
            new_weights[j] += weights[i] / parts
            for e in range(n):  # `_share` and `_add` at once, a share being rounded before it is added
                new_sums[j, e] += sums[i, e] / parts


def push_sum(
    stack: ArrayLike,
    topology: str,
    rounds: int = 1,
    weights: ArrayLike | None = None,
    *,
    start: int = 0,
    delivered: Links = None,
    lost: str = "kept",
) -> tuple[tuple[Array, Floats], Traffic]:
    """The peers' sums and weights after some rounds of push-sum; the estimates of the mean are their ratios.

    Sums that leave the range of the dtype become infinite, or NaN.

    Parameters
    ----------
    stack : (N, n) float32 or float64
        The peers' sums: at first their vectors; finite.
    topology : str
        A name in `TOPOLOGIES`.
    rounds : int
        Rounds, >= 0.
    weights : (N,) positive floats or None
        The peers' weights: at first, and for None, all one.
    start : int
        Number of the first round.
    delivered : sequence of (N, k) bool, one a round, or None
        Which links work: that of peer i to its h-th target.
    lost : "kept" or "gone"
        Whether a sender keeps the share that a broken link would not take, or the share is lost.

    Returns
    -------
    (sums, weights) : (N, n) float64, (N,) float64
        In float64 throughout.
    traffic : Traffic
        With a step for every round in which somebody sends; n + 1 words a message. Nothing is sent over broken links.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; unknown names; weights or delivered that do not fit.

    Notes
    -----
    With "kept" the sums over all peers of sums and weights stay, whatever links break, so that the estimates can
    only agree on the initial mean. With "gone" the weights shrink along, and the estimates agree on something else.

    Examples
    --------
    >>> (sums, weights), traffic = push_sum([[1.0], [2.0], [3.0], [6.0]], "one-peer", 2)
    >>> (sums.ravel() / weights).tolist(), traffic.sent.tolist()
    ([3.0, 3.0, 3.0, 3.0], [4, 4, 4, 4])
    """
    sums = checked_stack(stack).astype(np.float64)
    N = len(sums)
    held = np.ones(N) if weights is None else np.array(as_numbers(weights, "weights"), np.float64)
    if held.shape != (N,) or not (np.isfinite(held).all() and (held > 0).all()):
        raise ValueError(f"weights must be {N} positive numbers, got {shown(weights)}")
    links = working_links(N, topology, rounds, start=start, delivered=delivered, lost=lost)
    counts = np.zeros((rounds, 3, N), np.int64)
    for t, (targets, works) in enumerate(links):
        new_sums, new_weights = np.empty_like(sums), np.empty(N)
        _push(sums, held, targets, works, lost == "kept", new_sums, new_weights, counts[t])
        sums, held = new_sums, new_weights
    return (sums, held), _spoken(counts)


def push_sum_on_rank(
    comm: Communicator,
    vector: ArrayLike,
    topology: str,
    rounds: int = 1,
    weight: float = 1.0,
    *,
    start: int = 0,
    delivered: Links = None,
    lost: str = "kept",
) -> tuple[Array, float]:
    """The sum and the weight of this rank after some rounds; a rank's part in `push_sum`.

    Parameters
    ----------
    comm : Communicator
        This rank's end. No phase is named.
    vector : (n,) float32 or float64
        This rank's sum; finite, n >= 1, and as long as the others'.
    topology, rounds, start, delivered, lost
        As there; the same on all ranks.
    weight : float
        This rank's; positive.

    Returns
    -------
    (n,) float64, float

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as there. On all ranks.
    """

    def links_of_rounds() -> list[tuple[Peers, Mask]]:
        if not (np.isfinite(weight) and weight > 0):
            raise ValueError(f"weight must be a positive number, got {weight!r}")
        return list(working_links(comm.size, topology, rounds, start=start, delivered=delivered, lost=lost))

    links = comm.agreed(links_of_rounds)
    own: Array = agreed_row(comm, vector, lambda _: {**_plain(links), "lost": lost})[0].astype(np.float64)
    held = float(weight)
    for targets, works in links:
        parts = targets.shape[1] + 1
        share, part = np.empty_like(own), held / parts
        _share(own, parts, share)
        arrived = _delivered(comm, np.append(share, part), targets, works)
        own, held = share.copy(), part
        for sender in _senders(comm.rank, targets, works, lost == "kept"):
            message = np.append(share, part) if sender == comm.rank else next(arrived[sender])
            _add(message[:-1], own)
            held += float(message[-1])
    return own, held


def _senders(rank: int, targets: Peers, works: Mask, kept: bool) -> list[int]:
    """Whose shares `rank` adds up, one after another: those that reach it, and its own that it may keep."""
    mine = [(rank, h) for h in range(targets.shape[1]) if kept and not works[rank, h]]
    reaching = [(sender, h) for sender, h in _links_to(rank, targets) if works[sender, h]]
    return [sender for sender, _ in sorted(mine + reaching, key=lambda link: (link[1], link[0]))]


def working_links(N: int, topology: str, rounds: int, *, start: int, delivered: Links, lost: str) -> Rounds:
    """For every round of `push_sum`, to whom the peers send, and which of these links work; one round after another."""
    checked_choice("lost", lost, ("kept", "gone"))
    return _open_links(N, topology, rounds, start, delivered)


def _open_links(N: int, topology: str, rounds: int, start: int, delivered: Links) -> Rounds:
    """For every round, to whom the peers send, and which of these links work; one round after another."""
    rounds, start = checked_count(rounds, "rounds", 0), checked_count(start, "start", 0)
    edges = _topology(topology)
    if delivered is not None:
        checked_entries(delivered, "delivered", rounds, "rounds")

    def of_round(t: int) -> tuple[Peers, Mask]:
        targets = edges(N, start + t)
        given = None if delivered is None else delivered[t]
        return targets, checked_mask(given, targets.shape, "delivered of a round")

    return map(of_round, range(rounds))
