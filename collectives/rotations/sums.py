"""The sum in the rotated domain: whole numbers are added, and the sum is rotated back once."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.array_types import Array, Floats, Integers
from commbounds.collectives._peers import checked_rng
from commbounds.collectives.dense.on_rank import gathered
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row, checksum
from commbounds.collectives.ranks.communicator import Communicator, Parcel
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors.base import as_numbers, check_uniforms, checked_count, index_bits, is_finite
from commbounds.compressors.rotations.hadamard import backward, checked_signs, checked_size, forward, padded_size

Codes = Integers
MOST_LEVELS = 2**20


@one_program(np.stack)
def rotated_sum(
    comm: Communicator,
    vector: ArrayLike,
    levels: int,
    rng: np.random.Generator | None = None,
    *,
    signs: ArrayLike | None = None,
    dither: ArrayLike | None = None,
) -> Array:
    """The sum of the ranks' vectors, rotated by shared signs and rounded to multiples of one step, on every rank.

    y_p = H D x_p; the step is the largest magnitude among all ranks' rotated entries over `levels`, which an all-gather
    of one number finds; every entry is rounded to one of its two neighbouring multiples, so that its mean is kept.
    Rank p adds up the p-th of P blocks, whose sums go to all; D H takes the whole sum back, once.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite.
    levels : int
        Positive levels s; in [1, 2^20].
    rng : numpy.random.Generator or None
        Draws what is not given.
    signs : (n,) int or None
        -1 or 1 each, the same for all ranks.
    dither : (P, d) float64 or None
        In [0, 1), d the next power of two: rank p rounds entry j up iff dither[p, j] is below its distance to the lower
        multiple.

    Returns
    -------
    total : (P, n) dtype of stack
        The same on every rank.
    traffic : Traffic
        In bytes. Phases scales, codes and sums: a number; ceil(log2(2 s + 1)) bits a code; ceil(log2(2 P s + 1)) bits a
        sum. An incomplete byte counts.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; no generator; signs or dither of another shape or range; a sum beyond the dtype.

    Notes
    -----
    Sums of codes are exact: the result is the sum of what would be read of every rank alone.

    Examples
    --------
    >>> total, traffic = rotated_sum([[3.0, 1.0], [1.0, -1.0]], 2, signs=[1, 1], dither=[[0.5, 0.5]] * 2)
    >>> total[0].tolist(), traffic.sent.tolist()
    ([4.0, 0.0], [10, 10])
    """

    def settings(row: Array) -> dict[str, Any]:
        checked_size(row.shape[1])
        return {"levels": checked_count("levels", levels, 1, MOST_LEVELS)}

    (x,) = agreed_row(comm, vector, settings)
    d = padded_size(x.size)
    turned, thresholds = comm.common(lambda: _drawn(comm.size, x.size, rng, signs, dither))
    if not comm.one_caller:
        agreed_alike(comm, {"the checksum of what is drawn": checksum(turned, thresholds)})
    y = comm.agreed(lambda: _finite(forward(x, turned), "the rotated entries"))
    comm.phase("scales")
    own = (np.array([np.abs(y).max()]),)
    top = max(float(block[0][0]) for block in gathered(comm, own, words=lambda _: x.itemsize, forms=lambda _: own))
    step = top / levels
    codes = _rounded(y, step, levels, thresholds[comm.rank])
    sums = _added(comm, codes, levels)
    return comm.agreed(lambda: _finite((backward(step * sums / d, turned)).astype(x.dtype), "the sums"))


def _finite(array: Array, what: str) -> Array:
    if not is_finite(array):
        raise ValueError(f"stack must be small enough for {what} to be finite, got an overflow: scale it down")
    return array


def _drawn(
    P: int, n: int, rng: np.random.Generator | None, signs: ArrayLike | None, dither: ArrayLike | None
) -> tuple[NDArray[np.int8], Floats]:
    """The signs, and every rank's thresholds."""
    d = padded_size(n)
    if signs is None:
        drawn = checked_rng(rng, "drawing signs").integers(0, 2, n, dtype=np.int8)
        turned: NDArray[np.int8] = 2 * drawn - np.int8(1)
    else:
        turned = checked_signs(signs, n)
    if dither is None:
        return turned, checked_rng(rng, "rounding").random((P, d))
    thresholds = as_numbers(dither, "dither", np.float64)
    if thresholds.shape != (P, d):
        raise ValueError(f"dither must have shape {(P, d)}, got {thresholds.shape}")
    check_uniforms("dither", thresholds)
    return turned, thresholds


def _rounded(y: Array, step: float, levels: int, thresholds: Array) -> Codes:
    """Multiples of the step, none beyond `levels`."""
    if step == 0:
        return np.zeros(y.size, np.int64)
    a = y / step
    below = np.floor(a)
    codes = (below + (thresholds < a - below)).astype(np.int64)
    return np.minimum(np.maximum(codes, -levels), levels)


def _bytes(count: int, size: int) -> int:
    """Bytes of so many numbers, each one of `size`."""
    return -(-count * index_bits(size) // 8)


def _added(comm: Communicator, codes: Codes, levels: int) -> Codes:
    """The sum of all ranks' codes: reduced block by block, each block at its owner, and gathered."""
    blocks = np.array_split(codes, comm.size)
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    comm.phase("codes")
    parcels = {rank: Parcel((blocks[rank],), _bytes(blocks[rank].size, 2 * levels + 1)) for rank in others}
    arrived = comm.step(parcels, others) if others else {}
    mine = blocks[comm.rank].copy()
    for rank, part in arrived.items():
        mine += comm.fitting(rank, part, mine)[0]
    comm.phase("sums")
    message = Parcel((mine,), _bytes(mine.size, 2 * comm.size * levels + 1))
    arrived = comm.step(dict.fromkeys(others, message), others) if others else {}
    held = {comm.rank: mine, **{rank: comm.fitting(rank, part, blocks[rank])[0] for rank, part in arrived.items()}}
    return np.concatenate([held[rank] for rank in range(comm.size)])
