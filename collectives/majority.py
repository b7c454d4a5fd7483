"""Sign SGD's majority vote: ballots of a bit an entry, through a server, through shards of it, or gathered by all."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.array_types import Array, Mask
from commbounds.collectives._peers import checked_mask, checked_rng
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.on_rank import Block, gathered
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row, checksum
from commbounds.collectives.ranks.communicator import Communicator, Parcel, parcel
from commbounds.collectives.ranks.one_program import one_program

Ballot = NDArray[np.int8]
Coins = Mask

WAYS = ("server", "shards", "all-gather")
"""Who counts the ballots: rank 0; the owner of each block; everybody."""
ZEROS = ("plus", "coin", "abstain")
"""What becomes of an entry that is zero, and of a tie: +1; a fair coin's side; 0, so that ballots take two bits."""


@one_program(np.stack)
def majority_vote(
    comm: Communicator,
    vector: ArrayLike,
    way: str = "server",
    zeros: str = "plus",
    rng: np.random.Generator | None = None,
    *,
    coins: ArrayLike | None = None,
) -> Array:
    """The sign of the sum of the ranks' signs, entry by entry, on every rank.

    v_i = sign(sum_p sign(x_pi)) (Bernstein et al. 2018, arXiv:1802.04434; Algorithm 1 of arXiv:1810.05291 without
    momentum).

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite.
    way : {"server", "shards", "all-gather"}
        server: all ballots go to rank 0, which votes too, and the vote comes back. shards: rank p is the server of the
        p-th of P blocks of entries, of which the first n mod P are one entry longer. all-gather: ballots go round a
        ring, and everybody counts.
    zeros : {"plus", "coin", "abstain"}
        What is voted for an entry that is zero, and what a tie becomes: +1, as in the authors' code of 2019; the side
        of a fair coin; 0, as Algorithm 1 has it.
    rng : numpy.random.Generator or None
        Required for "coin", where `coins` are not given: they are ``rng.integers(0, 2, (P + 1, n), dtype=bool)``.
    coins : (P + 1, n) bool or None
        In place of `rng`: in row p the votes of rank p for its zeros, in the last row those for ties; true is +1.

    Returns
    -------
    votes : (P, n) dtype of stack
        -1, 0 or 1; the same on every rank. For P = 1 the signs.
    traffic : Traffic
        In bytes: eight ballots in a byte, or four where they may abstain; an incomplete byte counts. Phases ballots and
        votes; all-gather has ballots alone. In a step of the server, and of shards, a rank sends to many. Empty blocks
        send messages without bytes. For P = 1 nothing is sent.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; an unknown way or rule for zeros; no generator where one is needed; coins of another
        shape, or for another rule.

    Notes
    -----
    A positive factor of any rank changes nothing. -0.0 is zero. Not a contraction: the majority may be against the sum.

    Examples
    --------
    >>> votes, traffic = majority_vote([[0.1, -2.0], [3.0, -1.0], [-9.0, 5.0]])
    >>> votes[0].tolist(), traffic.sent.tolist()
    ([1.0, -1.0], [2, 1, 1])
    """

    def settings(row: Array) -> dict[str, Any]:
        _checked_rules(way, zeros)
        return {"way": way, "zeros": zeros}

    (x,) = agreed_row(comm, vector, settings)
    chosen = comm.common(lambda: _coins(comm.size, x.size, way, zeros, rng, coins))
    if chosen is not None and not comm.one_caller:
        agreed_alike(comm, {"the checksum of the coins": checksum(chosen)})
    own = _ballot(x, zeros, None if chosen is None else chosen[comm.rank])
    ties = None if chosen is None else chosen[-1]
    vote = {"server": _by_server, "shards": _by_shards, "all-gather": _by_all}[way](comm, own, zeros, ties)
    return vote.astype(x.dtype)


def _checked_rules(way: str, zeros: str) -> None:
    for name, value, known in (("way", way, WAYS), ("zeros", zeros, ZEROS)):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def _coins(
    P: int, n: int, way: str, zeros: str, rng: np.random.Generator | None, coins: ArrayLike | None
) -> Coins | None:
    """A coin for every entry of every rank, and of the vote; None where none is tossed."""
    _checked_rules(way, zeros)
    if zeros != "coin":
        if coins is not None:
            raise ValueError(f"coins must be None unless zeros are decided by coin, got zeros={zeros!r}")
        return None
    if coins is not None:
        return checked_mask(coins, (P + 1, n), "coins")
    return checked_rng(rng, "tossing coins").integers(0, 2, (P + 1, n), dtype=np.bool_)


