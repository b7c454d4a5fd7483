"""Averaging over links that lose packets: a reduce-scatter of what arrives, a broadcast that leaves stale copies.

Worker j owns shard j, a consecutive part of the coordinates. In the first half every worker sends its values of
shard j to j, which estimates their mean from what arrives. In the second half j sends its new values to everybody; who
does not get them keeps the old ones. Nothing is sent twice.

Words that get lost were sent, and count as such; they were not received. So, unlike anywhere else, more is sent than
received. What is lost is decided by masks, which all ranks are given alike or draw from one seed: the sender's end of
the wire loses it, and the receiver finds nothing where it would have been. No rank asks whether it arrived.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Integers, Mask
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.packetloss.loss_processes import checked_count, checked_probability
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator, Parcel, packets
from commbounds.collectives.ranks.one_program import fused_program
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.base import as_array, checked_choice, is_finite, shown

ESTIMATORS = ("arrivals", "owner", "expected")
"""Ways to estimate a mean from what arrives."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Which worker owns a coordinate, and in which of the shard's packets it travels.

    Parameters
    ----------
    owner, packet : (n,) int64
        By coordinate; packets are counted within their shard. Not to be changed.
    packets : int
        Packets of the longest shard, at least 1.
    """

    owner: Integers
    packet: Integers
    packets: int


def layout(n: int, workers: int, packet: int | None = None) -> Layout:
    """Shards of `n` coordinates, as equal as can be, the longer ones first; cut into packets of at most `packet` words.

    Parameters
    ----------
    n, workers : int
        >= 1. With fewer coordinates than workers the last shards are empty, and nothing is sent for them.
    packet : int or None
        >= 1; None for one packet a shard, however long.

    Examples
    --------
    >>> cut = layout(7, 3, packet=2)
    >>> cut.owner
    array([0, 0, 0, 1, 1, 2, 2])
    >>> cut.packet
    array([0, 0, 1, 0, 0, 0, 0])
    """
    n, workers = checked_count(n, "n"), checked_count(workers, "workers")
    size = n if packet is None else checked_count(packet, "packet")
    return (_short_layout if n <= _SHORT else _layout)(n, workers, size)


def _layout(n: int, workers: int, size: int) -> Layout:
    lengths = np.full(workers, n // workers)
    lengths[: n % workers] += 1
    owner = np.repeat(np.arange(workers), lengths)
    place = np.arange(n) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    number = place // size
    return Layout(owner.astype(np.int64), number.astype(np.int64), int(number.max()) + 1)


_SHORT = 1 << 12
_short_layout = lru_cache(maxsize=256)(_layout)
"""Made once: a run of many steps asks for it several times in each."""


@dataclass(frozen=True, eq=False)
class Reduced:
    """What the owners have after the first half.

    Parameters
    ----------
    estimate : (n,) dtype of the stack
        Every coordinate's estimate at its owner; 0 where nothing arrived.
    arrivals : (n,) int64
        Contributions that it was made from.
    """

    estimate: Array
    arrivals: Integers


@njit(cache=True, nogil=True)
def _mean_of_arrived(stack, c, here, divisor):  # type: ignore[no-untyped-def]
    # the estimate of coordinate c from the workers that are here, and their number
    total, count = 0.0, 0
    for i in range(here.size):
        if here[i]:
            total += np.float64(stack[i, c])
            count += 1
    share = divisor if divisor > 0.0 else float(max(count, 1))
    if np.isfinite(total):
        return total / share, count
    scale = 1.0  # the sum is beyond all floats, and the mean need not be: of numbers over a power of two
    while scale * count >= 1.0:
        scale /= 2.0
    total = 0.0
    for i in range(here.size):
        if here[i]:
            total += np.float64(stack[i, c]) * scale
    return total / (share * scale), count


@njit(cache=True, nogil=True)
def _own_shard(rows, here, divisor, out, arrivals):  # type: ignore[no-untyped-def]
    # what one owner estimates: rows[i, c] is worker i's coordinate c of its shard, and has arrived where here[i, c]
    for c in range(rows.shape[1]):
        out[c], arrivals[c] = _mean_of_arrived(rows, c, here[:, c], divisor)


@njit(cache=True, nogil=True)
def _reduce(stack, arrived, owner, packet, present, divisor, out, arrivals, moved):  # type: ignore[no-untyped-def]
    # moved[0] to [3] count words sent, words received, messages and words lost; in step s rank i sends to i + s + 1
    workers, n = stack.shape
    here = np.empty(workers, np.bool_)
    for c in range(n):
        j, q = owner[c], packet[c]
        opens = c == 0 or owner[c - 1] != j or packet[c - 1] != q
        for i in range(workers):
            here[i] = arrived[i, j, q]
            if i == j:
                here[i] |= present
            else:
                step = (j - i) % workers - 1
                moved[0, step, i] += 1
                moved[1, step, j] += here[i]
                moved[2, step, i] += opens
                moved[3, step, i] += not here[i]
        out[c], arrivals[c] = _mean_of_arrived(stack, c, here, divisor)


@njit(cache=True, nogil=True)
def _broadcast(replicas, owned, arrived, owner, packet, out, moved):  # type: ignore[no-untyped-def]
    workers, n = replicas.shape
    for c in range(n):
        j, q = owner[c], packet[c]
        opens = c == 0 or owner[c - 1] != j or packet[c - 1] != q
        for i in range(workers):
            here = i == j
            if not here:
                here = arrived[j, i, q]
                step = (i - j) % workers - 1
                moved[0, step, j] += 1
                moved[1, step, i] += here
                moved[2, step, j] += opens
                moved[3, step, j] += not here
            out[i, c] = owned[c] if here else replicas[i, c]


def reduced_at_once(
    array: Array, arrived: ArrayLike, estimator: str = "arrivals", *, p: float | None = None, packet: int | None = None
) -> tuple[Reduced, Traffic]:
    """As `lossy_reduce_scatter`, of a stack that is known to be good."""
    workers, n = array.shape
    divisor = checked_divisor(estimator, p, workers)
    cut = layout(n, workers, packet)
    mask = checked_arrivals(arrived, workers, cut)
    out, arrivals = np.empty(n, array.dtype), np.empty(n, np.int64)
    moved = np.zeros((4, workers - 1, workers), np.int64)
    _reduce(array, mask, cut.owner, cut.packet, estimator == "owner", divisor, out, arrivals, moved)
    return Reduced(out, arrivals), Traffic.of_steps(*moved)


def checksum(mask: Mask | None) -> int:
    """A number that differs where masks do."""
    return crc32(b"" if mask is None else np.ascontiguousarray(mask).tobytes())


def _shard(cut: Layout, worker: int) -> slice:
    low, high = np.searchsorted(cut.owner, [worker, worker + 1]).tolist()
    return slice(low, high)


def shard_of(comm: Communicator, n: int) -> slice:
    """Where the shard of this rank lies in a vector of `n` words."""
    return _shard(layout(n, comm.size), comm.rank)


def _pieces(cut: Layout, worker: int) -> list[slice]:
    """Where the packets of a worker's shard lie, in their order."""
    shard = _shard(cut, worker)
    numbers = cut.packet[shard]
    edges = [shard.start + int(np.searchsorted(numbers, q)) for q in range(int(numbers.max(initial=-1)) + 2)]
    return [slice(low, high) for low, high in pairwise(edges)]


