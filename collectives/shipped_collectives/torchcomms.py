"""torchcomms' quantised reduce-scatter: float32 is rounded to bfloat16 by 16 bits of Philox."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Bytes
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.ranks._agreement import agreed_row, checksum
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.shipped_collectives.exchange import exchanged
from commbounds.compressors.base import checked_count

KEYS, FACTORS, ROUNDS = (0x9E3779B9, 0xBB67AE85), (0xD2511F53, 0xCD9E8D57), 7
"""What the keys grow by every round, what counters are multiplied with, and the rounds of Philox 4x32."""
_LOW = np.uint64(0xFFFFFFFF)


def philox(key: int, counters: ArrayLike) -> Array:
    """(n, 4) uint32: Philox 4x32 of 7 rounds, of a key of 64 bits and n counters of 64 bits."""
    first = np.asarray(counters, np.uint64)
    c = [first & _LOW, first >> np.uint64(32), np.zeros_like(first), np.zeros_like(first)]
    keys = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(ROUNDS):
        a, b = (np.uint64(factor) * word for factor, word in zip(FACTORS, (c[0], c[2]), strict=True))
        high = b >> np.uint64(32) ^ c[1] ^ np.uint64(keys[0]), a >> np.uint64(32) ^ c[3] ^ np.uint64(keys[1])
        c = [high[0], b & _LOW, high[1], a & _LOW]
        keys = [(k + more) & 0xFFFFFFFF for k, more in zip(keys, KEYS, strict=True)]
    return np.stack(c, axis=-1).astype(np.uint32)


def words_of(key: int, first: int, count: int) -> Array:
    """The words of 16 bits of `count` elements from number `first` on, of which eight share a counter."""
    elements = np.arange(first, first + count, dtype=np.uint64)
    drawn = philox(key, elements // np.uint64(8)).astype("<u4").view("<u2")
    return drawn[np.arange(count), (elements % np.uint64(8)).astype(np.intp)].astype(np.uint32)


def rounded_by_words(x: Array, words: Array) -> Array:
    """Float32 numbers to bfloat16: the upper half of the sum of their bits and a word; what is not finite is kept."""
    bits = x.view(np.uint32)
    up = bits + (words.astype(np.uint32) & np.uint32(0xFFFF))
    return (np.where(np.isfinite(x), up, bits) & np.uint32(0xFFFF0000)).view(np.float32)


def _checked_words(words: ArrayLike, shape: tuple[int, int]) -> Array:
    given = np.asarray(words)
    if given.shape != shape or given.dtype.kind not in "iu":
        raise ValueError(f"words must be integers of the shape {shape}, got {given.dtype} of {given.shape}")
    if given.size and (given.min() < 0 or given.max() > 0xFFFF):
        raise ValueError(f"words must be in [0, 65535], got {given.min()} to {given.max()}")
    return given


@one_program(np.stack)
def torchcomms_reduce_scatter(
    comm: Communicator, vector: ArrayLike, key: int = 0, *, words: ArrayLike | None = None
) -> Array:
    """Every rank's part of the sum as torchcomms' `reduce_scatter_quantized` computes it: what is sent is bfloat16.

    A word of 16 bits is added to the bits of a number of float32, and their lower half is cut off: with all words alike
    probable, numbers are rounded up with the share of a step that they lie above the lower one. Element i of rank p has
    the half (p n + i) mod 8 of what Philox 4x32 with 7 rounds makes of the counter floor((p n + i)/8). A rank adds to
    its own part, which is not rounded, those of the ranks behind it in turn, in float32.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite; P divides n. Float64 is rounded to float32.
    key : int
        Of Philox, 64 bits: the source's seed.
    words : (P, n) integers, or None
        In [0, 65535], in place of Philox's, the same on all ranks; rank p reads row p.

    Returns
    -------
    sums : (P, n/P) dtype of stack
        In row p the sums that rank p ends with. Finite numbers above the largest of bfloat16 may become infinite, and
        so may sums.
    traffic : Traffic
        In bytes, two an entry: one step, in which everyone sends every other its part; none for P = 1.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; entries that P does not divide; another key; other words.

    Notes
    -----
    One channel of the source; of several, every one begins at another rank. The rounding is that of its program, which
    processors before Blackwell use; of an instruction that later ones have, the source says nothing more.

    Examples
    --------
    >>> stack = [[1.0, 2.0], [1.00390625, 2.0]]
    >>> [torchcomms_reduce_scatter(stack, words=np.full((2, 2), word))[0][0].tolist() for word in (0, 32768)]
    [[2.0], [2.0078125]]
    """
    P = comm.size

    def settings(row: Array) -> dict[str, Any]:
        if row.size % P:
            raise ValueError(f"stack must have a multiple of {P} entries, got {row.size}")
        return {"key": checked_count("key", key, 0, 2**64 - 1), "words": checksum(words)}

    (row,) = agreed_row(comm, vector, settings)
    drawn = None if words is None else comm.common(lambda: _checked_words(words, (P, row.size)))
    part = row.size // P
    with np.errstate(over="ignore"):
        x = row.astype(np.float32)

    def sent(to: int) -> Bytes:
        at = slice(to * part, (to + 1) * part)
        own = words_of(key, comm.rank * row.size + to * part, part) if drawn is None else drawn[comm.rank, at]
        upper: Bytes = (rounded_by_words(x[at], own).view(np.uint32) >> 16).astype("<u2").view(np.uint8)
        return upper

    arrived = exchanged(comm, [sent(to) for to in range(P)], [2 * part] * P)
    total = x[comm.rank * part : (comm.rank + 1) * part].copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for hop in range(1, P):
            codes = arrived[(comm.rank + hop) % P].copy().view("<u2")
            total = total + (codes.astype(np.uint32) << np.uint32(16)).view(np.float32)
    sums: Array = total.astype(row.dtype)
    return sums
