"""Who sends which blocks to whom, and when: the messages of an all-gather, one row each.

A vector is cut in P blocks, block r being rank r's. A row is (step, source, target, first, count): in `step`, `source`
sends to `target` the `count` blocks first, first + 1, ..., counted modulo P. Rows are in the order of their steps, and
the messages of a step happen at once. No rank sends or receives more than one message in a step, and none receives a
block that it has.

A reduce-scatter is an all-gather run backwards: who received sends, and what was copied is added.
"""

from functools import lru_cache

import numpy as np

from commbounds.array_types import Integers
from commbounds.compressors.base import checked_choice

Messages = Integers
"""(M, 5): step, source, target, first block, number of blocks."""
ALGORITHMS = ("ring", "recursive-doubling", "bruck")
"""Of all-gathers and reduce-scatters."""


def _rows(*columns: object) -> Messages:
    """Columns that broadcast against each other, as rows."""
    full = np.broadcast_arrays(*(np.asarray(c, np.int64) for c in columns))
    return np.stack([c.ravel() for c in full], axis=1)


def ring(P: int, direction: int = 1) -> Messages:
    """P - 1 steps: every rank passes on to its neighbour the block that it received last; its own to begin with."""
    step, rank = np.arange(P - 1)[:, None], np.arange(P)
    return _rows(step, rank, (rank + direction) % P, (rank - direction * step) % P, 1)


def bruck(P: int) -> Messages:
    """ceil(log2 P) steps, any P: in step j, rank r sends min(2^j, P - 2^j) blocks, r's and on, to rank r - 2^j."""
    rank = np.arange(P)
    steps = range((P - 1).bit_length())
    rows = [_rows(j, rank, (rank - 2**j) % P, rank, min(2**j, P - 2**j)) for j in steps]
    return np.concatenate([np.empty((0, 5), np.int64), *rows])


def direct(P: int) -> Messages:
    """P - 1 steps: in step s = 1, 2, ..., rank r sends its own block to rank r + s."""
    shift, rank = np.arange(1, P)[:, None], np.arange(P)
    return _rows(shift - 1, rank, (rank + shift) % P, rank, 1)


def core_size(P: int) -> int:
    """The largest power of two that is no larger than `P`."""
    return 1 << (P.bit_length() - 1)


def first_of_core(P: int) -> Integers:
    """Where every member of the core stands among the ranks; P itself behind the last.

    The first 2 (P - P') ranks, P' = `core_size`, are folded in pairs: an even rank is in the core, and speaks for the
    odd one behind it. All ranks that follow are in the core. So what some neighbours in the core hold lies together.
    """
    core = core_size(P)
    member = np.arange(core + 1)
    return member + np.minimum(member, P - core)


def doubling(P: int) -> Messages:
    """log2 P steps for P = 2^m: in step j, ranks r and r xor 2^j exchange all that they have.

    For other P, P' ranks do so (`first_of_core`), in between two more steps: at first the P - P' others send their
    block to the rank that speaks for them, at last they receive all blocks but their own from it.
    """
    core, first = core_size(P), first_of_core(P)
    odd = np.arange(1, 2 * (P - core), 2)
    member = np.arange(core)
    rows = [_rows(0, odd, odd - 1, odd, 1)]
    fold = int(odd.size > 0)
    doublings = core.bit_length() - 1
    for j in range(doublings):
        start = member >> j << j
        blocks = first[start + 2**j] - first[start]
        rows.append(_rows(fold + j, first[member], first[member ^ 2**j], first[start], blocks))
    rows.append(_rows(fold + doublings, odd - 1, odd, (odd + 1) % P, P - 1))
    return np.concatenate(rows)


def backwards(messages: Messages) -> Messages:
    """The messages of the reduce-scatter that undoes the all-gather: last step first, targets send to sources."""
    turned = messages[::-1, [0, 2, 1, 3, 4]].copy()
    if turned.size:
        turned[:, 0] = messages[-1, 0] - turned[:, 0]
    return turned


def ring_scatter(P: int) -> Messages:
    """P - 1 steps: block b goes from rank b + 1 once round to rank b; the ring run backwards, and that way round."""
    return backwards(ring(P, -1))


Rows = list[list[int]]


def of_rank(messages: Messages, rank: int) -> list[tuple[Rows, Rows]]:
    """What a rank sends and what it receives in every step, as rows of `messages`; none where it pauses."""
    steps = int(messages[-1, 0]) + 1 if len(messages) else 0
    found: list[tuple[Rows, Rows]] = [([], []) for _ in range(steps)]
    for row in messages[(messages[:, 1:3] == rank).any(axis=1)].tolist():
        step, source, target, _, _ = row
        if source == rank:
            found[step][0].append(row)
        if target == rank:
            found[step][1].append(row)
    return found


def gather_messages(P: int, algorithm: str) -> Messages:
    """The messages of the all-gather of that name; made once: not to be changed.

    Raises
    ------
    TypeError, ValueError
        There is no such algorithm.
    """
    return _gather_messages(P, checked_choice("algorithm", algorithm, ALGORITHMS))


@lru_cache(maxsize=256)
def _gather_messages(P: int, algorithm: str) -> Messages:
    return {"ring": ring, "recursive-doubling": doubling, "bruck": bruck}[algorithm](P)


@lru_cache(maxsize=256)
def gather_steps(P: int, algorithm: str) -> list[list[tuple[Rows, Rows]]]:
    """For every rank what is its own of `gather_messages`, as `of_rank` orders it; made once: not to be changed."""
    return [of_rank(gather_messages(P, algorithm), rank) for rank in range(P)]


def scatter_messages(P: int, algorithm: str) -> Messages:
    """As `gather_messages`, of the reduce-scatter."""
    return _scatter_messages(P, checked_choice("algorithm", algorithm, ALGORITHMS))


@lru_cache(maxsize=256)
def _scatter_messages(P: int, algorithm: str) -> Messages:
    if algorithm == "ring":
        return ring_scatter(P)
    return backwards(doubling(P) if algorithm == "recursive-doubling" else bruck(P))
