"""Averaging within groups by butterfly all-reduce: what every round of Moshpit all-reduce consists of."""

from collections import Counter
from collections.abc import Callable, Sequence
from zlib import crc32

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats, Integers, Mask
from commbounds.collectives._peers import checked_mask
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator, parcel
from commbounds.collectives.ranks.one_program import fused_program
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.base import as_array, as_numbers

Labels = Integers


@njit(cache=True, nogil=True)
def _chunk_mean(stack, members, low, high, total):  # type: ignore[no-untyped-def]
    # what the owner of a chunk does: the members' values, added up in rank order, divided by their number
    for i in range(low, high):
        total[i] = 0.0
    for j in range(members.size):
        for i in range(low, high):
            total[i] += stack[members[j], i]
    scale = 1.0
    while scale * members.size >= 1.0:
        scale /= 2.0
    for i in range(low, high):
        if np.isfinite(total[i]):
            total[i] /= members.size
        else:  # the sum is beyond all floats, and the mean is not: of numbers over a power of two
            total[i] = 0.0
            for j in range(members.size):
                total[i] += stack[members[j], i] * scale
            total[i] /= members.size * scale


@njit(cache=True, nogil=True)
def _butterfly(stack, members, receives, total, out, sent, received, messages):  # type: ignore[no-untyped-def]
    # members: the peers of one group, in order; chunk c belongs to members[c]. counts: row 0 the chunks on their way
    # to their owners (reduce-scatter), row 1 the averaged chunks on their way back (all-gather)
    n, size = stack.shape[1], members.size
    for c in range(size):
        owner, low, high = members[c], c * n // size, (c + 1) * n // size
        for j in range(size):
            peer = members[j]
            if peer != owner:
                sent[0, peer] += high - low
                received[0, owner] += high - low
                messages[0, peer] += 1
        _chunk_mean(stack, members, low, high, total)
        for j in range(size):
            peer = members[j]
            if not receives[peer]:
                continue
            if peer != owner:
                sent[1, owner] += high - low
                received[1, peer] += high - low
                messages[1, owner] += 1
            for i in range(low, high):
                out[peer, i] = total[i]


@njit(cache=True, nogil=True)
def _average(stack, order, starts, receives, out, sent, received, messages):  # type: ignore[no-untyped-def]
    total = np.empty(stack.shape[1])
    for g in range(starts.size - 1):
        if starts[g + 1] - starts[g] > 1:
            members = order[starts[g] : starts[g + 1]]
            _butterfly(stack, members, receives, total, out, sent, received, messages)


def _all_ranks(array: Array, groups: ArrayLike, *, receives: ArrayLike | None = None) -> tuple[Array, Traffic]:
    P = len(array)
    return _fused(array, checked_groups(groups, P), checked_mask(receives, (P,), "receives"))


def _fused(array: Array, labels: Labels, gets: Mask) -> tuple[Array, Traffic]:
    """What `group_average` returns, of a checked stack, groups and receivers."""
    P = len(array)
    order = np.argsort(labels, kind="stable").astype(np.int64)
    order = order[np.count_nonzero(labels < 0) :]
    changes = np.flatnonzero(np.diff(labels[order])) + 1
    starts = np.concatenate(([0], changes, [order.size])) if order.size else np.zeros(1)
    counts = np.zeros((3, 2, P), np.int64)
    out = array.copy()
    _average(array, order, starts.astype(np.int64), gets, out, *counts)
    return out, Traffic.of_steps(*counts[:, counts[2].any(axis=1)])


def _mean(rows: Array) -> Array:
    """The mean of `rows`, added up in their order in float64 and rounded once."""
    size, length = rows.shape
    total = np.empty(length)
    _chunk_mean(rows, np.arange(size), 0, length, total)
    return total.astype(rows.dtype)