def _turns(comm: Communicator) -> Iterator[tuple[int, int]]:
    """To whom this rank sends in a step, and who sends to it."""
    for shift in range(1, comm.size):
        yield (comm.rank + shift) % comm.size, (comm.rank - shift) % comm.size


def _unpacked(
    comm: Communicator, source: int, message: Parcel, pieces: list[slice], start: int, row: Array, here: Mask
) -> None:
    """Put the packets that came into `row`, which begins at coordinate `start`; those that were lost come empty."""
    lengths = [p.stop - p.start if array.size else 0 for array, p in zip(message.arrays, pieces, strict=False)]
    comm.fitting(source, message, *((row.dtype, (length,)) for length in lengths))
    for array, piece in zip(message.arrays, pieces, strict=True):
        if array.size:
            place = slice(piece.start - start, piece.stop - start)
            row[place], here[place] = array, True


@fused_program(reduced_at_once)
def lossy_reduce_scatter(
    comm: Communicator,
    vector: ArrayLike,
    arrived: ArrayLike,
    estimator: str = "arrivals",
    *,
    p: float | None = None,
    packet: int | None = None,
) -> Reduced:
    """Estimates of the mean over workers, each made by its owner from what reached it.

    With S the workers whose packet arrived, the owner j of a coordinate computes

    - "arrivals": the mean of g_i over S. Its own value takes part only if ``arrived[j, j]`` says so: it goes the same
      unreliable way as the others, but no traffic is counted for it.
    - "owner": the same, with its own value always there.
    - "expected": the sum of g_i over S divided by (1 - p) N, what arrives on average; own value as for "arrivals".

    Parameters
    ----------
    stack : (N, n) float32 or float64
        Finite; row i is what worker i contributes.
    arrived : (N, N, packets) bool
        ``arrived[i, j, q]``: whether packet q of shard j, sent by i, reaches j. See `layout`.
    estimator : str
        One of `ESTIMATORS`.
    p : float or None
        Loss probability, in [0, 1); for "expected" only.
    packet : int or None
        Words in a packet; None for one packet a shard.

    Returns
    -------
    Reduced, Traffic
        Summed in rank order in float64, rounded once; a rank has its own shard, which is empty where there are fewer
        coordinates than ranks. N - 1 steps; in step s rank i sends to rank i + s + 1.

    Raises
    ------
    ValueError
        Shapes that do not fit, an unknown estimator, p missing, superfluous or out of range.
    TypeError
        A dtype that is not as above.

    Notes
    -----
    Given that something arrives, "arrivals" has the mean of the g_i as its expectation, "expected" always has it, and
    "owner" leans towards the owner's own value unless the g_i have one expectation: claims `packetloss.arrivals.*`,
    `packetloss.owner.*`, `packetloss.expected.*`.

    Examples
    --------
    >>> arrived = np.ones((3, 3, 1), bool)
    >>> arrived[2, 0, 0] = False  # what 2 sends to 0 is lost
    >>> reduced, traffic = lossy_reduce_scatter(np.array([[0.0, 3], [6, 3], [9, 3]]), arrived)
    >>> reduced.estimate
    array([3., 3.])
    >>> traffic.sent, traffic.received
    (array([1, 1, 2]), array([1, 2, 0]))
    """
    divisor = comm.agreed(lambda: checked_divisor(estimator, p, comm.size))

    def fitting(row: Array) -> dict[str, Any]:
        mask = checked_arrivals(arrived, comm.size, layout(row.size, comm.size, packet))
        return {"estimator": estimator, "p": p, "packet": packet, "the checksum of arrived": checksum(mask)}

    (own,) = agreed_row(comm, vector, fitting)
    cut, mask, shard = layout(own.size, comm.size, packet), np.asarray(arrived), shard_of(comm, own.size)
    rows = np.zeros((comm.size, shard.stop - shard.start), own.dtype)
    here = np.zeros(rows.shape, np.bool_)
    mine = _pieces(cut, comm.rank)
    for target, source in _turns(comm):
        pieces = _pieces(cut, target)
        lost = [not mask[comm.rank, target, q] for q in range(len(pieces))]
        outgoing = {target: packets([own[piece] for piece in pieces], lost)} if pieces else {}
        for message in comm.step(outgoing, [source] if mine else []).values():
            _unpacked(comm, source, message, mine, shard.start, rows[source], here[source])
    rows[comm.rank] = own[shard]
    here[comm.rank] = mask[comm.rank, comm.rank, cut.packet[shard]] | (estimator == "owner")
    estimate, arrivals = np.empty(rows.shape[1], own.dtype), np.empty(rows.shape[1], np.int64)
    _own_shard(rows, here, divisor, estimate, arrivals)
    return Reduced(estimate, arrivals)


