"""What a peer does in gossip and push-sum: it sends to its neighbours, and waits for those that reach it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives.gossip.mixing import _add, _share, partners, working_links
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator, packets

__all__ = ["gossip", "push_sum"]

Array = NDArray[Any]
Mask = NDArray[np.bool_]
Peers = NDArray[np.int64]


def gossip(
    comm: Communicator,
    vector: ArrayLike,
    topology: str,
    rounds: int = 1,
    *,
    start: int = 0,
    alive: ArrayLike | None = None,
    missing: str = "self",
) -> Array:
    """The vector of this rank after some rounds; the twin of `commbounds.collectives.gossip.mixing`.

    Parameters
    ----------
    comm : Communicator
        This rank's end. No phase is named.
    vector : (n,) float32 or float64
        This rank's; finite, n >= 1, and as long as the others'.
    topology, rounds, start, alive, missing
        As for the twin; the same on all ranks.

    Returns
    -------
    (n,) dtype of vector

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as the twin. On all ranks.
    """
    P = comm.size
    talks = comm.agreed(lambda: list(partners(P, topology, rounds, start=start, alive=alive, missing=missing)))
    own: Array = agreed_row(comm, vector, lambda _: {**_plain(talks), "missing": missing})[0].copy()
    for targets, there in talks:
        reached = there[:, np.newaxis] & there[targets]
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


def push_sum(
    comm: Communicator,
    vector: ArrayLike,
    topology: str,
    rounds: int = 1,
    weight: float = 1.0,
    *,
    start: int = 0,
    delivered: list[Any] | Mask | None = None,
    lost: str = "kept",
) -> tuple[Array, float]:
    """The sum and the weight of this rank after some rounds; the twin of `commbounds.collectives.push_sum`.

    Parameters
    ----------
    comm : Communicator
        This rank's end. No phase is named.
    vector : (n,) float32 or float64
        This rank's sum; finite, n >= 1, and as long as the others'.
    topology, rounds, start, delivered, lost
        As for the twin; the same on all ranks.
    weight : float
        This rank's; positive.

    Returns
    -------
    (n,) float64, float

    Raises
    ------
    TypeError, ValueError
        As `agreed_row`, and as the twin. On all ranks.
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
    return {source: iter(message.arrays) for source, message in arrived.items()}


def _links_to(rank: int, targets: Peers) -> list[tuple[int, int]]:
    """The links that end at `rank`, as their sender and its number: by number, then by sender."""
    return [(sender, h) for h in range(targets.shape[1]) for sender in np.flatnonzero(targets[:, h] == rank).tolist()]


def _senders(rank: int, targets: Peers, works: Mask, kept: bool) -> list[int]:
    """Whose shares `rank` adds up, one after another: those that reach it, and its own that it may keep."""
    mine = [(rank, h) for h in range(targets.shape[1]) if kept and not works[rank, h]]
    reaching = [(sender, h) for sender, h in _links_to(rank, targets) if works[sender, h]]
    return [sender for sender, _ in sorted(mine + reaching, key=lambda link: (link[1], link[0]))]
