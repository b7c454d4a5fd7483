"""What a worker does over links that lose packets: it owns a shard, and lives on what arrives.

What is lost is decided by masks, which all ranks are given alike or draw from one seed: the sender's end of the wire
loses it, counted as sent, and the receiver finds nothing where it would have been. No rank asks whether it arrived.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives.packetloss.links import (
    Layout,
    Reduced,
    _own_shard,
    checked_arrivals,
    checked_divisor,
    layout,
)
from commbounds.collectives.packetloss.loss_processes import Mask
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator, packets

__all__ = ["broadcast", "checksum", "lossy_broadcast", "lossy_reduce_scatter", "shard_of"]

Array = NDArray[Any]


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


def lossy_reduce_scatter(
    comm: Communicator,
    vector: ArrayLike,
    arrived: ArrayLike,
    estimator: str = "arrivals",
    *,
    p: float | None = None,
    packet: int | None = None,
) -> Reduced:
    """The estimate that this rank makes of its shard; the twin of `commbounds.collectives.lossy_reduce_scatter`.

    Parameters
    ----------
    comm : Communicator
        This rank's end. No phase is named.
    vector : (n,) float32 or float64
        What this rank contributes; finite, n >= 1, and as long as the others'.
    arrived, estimator, p, packet
        As for the twin; the same on all ranks.

    Returns
    -------
    Reduced
        Of this rank's shard alone, which is empty where there are fewer coordinates than ranks.

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as the twin. On all ranks.
    """
    divisors: list[float] = []

    def fitting(row: Array) -> dict[str, Any]:
        divisors.append(checked_divisor(estimator, p, comm.size))
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
            _unpacked(message.arrays, mine, shard.start, rows[source], here[source])
    rows[comm.rank] = own[shard]
    here[comm.rank] = mask[comm.rank, comm.rank, cut.packet[shard]] | (estimator == "owner")
    estimate, arrivals = np.empty(rows.shape[1], own.dtype), np.empty(rows.shape[1], np.int64)
    _own_shard(rows, here, divisors[0], estimate, arrivals)
    return Reduced(estimate, arrivals)


def _unpacked(arrays: tuple[Array, ...], pieces: list[slice], start: int, row: Array, here: Mask) -> None:
    """Put the packets that came into `row`, which begins at coordinate `start`; those that were lost come empty."""
    for array, piece in zip(arrays, pieces, strict=True):
        if array.size:
            place = slice(piece.start - start, piece.stop - start)
            row[place], here[place] = array, True


def lossy_broadcast(
    comm: Communicator, replica: ArrayLike, owned: ArrayLike, arrived: ArrayLike, *, packet: int | None = None
) -> Array:
    """The copy of this rank after every owner sent its shard; the twin of `commbounds.collectives.lossy_broadcast`.

    Parameters
    ----------
    comm : Communicator
        This rank's end. No phase is named.
    replica : (n,) float32 or float64
        This rank's copy, before; finite, n >= 1, and as long as the others'.
    owned : dtype of replica
        New values of this rank's shard; finite.
    arrived, packet
        As for the twin; the same on all ranks.

    Returns
    -------
    (n,) dtype of replica

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as the twin. On all ranks.
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
        if not np.isfinite(new).all():
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
            _unpacked(message.arrays, pieces, 0, result, fresh)
    return result, fresh