def lossy_broadcast(
    replicas: ArrayLike, owned: ArrayLike, arrived: ArrayLike, *, packet: int | None = None
) -> tuple[Array, Traffic]:
    """The workers' copies after every owner sent its shard to everybody: new where it arrived, stale elsewhere.

    Parameters
    ----------
    replicas : (N, n) float32 or float64
        Finite; row i is worker i's copy of all coordinates, before.
    owned : (n,) dtype of replicas
        New value of every coordinate, as its owner has it; finite.
    arrived : (N, N, packets) bool
        ``arrived[j, i, q]``: whether packet q of shard j, sent by its owner j, reaches i. The diagonal does not matter.
    packet : int or None
        Words in a packet; None for one packet a shard.

    Returns
    -------
    (N, n) dtype of replicas, Traffic
        N - 1 steps; in step s rank j sends to rank j + s + 1.

    Raises
    ------
    ValueError, TypeError
        As `lossy_reduce_scatter`.

    Examples
    --------
    >>> arrived = np.ones((2, 2, 1), bool)
    >>> arrived[0, 1, 0] = False
    >>> lossy_broadcast(np.zeros((2, 2)), np.array([1.0, 2.0]), arrived)[0]
    array([[1., 2.],
           [0., 2.]])
    """
    array = checked_stack(replicas, "replicas")
    workers, n = array.shape
    new = checked_stack(as_array(owned, "owned")[None], "owned")[0]
    if new.shape != (n,) or new.dtype != array.dtype:
        raise ValueError(f"owned must be ({n},) {array.dtype} as the replicas are, got {new.shape} {new.dtype}")
    cut = layout(n, workers, packet)
    mask = checked_arrivals(arrived, workers, cut)
    out, moved = np.empty_like(array), np.zeros((4, workers - 1, workers), np.int64)
    _broadcast(array, new, mask, cut.owner, cut.packet, out, moved)
    return out, Traffic.of_steps(*moved)


