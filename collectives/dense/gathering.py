"""How blocks travel until every rank has all of them: all-gather of blocks of any sizes, counted."""

from functools import lru_cache

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Integers, Mask
from commbounds.collectives.dense.messages import gather_messages
from commbounds.collectives.traffic import Traffic, unwritable
from commbounds.compressors.base import as_array


def gather_blocks(sizes: ArrayLike, algorithm: str = "ring") -> Traffic:
    """The traffic of an all-gather of one block from every rank, of which only the sizes matter.

    The blocks' movements are replayed, message by message: who has which block before a step decides what it can send.

    Parameters
    ----------
    sizes : (P,) array_like of int
        Words in the block of every rank; none negative, P >= 1, and P times their sum below 2^63.
    algorithm : {"ring", "recursive-doubling", "bruck"}
        Ring: P - 1 steps of one block. Bruck: ceil(log2 P) steps for any P. Recursive doubling: log2 P steps; two more
        where P is no power of two, see Notes.

    Returns
    -------
    Traffic
        Every rank receives every block but its own exactly once. An empty block is sent all the same.

    Raises
    ------
    TypeError
        `sizes` are no integers.
    ValueError
        `sizes` is no vector, is empty, or holds a negative or too large number; there is no such algorithm.

    Notes
    -----
    Recursive doubling when P is no power of two: P' is the largest power of two below P. Of the first 2 (P - P') ranks,
    every odd one first sends its block to the even one before it, and at last receives all other blocks from it;
    in between, the P' other ranks double.

    Examples
    --------
    >>> traffic = gather_blocks([3, 0, 1, 1], "bruck")
    >>> traffic.received.tolist(), traffic.sent.tolist()
    ([2, 5, 4, 4], [6, 1, 3, 5])
    >>> traffic.steps, traffic.critical_path
    (2, 7)
    """
    return Traffic.of_steps(*gather_counts(_checked_sizes(sizes), algorithm))


@lru_cache(maxsize=1 << 10)
def gathered_blocks(sizes: tuple[int, ...], algorithm: str) -> Traffic:
    """As `gather_blocks`, of sizes that come again and again; not to be changed."""
    return unwritable(gather_blocks(np.array(sizes, np.int64), algorithm))


def _checked_sizes(sizes: ArrayLike) -> Integers:
    given = as_array(sizes, "sizes")
    if given.ndim != 1 or given.size == 0:
        raise ValueError(f"sizes must be a vector with one entry for every rank, got shape {given.shape}")
    if given.dtype.kind not in "iu":
        raise TypeError(f"sizes must be integers, got {given.dtype}")
    plain = [int(v) for v in given]
    if min(plain) < 0:
        raise ValueError(f"sizes must not be negative, got {min(plain)}")
    if given.size * sum(plain) >= 2**63:
        raise ValueError(f"sizes must add up to less than 2^63 / P, got {sum(plain)}")
    return given.astype(np.int64)


def gather_counts(words: Integers, algorithm: str) -> Integers:
    """Words sent, words received and messages of an all-gather of blocks of so many `words`: (3, steps, P)."""
    return _replayed(words, gather_messages(words.size, algorithm))[0]


def _replayed(words: Integers, messages: Integers) -> tuple[Integers, Mask]:
    """The counts, and which rank (row) has which block (column) at the end."""
    P = words.size
    steps = int(messages[-1, 0]) + 1 if len(messages) else 0
    held = np.eye(P, dtype=np.bool_)
    counts = np.zeros((3, steps, P), np.int64)
    _replay(words, messages, held, counts[0], counts[1], counts[2])
    return counts, held


@njit(cache=True, nogil=True)
def _replay(words, messages, held, sent, received, count):  # type: ignore[no-untyped-def]
    # what is sent in a step was there before it, so all messages of a step are taken out before any is delivered
    P = words.size
    out = np.zeros((P, P), np.bool_)
    start = 0
    while start < messages.shape[0]:
        step = messages[start, 0]
        stop = start
        while stop < messages.shape[0] and messages[stop, 0] == step:
            source = messages[stop, 1]
            for i in range(messages[stop, 4]):
                block = (messages[stop, 3] + i) % P
                out[source, block] = held[source, block]
                if held[source, block]:
                    sent[step, source] += words[block]
            count[step, source] += 1
            stop += 1
        for m in range(start, stop):
            source, target = messages[m, 1], messages[m, 2]
            for i in range(messages[m, 4]):
                block = (messages[m, 3] + i) % P
                if out[source, block]:
                    out[source, block] = False
                    held[target, block] = True
                    received[step, target] += words[block]
        start = stop
