"""Balance and all-gather: the sums that pass the global threshold reach every rank."""

from typing import Any

import numpy as np
from numba import njit

from commbounds.array_types import Integers
from commbounds.collectives.dense.gathering import gathered_blocks
from commbounds.collectives.traffic import Traffic

BALANCE = ("always", "never", "4x-mean")


@njit(cache=True, nogil=True)
def _part(held, targets, source, target):  # type: ignore[no-untyped-def]
    # what source has of the winners that target is to hold: from start up to stop, where stop exceeds it
    return max(held[source], targets[target]), min(held[source + 1], targets[target + 1])


@njit(cache=True, nogil=True)
def _exchange(held, targets, sent, received, messages):  # type: ignore[no-untyped-def]
    # the winners stay in their order; rank p's are those from held[p] to held[p + 1], and become those from targets[p]
    # to targets[p + 1]. In round s rank p sends to rank p + s what of its own rank p + s is to hold.
    P = held.size - 1
    for shift in range(1, P):
        for p in range(P):
            target = (p + shift) % P
            start, stop = _part(held, targets, p, target)
            if stop > start:
                sent[shift - 1, p] += 2 * (stop - start)
                received[shift - 1, target] += 2 * (stop - start)
                messages[shift - 1, p] += 1


def gathered_sizes(P: int, allgather: str) -> Traffic:
    """The traffic of telling all ranks one number of each."""
    return gathered_blocks((1,) * P, allgather)


def evened_out(winners: Integers, balance: str) -> bool:
    """Whether the winners, so many on every rank, are spread evenly under the rule `balance`."""
    exceeds = int(winners.max()) * winners.size > 4 * int(winners.sum())
    return balance == "always" or (balance == "4x-mean" and exceeds)


def equal_shares(winners: Integers) -> tuple[Integers, Integers, Integers]:
    """Equal shares of the winners, the larger ones first, and where the ranks' parts begin before and after."""
    P, total = winners.size, int(winners.sum())
    shares = total // P + (np.arange(P) < total % P)
    held, targets = (np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64) for sizes in (winners, shares))
    return shares, held, targets


def moved_part(held: Integers, targets: Integers, source: int, target: int) -> range:
    """Which of the winners `source` has and `target` is to hold, as numbers in the order of all; perhaps none."""
    start, stop = _part(held, targets, source, target)
    return range(int(start), max(int(start), int(stop)))


def balanced(winners: Integers) -> tuple[Integers, Traffic]:
    """Equal shares of the winners, the larger ones first, and the traffic of making them so.

    Who holds how many is known: an empty part is no message, and a round without a message is no step.
    """
    P = winners.size
    shares, held, targets = equal_shares(winners)
    counts: Any = np.zeros((3, P - 1, P), np.int64)
    _exchange(held, targets, counts[0], counts[1], counts[2])
    nonempty = counts[2].any(axis=1)
    return shares, Traffic.of_steps(*counts[:, nonempty])


def winners_traffic(winners: Integers, balance: str, allgather: str) -> tuple[Traffic, Traffic]:
    """The traffic of balancing the winners, where the rule says so, and of gathering them.

    Parameters
    ----------
    winners : (P,) int64
        Entries that every rank holds.
    balance : str
        "always", "never", or "4x-mean": if some rank holds more than four times the mean.
    allgather : str
        Algorithm of the all-gather.
    """
    P = winners.size
    moved = Traffic.none(P)
    if evened_out(winners, balance):
        winners, moved = balanced(winners)
    return moved, gathered_blocks(tuple((2 * winners).tolist()), allgather)