def _ballot(x: Array, zeros: str, coins: Coins | None) -> Ballot:
    """The signs of `x`, its zeros decided: of numbers of a vector, and of sums of ballots alike."""
    signs = np.sign(x).astype(np.int8)
    if zeros == "plus":
        signs[signs == 0] = 1
    elif coins is not None:
        signs = np.where(signs == 0, np.where(coins, 1, -1), signs).astype(np.int8)
    return signs


def _packed(ballot: Ballot, zeros: str) -> Array:
    """Eight ballots in a byte; with abstentions a plane of bits for +1, then one for -1."""
    planes = [ballot > 0] if zeros != "abstain" else [ballot > 0, ballot < 0]
    return np.packbits(np.concatenate(planes))


def _unpacked(comm: Communicator, source: int, sent: Parcel | Block, n: int, zeros: str) -> Ballot:
    (message,) = comm.fitting(source, sent, (np.uint8, (-(-(2 if zeros == "abstain" else 1) * n // 8),)))
    if zeros != "abstain":
        return 2 * np.unpackbits(message, count=n).view(np.int8) - np.int8(1)
    bits = np.unpackbits(message, count=2 * n).view(np.int8)
    return bits[:n] - bits[n:]


def _decided(ballots: list[Ballot], zeros: str, ties: Coins | None) -> Ballot:
    """The vote."""
    total = np.zeros(ballots[0].size, np.int64)
    for ballot in ballots:
        total += ballot
    return _ballot(total, zeros, ties)


def _by_server(comm: Communicator, own: Ballot, zeros: str, ties: Coins | None) -> Ballot:
    others = range(1, comm.size)
    comm.phase("ballots")
    if comm.rank:
        comm.step({0: parcel(_packed(own, zeros))})
        comm.phase("votes")
        return _unpacked(comm, 0, comm.step(sources=[0])[0], own.size, zeros)
    arrived = comm.step(sources=others) if others else {}
    vote = _decided([own, *(_unpacked(comm, r, part, own.size, zeros) for r, part in arrived.items())], zeros, ties)
    comm.phase("votes")
    if others:
        message = parcel(_packed(vote, zeros))
        comm.step(dict.fromkeys(others, message))
    return vote


def _by_shards(comm: Communicator, own: Ballot, zeros: str, ties: Coins | None) -> Ballot:
    cuts = comm.shared(lambda: list(pairwise(even_cuts(own.size, comm.size).tolist())))
    blocks = [own[start:stop] for start, stop in cuts]
    mine = blocks[comm.rank]
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    comm.phase("ballots")
    arrived = comm.step({rank: parcel(_packed(blocks[rank], zeros)) for rank in others}, others) if others else {}
    ballots = [mine, *(_unpacked(comm, r, part, mine.size, zeros) for r, part in arrived.items())]
    part_of_ties = None if ties is None else ties[slice(*cuts[comm.rank])]
    vote = _decided(ballots, zeros, part_of_ties)
    comm.phase("votes")
    message = parcel(_packed(vote, zeros))
    arrived = comm.step(dict.fromkeys(others, message), others) if others else {}

    def joined() -> Ballot:
        held = {r: _unpacked(comm, r, part, blocks[r].size, zeros) for r, part in arrived.items()} | {comm.rank: vote}
        return np.concatenate([held[rank] for rank in range(comm.size)])

    return comm.shared(joined)


def _by_all(comm: Communicator, own: Ballot, zeros: str, ties: Coins | None) -> Ballot:
    comm.phase("ballots")
    messages = gathered(comm, (_packed(own, zeros),))
    return comm.shared(
        lambda: _decided([_unpacked(comm, r, part, own.size, zeros) for r, part in enumerate(messages)], zeros, ties)
    )


COLLECTIVES = {"majority_vote": majority_vote}
"""What is run and counted here, by name."""