def combined_in_groups(
    comm: Communicator, own: Array, labels: Array, gets: Mask, combine: Callable[[Array], Array]
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
    groups, receivers = labels.tolist(), gets.tolist()
    sizes = Counter(groups)
    in_company = [group >= 0 and sizes[group] > 1 for group in groups]
    if not any(in_company):
        return own.copy()
    mine = groups[comm.rank]
    members = [peer for peer, group in enumerate(groups) if group == mine] if in_company[comm.rank] else [comm.rank]
    others = [peer for peer in members if peer != comm.rank]
    edges = [c * own.size // len(members) for c in range(len(members) + 1)]
    chunk = {peer: slice(edges[c], edges[c + 1]) for c, peer in enumerate(members)}
    arrived = comm.step({peer: parcel(own[chunk[peer]]) for peer in others}, others)
    result = own.copy()
    if others:
        part = own[chunk[comm.rank]]
        rows = [part if peer == comm.rank else comm.fitting(peer, arrived[peer], part)[0] for peer in members]
        result[chunk[comm.rank]] = combine(np.stack(rows))
    if not any(map(all, zip(in_company, receivers, strict=True))):
        return own.copy()
    outgoing = {peer: parcel(result[chunk[comm.rank]]) for peer in others if receivers[peer]}
    if not receivers[comm.rank]:
        comm.step(outgoing)
        return own.copy()
    for peer, message in comm.step(outgoing, others).items():
        (result[chunk[peer]],) = comm.fitting(peer, message, own[chunk[peer]])
    return result


@fused_program(_all_ranks)
def group_average(
    comm: Communicator, vector: ArrayLike, groups: ArrayLike, *, receives: ArrayLike | None = None
) -> Array:
    """Every peer's vector after each group has averaged its members' vectors by butterfly all-reduce.

    Parameters
    ----------
    stack : (N, n) float32 or float64
        The peers' vectors; finite.
    groups : (N,) integers
        Label of each peer's group; peers with a negative label sit out and keep their vectors.
    receives : (N,) bool or None
        Peers that get the result; the others give their vectors to the average, and keep their own.

    Returns
    -------
    result : (N, n) dtype of stack
        Members are summed in rank order in float64, divided by their number and rounded once; where the sum is beyond
        all floats, of the vectors over a power of two.
    traffic : Traffic
        Two steps: every member sends chunk c of its vector to the group's c-th member, and gets the averaged chunks
        back. A peer may send to, and receive from, all others of its group in one step. Nothing is sent to a peer
        that does not receive. Steps in which nobody sends are none.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; `groups` or `receives` of another shape or kind.

    Notes
    -----
    A group of M moves n + (M - 2) c words per member, c the size of the member's own chunk, floor(n/M) or ceil(n/M):
    2 n (M - 1)/M where M divides n.

    Examples
    --------
    >>> result, traffic = group_average([[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]], [0, 0, 1])
    >>> result.tolist(), traffic.sent.tolist()
    ([[2.0, 3.0], [2.0, 3.0], [9.0, 9.0]], [2, 2, 0])
    """
    P = comm.size
    labels, gets = comm.agreed(lambda: (checked_groups(groups, P), checked_mask(receives, (P,), "receives")))
    (own,) = agreed_row(comm, vector, lambda _: {"groups": labels.tolist(), "receives": gets.tolist()})
    return combined_in_groups(comm, own, labels, gets, _mean)


def averaged_in_rounds(
    comm: Communicator, vector: ArrayLike, groups: Sequence[Labels], gets: Sequence[Mask] | None = None
) -> Array:
    """The vector of this rank after a round in each of `groups`; each is a phase of its own.

    Parameters
    ----------
    comm : Communicator
        This rank's end.
    vector : (n,) float32 or float64
        This rank's; finite, n >= 1, and as long as the others'.
    groups : sequence of (P,) integers
        The same on all ranks.
    gets : sequence of (P,) bool, one a round, or None
        Who gets the averages; the same on all ranks.

    Returns
    -------
    (n,) dtype of vector

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, on all ranks.
    """
    settings = {"rounds": len(groups), "the checksum of who meets whom": crc32(b"".join(g.tobytes() for g in groups))}
    own: Array = agreed_row(comm, vector, lambda _: settings)[0].copy()
    for t, labels in enumerate(groups):
        comm.phase(f"round {t + 1}")
        own = group_average.on_rank(comm, own, labels, receives=None if gets is None else gets[t])
    return own


def averaged_at_once(
    array: Array, groups: Sequence[Labels], gets: Sequence[Mask] | None = None
) -> tuple[Array, Traffic]:
    """The vectors of all ranks after a round in each of `groups`, as `averaged_in_rounds` leaves them."""
    phases, everybody = {}, np.ones(len(array), np.bool_)
    result = array.copy()
    for t, labels in enumerate(groups):
        result, phases[f"round {t + 1}"] = _fused(result, labels, everybody if gets is None else gets[t])
    return result, Traffic.of_phases(phases) if phases else Traffic.none(len(array))


def checked_groups(groups: ArrayLike, P: int) -> Array:
    """`groups` as an array of one integer for each of `P` peers."""
    labels = as_array(groups, "groups")
    if labels.dtype.kind not in "iu":
        raise TypeError(f"groups must be integers, got {labels.dtype}")
    if labels.shape != (P,):
        raise ValueError(f"groups must have shape ({P},), got {labels.shape}")
    return labels


def distortion(stack: ArrayLike, about: ArrayLike | None = None) -> float:
    """The mean over peers of ``||x_i - c||^2``, where c is `about`, or the peers' mean.

    Parameters
    ----------
    stack : (N, n) float32 or float64
        The peers' vectors; finite.
    about : (n,) floats or None
        The centre; None for the current mean.

    Returns
    -------
    float
        In the squared unit of the stack; infinite where a square is beyond all floats.

    Examples
    --------
    >>> distortion([[0.0], [2.0]]), distortion([[0.0], [2.0]], about=[0.0])
    (1.0, 2.0)
    """
    array = checked_stack(stack).astype(np.float64)
    if about is None:
        return about_the_mean(array)[1]
    centre = as_numbers(about, "about", np.float64)
    if centre.shape != array.shape[1:]:
        raise ValueError(f"about must have shape {array.shape[1:]}, got {centre.shape}")
    with np.errstate(over="ignore"):
        return float(np.square(array - centre).sum(axis=1).mean())


def about_the_mean(stack: Floats) -> tuple[Floats, float]:
    """The peers' mean, and the `distortion` about it, of a checked stack."""
    mean = np.zeros(stack.shape[1])
    return mean, _about_the_mean(stack, mean)


@njit(cache=True, nogil=True)
def _about_the_mean(stack, mean):  # type: ignore[no-untyped-def]
    N, n = stack.shape
    for i in range(N):
        for j in range(n):
            mean[j] += stack[i, j]
    for j in range(n):
        mean[j] /= N
    total = 0.0
    for i in range(N):
        square = 0.0
        for j in range(n):
            gap = stack[i, j] - mean[j]
            square += gap * gap
        total += square
    return total / N
