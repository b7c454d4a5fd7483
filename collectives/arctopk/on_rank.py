"""What a rank does in ARC-Top-K: it sketches its gradient, and sends the rows that the all-reduced sketches select."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives._stack import checked_stack
from commbounds.collectives.arctopk.steps import (
    checked_format,
    checked_sketch,
    own_order,
    put_averages,
    rounded_sketches,
    rows_of_all,
    selected_rows,
)
from commbounds.collectives.dense.on_rank import allgather, ring_allreduce
from commbounds.collectives.ranks._agreement import agreed_alike
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.compressors.base import checked_count

__all__ = ["AllReduce", "ArcRankResult", "arctopk_allreduce"]

Array = NDArray[Any]
AllReduce = Callable[[Communicator, Array], Array]
"""(communicator, the rank's vector) -> the sum of all."""


@dataclass(frozen=True, eq=False)
class ArcRankResult:
    """What one rank ends with: its part of an `ArcResult`.

    Parameters
    ----------
    mean : (m, n) dtype of the gradient
        The average of the compressed gradients, as the rank holds it: zero outside its rows.
    rows : (K,) int64
        The rows that it selected, ascending.
    scores : (m,) float64
        The scores that it selected them by.
    """

    mean: Array
    rows: NDArray[np.int64]
    scores: NDArray[np.float64]


def arctopk_allreduce(
    comm: Communicator,
    gradient: ArrayLike,
    K: int,
    rank: int,
    rng: np.random.Generator | None = None,
    *,
    sketch: ArrayLike | None = None,
    sketch_format: str = "",
    allreduce: AllReduce = ring_allreduce,
    agree: bool = True,
) -> ArcRankResult:
    """The average of the ranks' gradients on K rows; the twin of `commbounds.collectives.arctopk_allreduce`.

    Parameters
    ----------
    comm : Communicator
        This rank's end; gets the phases "sketch" and "rows", and in them those of the all-reduce.
    gradient : (m, n) float32 or float64
        This rank's; finite, of the same shape and dtype on all.
    K, rank, rng, sketch, sketch_format, agree
        As there, the same on all ranks: the seed is shared.
    allreduce : callable (communicator, vector) -> vector
        As in `commbounds.collectives.dense.on_rank`.

    Raises
    ------
    TypeError, ValueError
        As there; shapes, dtypes, requests or sketches differ between ranks. On all ranks.
    """
    stack, kept, V, form = comm.agreed(lambda: _checked(gradient, K, rank, rng, sketch, sketch_format))
    _, m, n = stack.shape
    agreed_alike(
        comm,
        {
            "the shape of gradients": (m, n),
            "the dtype of gradients": stack.dtype.name,
            "K": kept,
            "sketch_format": sketch_format,
            "agree": bool(agree),
            "the checksum of the sketch matrix": zlib.crc32(V.tobytes()),
        },
    )
    own = comm.agreed(lambda: rounded_sketches(stack, V, form, "gradient")).reshape(-1)
    with comm.within("sketch"):
        sums = allreduce(comm, own) if agree else own_order(allgather(comm, own).reshape(comm.size, -1), comm.rank)
    rows, scores = selected_rows(sums.reshape(m, -1), comm.size, kept)
    with comm.within("rows"):
        totals = allreduce(comm, rows_of_all(stack, rows[np.newaxis]).reshape(-1))
    mean = np.zeros_like(stack[0])
    put_averages(totals, rows, comm.size, mean)
    return ArcRankResult(mean, rows, scores)


def _checked(
    gradient: ArrayLike,
    K: int,
    rank: int,
    rng: np.random.Generator | None,
    sketch: ArrayLike | None,
    sketch_format: str,
) -> tuple[Array, int, Array, np.dtype[Any]]:
    """The gradient as a stack of one, the rows to keep, V and the format of sketches."""
    array = np.asarray(gradient)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"gradient must be (m, n) with at least one row and column, got shape {array.shape}")
    stack = checked_stack(array.reshape(1, -1), "gradient", finite=False).reshape(1, *array.shape)
    kept, columns = checked_count("K", K, 1, len(array)), checked_count("rank", rank)
    V = checked_sketch(sketch, array.shape[1], columns, rng).astype(stack.dtype)
    return stack, kept, V, checked_format(sketch_format, stack.dtype)
