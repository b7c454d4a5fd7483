"""FlashInfer: codes in float8, whose owners keep their sums as they are."""

from typing import Any

import numpy as np
from ml_dtypes import bfloat16, float8_e4m3fn
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Bytes
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.shipped_collectives.exchange import (
    FP8_MAX,
    checked_finite,
    owned_places,
    padded,
    two_shot,
)
from commbounds.compressors.base import checked_count


def flashinfer_code(x: Array, group: int) -> Bytes:
    """Codes in float8 of float32 numbers, and the factor of every group to read them by."""
    n, filled = x.shape[-1], padded(x, group)
    groups = filled.reshape(*x.shape[:-1], filled.shape[-1] // group, group)
    with np.errstate(all="ignore"):
        largest = np.maximum(np.abs(groups).max(axis=-1, initial=0), np.float32(1e-12))
        codes = np.clip(groups * (FP8_MAX / largest)[..., np.newaxis], -FP8_MAX, FP8_MAX).astype(float8_e4m3fn)
        factors = largest / FP8_MAX
    return np.concatenate([codes.view(np.uint8).reshape(filled.shape)[..., :n], factors.view(np.uint8)], axis=-1)


def flashinfer_read(sent: Bytes, n: int, group: int) -> Array:
    """The float32 numbers that `flashinfer_code` made `sent` of."""
    factors = np.repeat(sent[..., n:].copy().view(np.float32), group, axis=-1)[..., :n]
    with np.errstate(all="ignore"):
        numbers: Array = sent[..., :n].view(float8_e4m3fn).astype(np.float32) * factors
    return numbers


@one_program(np.stack)
def flashinfer_allreduce(comm: Communicator, vector: ArrayLike, group: int = 256, block: int = 4096) -> Array:
    """The sum of the ranks' vectors as FlashInfer's `quantized_all_reduce` computes it: two steps, float8 codes.

    Groups of neighbours share a factor, their largest magnitude over 448, in float32. Owners of `block` numbers in turn
    add what they read in float32, in the order of the ranks, and code the sums. An owner keeps its own sums as they
    are, rounded to bfloat16; the others read the codes.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' vectors; finite. They are rounded to bfloat16 first, which is what the source takes.
    group : int
        Numbers that share a factor, >= 1.
    block : int
        Numbers that an owner has in turn; a multiple of `group` and of P.

    Returns
    -------
    sums : (P, n) dtype of stack
        Numbers of bfloat16. The ranks need not have the same.
    traffic : Traffic
        In bytes; an all-to-all and an all-gather, a step each, none for P = 1.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; counts that are none; a block that is no multiple; sums that
        float32 does not hold.

    Examples
    --------
    >>> sums, traffic = flashinfer_allreduce([[4.0, 1.0], [3.0, 0.875]], 2, 2)
    >>> sums.tolist(), traffic.sent.tolist()
    ([[7.0, 1.859375], [7.0, 1.875]], [6, 6])
    """

    def settings(row: Array) -> dict[str, Any]:
        checked_count("group", group)
        if checked_count("block", block) % group or block % comm.size:
            raise ValueError(f"block must be a multiple of {group} and of {comm.size}, got {block}")
        return {"group": group, "block": block}

    (x,) = agreed_row(comm, vector, settings)
    with np.errstate(over="ignore"):
        own = x.astype(bfloat16).astype(np.float32)

    def added(terms: list[Array]) -> tuple[Array, Bytes]:
        total = np.zeros_like(terms[0])
        with np.errstate(all="ignore"):
            for term in terms:
                total = total + term
        return comm.agreed(lambda: checked_finite(total)), flashinfer_code(total, group)

    owned = owned_places(x.size, block, comm.size)
    result, total = two_shot(
        comm,
        own,
        owned,
        lambda values: flashinfer_code(values, group),
        lambda sent, n: flashinfer_read(sent, n, group),
        added,
    )
    result[owned[comm.rank]] = total
    with np.errstate(over="ignore"):
        return result.astype(bfloat16).astype(x.dtype)
