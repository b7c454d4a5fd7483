"""The mean of rotated and quantised vectors: every rank's message goes to all, in one round."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.array_types import Array
from commbounds.collectives._peers import checked_rng
from commbounds.collectives.dense.on_rank import Block, gathered
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row, checksum
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors.base import as_numbers, checked_choice, checked_count, is_finite, own
from commbounds.compressors.rotations import EDEN, Rotated
from commbounds.compressors.rotations.centroids import MOST_BITS

SEEDS = ("private", "shared")
"""Whether every rank rotates by signs of its own, or all by the same."""


@one_program(np.stack)
def rotated_mean(
    comm: Communicator,
    vector: ArrayLike,
    width: int = 1,
    seeds: str = "private",
    rng: np.random.Generator | None = None,
    *,
    signs: ArrayLike | None = None,
) -> Array:
    """The mean of the ranks' estimates by `EDEN` with the unbiased scale, on every rank.

    Every rank sends its codes and its scale round a ring; all decode all of them (Vargaftik et al. 2021, 2022). With
    one bit that is DRIVE.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite.
    width : int
        Bits of a code; in [1, 8].
    seeds : {"private", "shared"}
        Whether every rank rotates by signs of its own, or all by those of rank 0.
    rng : numpy.random.Generator or None
        Draws the signs, where they are not given.
    signs : (P, n) int or None
        -1 or 1 each; of shared ones the first row is taken.

    Returns
    -------
    mean : (P, n) dtype of stack
        Added up in the order of the ranks in float64, rounded once; the same on every rank.
    traffic : Traffic
        In bytes: ceil(width d/8) for the codes, d the next power of two, and the scale at its dtype. Signs follow from
        seeds, which are not sent.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` and `EDEN` say; other seeds; no generator; signs of another shape; a sum beyond float64.

    Notes
    -----
    Where the estimates are biased, as of (3, 1), the mean of private ones errs as much as one: see the claims.

    Examples
    --------
    >>> mean, traffic = rotated_mean([[3.0, 1.0], [3.0, 1.0]], rng=np.random.default_rng(0))
    >>> mean[0].round(6).tolist(), traffic.sent.tolist()
    ([3.333333, 0.0], [9, 9])
    """

    def settings(row: Array) -> dict[str, Any]:
        checked_choice("seeds", seeds, SEEDS)
        return {"width": checked_count("width", width, 1, MOST_BITS), "seeds": seeds}

    (x,) = agreed_row(comm, vector, settings)
    chosen = comm.common(lambda: _signs(comm.size, x.size, seeds, rng, signs))
    if not comm.one_caller:
        agreed_alike(comm, {"the checksum of the signs": checksum(chosen)})
    compressor = EDEN(width)
    message = comm.agreed(lambda: compressor.compress_with(x, chosen[comm.rank]))

    def size(block: Block) -> int:
        return -(-block[0].size * width // 8) + block[1].size * block[1].itemsize

    comm.phase("messages")
    blocks = gathered(
        comm, (message.codes, message.numbers), words=size, forms=lambda _: (message.codes, message.numbers)
    )

    def decoded() -> Array:
        total = np.zeros(x.size)
        with np.errstate(over="ignore", invalid="ignore"):
            for row, (codes, numbers) in zip(chosen, blocks, strict=True):
                part = Rotated(message.shape, message.dtype, codes, message.count, numbers, row, message.kept)
                total += compressor.decompress(own(part) if comm.one_caller else part)
        if not is_finite(total):
            raise ValueError("stack must be small enough for the sum of its estimates to be finite: scale it down")
        return (total / comm.size).astype(x.dtype)

    return comm.shared(decoded).copy()


def _signs(P: int, n: int, seeds: str, rng: np.random.Generator | None, signs: ArrayLike | None) -> NDArray[np.int8]:
    """A row of signs for every rank."""
    if signs is None:
        drawn = checked_rng(rng, "drawing signs").integers(0, 2, (P, n), dtype=np.int8)
        found: NDArray[np.int8] = 2 * drawn - np.int8(1)
    else:
        given = as_numbers(signs, "signs", kinds="iu")
        if given.shape != (P, n):
            raise ValueError(f"signs must have shape {(P, n)}, got {given.shape}")
        if not (abs(given.astype(np.int64)) == 1).all():
            raise ValueError(f"signs must be -1 or 1, got {given.min()} to {given.max()}")
        found = given.astype(np.int8)
    return np.repeat(found[:1], P, axis=0) if seeds == "shared" else found
