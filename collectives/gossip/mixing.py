"""Gossip averaging on rings, tori and exponential graphs, and push-sum with link loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isqrt
from types import MappingProxyType
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives._peers import checked_count, checked_mask
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.traffic import Traffic

__all__ = ["TOPOLOGIES", "gossip", "partners", "push_sum", "working_links"]

Peers = NDArray[np.int64]
Rounds = Iterator[tuple[Peers, NDArray[np.bool_]]]


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
    if name not in TOPOLOGIES:
        raise ValueError(f"topology must be one of {', '.join(TOPOLOGIES)}, got {name!r}")
    return TOPOLOGIES[name]


@njit(cache=True, nogil=True)
def _add(values, total):  # type: ignore[no-untyped-def]
    for e in range(total.size):
        total[e] += values[e]


@njit(cache=True, nogil=True)
def _share(values, parts, share):  # type: ignore[no-untyped-def]
    for e in range(share.size):
        share[e] = values[e] / parts


@njit(cache=True, nogil=True)
def _gossip(stack, targets, alive, own, total, out, counts):  # type: ignore[no-untyped-def]
    # total[j]: own vector plus all that arrive, and, if own, the own vector again for each that does not, unless j is
    # down itself; counts: words sent, words received, messages
    N, n = stack.shape
    shares = np.ones(N, np.int64)
    total[:] = stack
    for h in range(targets.shape[1]):
        for i in range(N):
            j = targets[i, h]
            arrives = alive[i] and alive[j]
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


def gossip(
    stack: ArrayLike,
    topology: str,
    rounds: int = 1,
    *,
    start: int = 0,
    alive: ArrayLike | None = None,
    missing: str = "self",
) -> tuple[NDArray[Any], Traffic]:
    """The peers' vectors after some rounds of averaging with those who send to them, all with equal weights.

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
    missing : "self" or "renormalise"
        What a peer does about vectors that do not come: takes its own in their place, or divides by the number of
        those that it has.

    Returns
    -------
    result : (N, n) dtype of stack
        Summed in float64, own vector first, then by the order of the topology; rounded once a round.
    traffic : Traffic
        With a step for every round in which somebody sends; a peer sends to all its neighbours in one step.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; unknown names; N no square for a torus; alive of another shape.

    Notes
    -----
    Without failures the weights are doubly stochastic, so the mean stays. With failures it stays on a ring or a torus
    under "self", since the weights stay symmetric; "renormalise" moves it.

    Examples
    --------
    >>> result, traffic = gossip([[3.0], [0.0], [0.0], [6.0]], "ring")
    >>> result.ravel().tolist(), traffic.sent.tolist()
    ([3.0, 1.0, 2.0, 3.0], [2, 2, 2, 2])
    """
    array = checked_stack(stack)
    N, n = array.shape
    talks = partners(N, topology, rounds, start=start, alive=alive, missing=missing)
    counts, total = np.zeros((rounds, 3, N), np.int64), np.empty((N, n))
    for t, (targets, part) in enumerate(talks):
        out = np.empty_like(array)
        _gossip(array, targets, part, missing == "self", total, out, counts[t])
        array = out
    return (array.copy() if rounds == 0 else array), _spoken(counts)


def partners(N: int, topology: str, rounds: int, *, start: int, alive: ArrayLike | None, missing: str) -> Rounds:
    """For every round of `gossip`, to whom the peers send, and which peers take part; one round after another."""
    rounds, start = checked_count(rounds, "rounds", 0), checked_count(start, "start", 0)
    part, edges = checked_mask(alive, (rounds, N), "alive"), _topology(topology)
    if missing not in ("self", "renormalise"):
        raise ValueError(f"missing must be 'self' or 'renormalise', got {missing!r}")
    return ((edges(N, start + t), part[t]) for t in range(rounds))


def _spoken(counts: NDArray[np.int64]) -> Traffic:
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
    delivered: list[Any] | NDArray[np.bool_] | None = None,
    lost: str = "kept",
) -> tuple[tuple[NDArray[Any], NDArray[np.float64]], Traffic]:
    """The peers' sums and weights after some rounds of push-sum; the estimates of the mean are their ratios.

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
    held = np.ones(N) if weights is None else np.array(weights, np.float64)
    if held.shape != (N,) or not (np.isfinite(held).all() and (held > 0).all()):
        raise ValueError(f"weights must be {N} positive numbers, got {weights!r}")
    links = working_links(N, topology, rounds, start=start, delivered=delivered, lost=lost)
    counts = np.zeros((rounds, 3, N), np.int64)
    for t, (targets, works) in enumerate(links):
        new_sums, new_weights = np.empty_like(sums), np.empty(N)
        _push(sums, held, targets, works, lost == "kept", new_sums, new_weights, counts[t])
        sums, held = new_sums, new_weights
    return (sums, held), _spoken(counts)


def working_links(
    N: int, topology: str, rounds: int, *, start: int, delivered: list[Any] | NDArray[np.bool_] | None, lost: str
) -> Rounds:
    """For every round of `push_sum`, to whom the peers send, and which of these links work; one round after another."""
    rounds, start = checked_count(rounds, "rounds", 0), checked_count(start, "start", 0)
    edges = _topology(topology)
    if lost not in ("kept", "gone"):
        raise ValueError(f"lost must be 'kept' or 'gone', got {lost!r}")
    if delivered is not None and len(delivered) != rounds:
        raise ValueError(f"delivered must hold one entry for each of {rounds} rounds, got {len(delivered)}")

    def of_round(t: int) -> tuple[Peers, NDArray[np.bool_]]:
        targets = edges(N, start + t)
        given = None if delivered is None else delivered[t]
        return targets, checked_mask(given, targets.shape, "delivered of a round")

    return map(of_round, range(rounds))