def lossy_broadcast_on_rank(
    comm: Communicator, replica: ArrayLike, owned: ArrayLike, arrived: ArrayLike, *, packet: int | None = None
) -> Array:
    """The copy of this rank after every owner sent its shard; a rank's part in `lossy_broadcast`.

    Parameters
    ----------
    comm : Communicator
        This rank's end. No phase is named.
    replica : (n,) float32 or float64
        This rank's copy, before; finite, n >= 1, and as long as the others'.
    owned : dtype of replica
        New values of this rank's shard; finite.
    arrived, packet
        As there; the same on all ranks.

    Returns
    -------
    (n,) dtype of replica

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as there. On all ranks.
    """
    return broadcast(comm, replica, owned, arrived, packet)[0]


def broadcast(
    comm: Communicator, replica: ArrayLike, owned: ArrayLike, arrived: ArrayLike, packet: int | None
) -> tuple[Array, Mask]:
    """The copy of this rank, and which of its coordinates are new."""
    new = np.asarray(owned)

    def fitting(row: Array) -> dict[str, Any]:
        size = shard_of(comm, row.size)
        if new.shape != (size.stop - size.start,) or new.dtype != row.dtype:
            expected = f"({size.stop - size.start},) {row.dtype}"
            raise ValueError(f"owned must be {expected} as the replica's shard is, got {new.shape} {new.dtype}")
        if not is_finite(new):
            raise ValueError("owned must be finite, got NaN or infinity")
        mask = checked_arrivals(arrived, comm.size, layout(row.size, comm.size, packet))
        return {"packet": packet, "the checksum of arrived": checksum(mask)}

    result: Array = agreed_row(comm, replica, fitting, "replica")[0].copy()
    cut, mask, shard = layout(result.size, comm.size, packet), np.asarray(arrived), shard_of(comm, result.size)
    fresh = np.zeros(result.shape, np.bool_)
    result[shard], fresh[shard] = new, True
    mine = _pieces(cut, comm.rank)
    for target, source in _turns(comm):
        lost = [not mask[comm.rank, target, q] for q in range(len(mine))]
        outgoing = {target: packets([result[piece] for piece in mine], lost)} if mine else {}
        pieces = _pieces(cut, source)
        for message in comm.step(outgoing, [source] if pieces else []).values():
            _unpacked(comm, source, message, pieces, 0, result, fresh)
    return result, fresh


def checked_divisor(estimator: str, p: float | None, workers: int) -> float:
    """What the estimator divides by; 0 for the number of contributions that arrived."""
    checked_choice("estimator", estimator, tuple(ESTIMATORS))
    if (p is not None) != (estimator == "expected"):
        raise ValueError(f"p is needed by the estimator 'expected' and by no other, got p={shown(p)} for {estimator!r}")
    if p is None:
        return 0.0
    if checked_probability(p) == 1.0:
        raise ValueError(f"p must be below 1, got {p}: nothing arrives, and there is nothing to divide by")
    return (1.0 - float(p)) * workers


def checked_arrivals(arrived: ArrayLike, workers: int, cut: Layout, name: str = "arrived") -> Mask:
    """`arrived` as a (workers, workers, packets) array of bool."""
    mask = as_array(arrived, name)
    if mask.dtype != np.bool_:
        raise TypeError(f"{name} must be bool, got {mask.dtype}")
    if mask.shape != (workers, workers, cut.packets):
        raise ValueError(
            f"{name} must be (workers, workers, packets) = {(workers, workers, cut.packets)}, got shape {mask.shape}"
        )
    return np.ascontiguousarray(mask)
