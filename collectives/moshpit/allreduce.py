"""Moshpit all-reduce: groups by keys that the peers' chunk indices renew, and its simulation on a fixed grid.

A group's mean is finite where its vectors are, though their sum would not be: see `group_average`.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Integers
from commbounds.collectives._peers import MOST, checked_count, checked_mask, checked_rng
from commbounds.collectives.moshpit.group_average import averaged_at_once, averaged_in_rounds
from commbounds.collectives.ranks._agreement import agreed_alike, checksum
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import fused_program
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.base import MAX_ENTRIES, as_array, checked_choice, of_python_numbers

Keys = Integers
Labels = Integers


@of_python_numbers
def initial_keys(N: int, M: int, d: int) -> Keys:
    """Digits of the first group keys: digit j of peer i is floor(i / M^(d-j)) mod M, j = 1 .. d-1.

    Parameters
    ----------
    N : int
        Peers, 1 <= N <= M^d.
    M : int
        Side of the grid, >= 1; no group has more members.
    d : int
        Dimensions of the grid, >= 1.

    Returns
    -------
    (N, d - 1) int64
        Oldest digit first; M peers share a key where N = M^d.

    Examples
    --------
    >>> initial_keys(8, 2, 3).tolist()
    [[0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [1, 0], [1, 1], [1, 1]]
    """
    M, d = checked_count(M, "M"), checked_count(d, "d", 1, 64)
    checked_count(N, "N", 1, min(M**d, MOST))
    if N * d > MAX_ENTRIES:
        raise ValueError(f"N must be at most (2^31 - 1) / d, got {N}")
    return np.array([[i // M ** (d - j) % M for j in range(1, d)] for i in range(N)], np.int64).reshape(N, d - 1)


@njit(cache=True, nogil=True)
def _match(codes, alive, M, abort, order, groups, slots):  # type: ignore[no-untyped-def]
    # peers of one key form groups of at most M, in rank order; the member that comes j-th gets slot order[key, j]
    filled = np.zeros(order.shape[0], np.int64)
    broken = np.zeros(order.shape[0] * (codes.size // M + 1), np.bool_)
    for i in range(codes.size):
        key = codes[i]
        groups[i], slots[i] = -1, -1
        if alive[i] or abort:
            groups[i] = key + filled[key] // M * order.shape[0]
            slots[i] = order[key, filled[key] % M]
            filled[key] += 1
            broken[groups[i]] |= not alive[i]
    if abort:
        for i in range(codes.size):
            if broken[groups[i]]:
                groups[i], slots[i] = -1, -1


def _slot_orders(slots: Any, shape: tuple[int, int, int], rng: Any) -> Integers:
    """For every round and key a permutation of range(M): whose j-th entry is the slot of the j-th member."""
    if isinstance(slots, str):
        checked_choice("slots", slots, ("rank", "sample"))
        orders = np.broadcast_to(np.arange(shape[2]), shape).astype(np.int64, order="C")
        return checked_rng(rng, "slots='sample'").permuted(orders, axis=2) if slots == "sample" else orders
    orders = as_array(slots, "slots")
    if orders.shape != shape or orders.dtype.kind not in "iu":
        raise ValueError(f"slots must be integers of shape {shape}, got {orders.dtype} of shape {orders.shape}")
    if not np.array_equal(np.sort(orders, axis=2), np.broadcast_to(np.arange(shape[2]), shape)):
        raise ValueError(f"every row of slots must be a permutation of range({shape[2]}), and is not")
    return np.ascontiguousarray(orders, dtype=np.int64)


def _aborts(rule: str) -> bool:
    checked_choice("rule", rule, ("skip", "abort"))
    return rule == "abort"


def _moshpit(array: Array, *arguments: Any, **options: Any) -> tuple[tuple[Array, Keys], Traffic]:
    groups, digits = meetings(len(array), *arguments, **options)
    result, traffic = averaged_at_once(array, groups)
    return (result, digits), traffic


@fused_program(_moshpit)
def moshpit(
    comm: Communicator,
    vector: ArrayLike,
    keys: ArrayLike,
    M: int,
    rounds: int,
    rng: np.random.Generator | None = None,
    *,
    slots: Any = "sample",
    alive: ArrayLike | None = None,
    rule: str = "skip",
) -> tuple[Array, Labels]:
    """The peers' vectors and keys after some rounds of Moshpit all-reduce.

    In every round the peers with equal keys form a group and average; within a group each gets a chunk index of its
    own, which takes the place of the oldest digit of its key.

    Parameters
    ----------
    stack : (N, n) float32 or float64
        The peers' vectors; finite.
    keys : (N, d - 1) integers in [0, M)
        Group keys, oldest digit first: from `initial_keys`, or from the rounds before.
    M : int
        Side of the grid.
    rounds : int
        Rounds, >= 0.
    rng : numpy.random.Generator or None
        Required where slots are drawn.
    slots : "sample", "rank" or (rounds, M^(d-1), M) integers
        How members get their chunk indices: drawn from range(M) without replacement, their rank in the group, or given
        for every round and key as a permutation whose j-th entry is for the j-th member.
    alive : (rounds, N) bool or None
        Who takes part in which round.
    rule : "skip" or "abort"
        Whether a group goes on without its failed members, or does nothing in that round.

    Returns
    -------
    (result, keys) : (N, n) dtype of stack, (N, d - 1) int64
        The state after the last round. Who did not average keeps vector and key.
    traffic : Traffic
        With a phase for every round. Failures are noticed before anything is sent.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; keys, slots or alive of another shape; a digit outside [0, M); an unknown rule.

    Notes
    -----
    With N = M^d, `initial_keys` and no failures, all peers hold the mean after d rounds. More than M peers can come to
    share a key after failures; they then form groups of M in rank order.

    Examples
    --------
    >>> x = [[1.0], [2.0], [3.0], [6.0]]
    >>> (result, keys), traffic = moshpit(x, initial_keys(4, 2, 2), 2, 2, slots="rank")
    >>> result.ravel().tolist(), traffic.steps
    ([3.0, 3.0, 3.0, 3.0], 4)
    """
    P = comm.size
    groups, digits = comm.agreed(lambda: meetings(P, keys, M, rounds, rng, slots=slots, alive=alive, rule=rule))
    average = averaged_in_rounds(comm, vector, groups)
    agreed_alike(comm, {"the checksum of the keys": checksum(digits)})  # those after the last round form no group yet
    return average, digits


def meetings(
    N: int,
    keys: ArrayLike,
    M: int,
    rounds: int,
    rng: Any = None,
    *,
    slots: Any = "sample",
    alive: ArrayLike | None = None,
    rule: str = "skip",
) -> tuple[list[Labels], Keys]:
    """The groups that `N` peers form in the rounds of `moshpit`, as `group_average` takes them, and the last keys.

    They depend on nothing that peers hold: whoever has the arguments can tell who meets whom.
    """
    M, rounds = checked_count(M, "M"), checked_count(rounds, "rounds", 0)
    digits = as_array(keys, "keys")
    if digits.ndim != 2 or len(digits) != N:
        raise ValueError(f"keys must have shape ({N}, d - 1), got {digits.shape}")
    if digits.dtype.kind not in "iu":
        raise TypeError(f"keys must be integers, got {digits.dtype}")
    if digits.size and not (digits.min() >= 0 and digits.max() < M):
        raise ValueError(f"the digits of keys must be in [0, {M}), got [{digits.min()}, {digits.max()}]")
    digits = digits.astype(np.int64)
    abort, part = _aborts(rule), checked_mask(alive, (rounds, N), "alive")
    d = digits.shape[1] + 1
    orders = _slot_orders(slots, (rounds, M ** (d - 1), M), rng)
    weights = M ** np.arange(d - 2, -1, -1, dtype=np.int64)
    groups = [np.empty(N, np.int64) for _ in range(rounds)]
    indices = np.empty(N, np.int64)
    for t in range(rounds):
        _match(digits @ weights, part[t], M, abort, orders[t], groups[t], indices)
        met = indices >= 0
        if d > 1:
            digits[met] = np.column_stack((digits[met, 1:], indices[met]))
    return groups, digits


def _grid(array: Array, *arguments: Any, **options: Any) -> tuple[Array, Traffic]:
    return averaged_at_once(array, lines(len(array), *arguments, **options))


@fused_program(_grid)
def grid_average(
    comm: Communicator,
    vector: ArrayLike,
    cells: ArrayLike,
    M: int,
    rounds: int,
    *,
    start: int = 0,
    alive: ArrayLike | None = None,
    rule: str = "skip",
) -> Array:
    """The peers' vectors after averaging along the axes of a grid in turn, every peer in a cell that never changes.

    Parameters
    ----------
    stack : (N, n) float32 or float64
        The peers' vectors; finite.
    cells : (N, d) integers in [0, M)
        Each peer's cell; no two share one.
    M : int
        Side of the grid.
    rounds : int
        Rounds, >= 0.
    start : int
        Number of the first round: round t averages the peers that agree on all digits but digit t mod d.
    alive : (rounds, N) bool or None
        Who takes part in which round.
    rule : "skip" or "abort"
        Whether a line goes on without its failed members, or does nothing in that round.

    Returns
    -------
    result : (N, n) dtype of stack
        The vectors after the last round.
    traffic : Traffic
        With a phase for every round.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; cells of another shape, outside the grid or used twice.

    Notes
    -----
    This is how Moshpit all-reduce has been simulated in its authors' published notebook. Where N < M^d it averages
    more slowly than the algorithm itself, whose keys mix the peers anew.

    Examples
    --------
    >>> cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> grid_average([[1.0], [2.0], [3.0], [6.0]], cells, 2, 2)[0].ravel().tolist()
    [3.0, 3.0, 3.0, 3.0]
    """
    P = comm.size
    groups = comm.agreed(lambda: lines(P, cells, M, rounds, start=start, alive=alive, rule=rule))
    return averaged_in_rounds(comm, vector, groups)


def lines(
    N: int, cells: ArrayLike, M: int, rounds: int, *, start: int = 0, alive: ArrayLike | None = None, rule: str = "skip"
) -> list[Labels]:
    """The groups that `N` peers form in the rounds of `grid_average`, as `group_average` takes them."""
    M, rounds = checked_count(M, "M"), checked_count(rounds, "rounds", 0)
    start = checked_count(start, "start", 0)
    places = as_array(cells, "cells")
    if places.ndim != 2 or len(places) != N or places.shape[1] == 0:
        raise ValueError(f"cells must have shape ({N}, d), d >= 1, got {places.shape}")
    if places.dtype.kind not in "iu":
        raise TypeError(f"cells must be integers, got {places.dtype}")
    if places.min() < 0 or places.max() >= M:
        raise ValueError(f"cells must be in [0, {M}), got [{places.min()}, {places.max()}]")
    d = places.shape[1]
    weights = M ** np.arange(d - 1, -1, -1, dtype=np.int64)
    codes = places.astype(np.int64) @ weights
    if np.unique(codes).size < N:
        raise ValueError("cells must differ, got one that two peers share")
    abort, part = _aborts(rule), checked_mask(alive, (rounds, N), "alive")
    groups = []
    for t in range(rounds):
        axis = (start + t) % d
        line = codes - places[:, axis].astype(np.int64) * weights[axis]
        groups.append(np.where(part[t], line, -1))
        if abort:
            groups[t][np.isin(line, line[~part[t]])] = -1
    return groups
