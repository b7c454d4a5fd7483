"""Deep Gradient Compression: momentum correction, momentum factor masking, and an all-gather of the largest entries."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.sparse.entries import dense_sum, gathered_entries
from commbounds.compressors._largest import largest
from commbounds.compressors.base import checked_count, checked_flag, checked_real, is_finite


@dataclass(frozen=True, eq=False)
class DGCRun:
    """What ranks end with after some steps.

    Parameters
    ----------
    updates : (steps, n) array
        The mean over the ranks of what they sent, step by step; the same on all ranks.
    momentum : (P, n) or (n,) array
        Every rank's momentum, u; of one rank a vector.
    accumulated : (P, n) or (n,) array
        What every rank has not sent yet, v.
    """

    updates: Array
    momentum: Array
    accumulated: Array


def _of_all(runs: list[DGCRun]) -> DGCRun:
    momentum, accumulated = (np.stack([getattr(run, name) for run in runs]) for name in ("momentum", "accumulated"))
    return DGCRun(runs[0].updates, momentum, accumulated)


@one_program(_of_all)
def dgc_steps(
    comm: Communicator, vector: ArrayLike, steps: int, k: int, factor: float = 0.9, masking: bool = True
) -> DGCRun:
    """The updates of Deep Gradient Compression over some steps.

    Every rank has u = factor u + g and v = v + u; the k largest entries of v are sent and cleared in v, and, with
    momentum factor masking, in u (Lin et al. 2018, arXiv:1712.01887; GRACE's memory). Without clipping, warm-up, and
    the sampling of the threshold.

    Parameters
    ----------
    stack : (P, steps n) float32 or float64
        The ranks' gradients, of one step after another; finite.
    steps : int
        At least 1; divides the length of the rows.
    k : int
        Entries that every rank sends a step; 1 <= k <= n. Ties go to the lowest index.
    factor : float
        Of the momentum; in [0, 1).
    masking : bool
        Whether sent entries are cleared in the momentum as well.

    Returns
    -------
    run : DGCRun
        Sums over the ranks in their order, divided by P, in the dtype of the stack.
    traffic : Traffic
        In words: 2 k (P - 1) sent and received by every rank and step, by a ring all-gather.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; steps that do not divide the rows; k or factor out of range; v that overflows.

    Examples
    --------
    >>> run, traffic = dgc_steps([[4.0, 1.0, 0.0, 1.0], [2.0, 3.0, 0.0, 0.0]], 2, 1, 0.5)
    >>> run.updates.tolist(), run.momentum.tolist(), traffic.sent.tolist()
    ([[2.0, 1.5], [1.5, 1.25]], [[0.0, 0.0], [0.0, 0.0]], [4, 4])
    """

    def settings(row: Array) -> dict[str, Any]:
        count = checked_count("steps", steps)
        if row.size % count:
            raise ValueError(f"steps must divide the {row.size} entries of a row, got {count}")
        if not 0 <= checked_real("factor", factor) < 1:
            raise ValueError(f"factor must be in [0, 1), got {factor}")
        sent = checked_count("k", k, 1, row.size // count)
        return {"steps": count, "k": sent, "factor": float(factor), "masking": checked_flag("masking", masking)}

    (row,) = agreed_row(comm, vector, settings)
    gradients = row.reshape(steps, row.size // steps)
    momentum, accumulated = np.zeros_like(gradients[0]), np.zeros_like(gradients[0])
    updates = []
    for gradient in gradients:
        with np.errstate(over="ignore", invalid="ignore"):
            momentum = row.dtype.type(factor) * momentum + gradient
            accumulated = accumulated + momentum
        indices, values = comm.agreed(lambda v=accumulated: _chosen(v, k))  # type: ignore[misc]
        accumulated[indices] = 0
        if masking:
            momentum[indices] = 0
        blocks = gathered_entries(comm, (indices, values), gradient.size)
        updates.append(comm.shared(lambda sent=blocks: _mean(sent, gradients.shape[1], row.dtype)))  # type: ignore[misc]
    return DGCRun(np.stack(updates), momentum, accumulated)


def _chosen(v: Array, k: int) -> tuple[Array, Array]:
    if not is_finite(v):
        raise ValueError("the accumulated gradients must stay finite")
    indices, values = largest(v, k)
    return indices, values


def _mean(blocks: Any, n: int, dtype: np.dtype[Any]) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        mean: Array = dense_sum(blocks, n, dtype) / dtype.type(len(blocks))
    return mean
