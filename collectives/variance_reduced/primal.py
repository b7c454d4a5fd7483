"""EF21-P: the server sends what its weights have changed by, compressed, and the workers' model follows."""

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from commbounds.collectives._peers import checked_count, checked_step_size
from commbounds.collectives._stack import checked_state
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row, checksum
from commbounds.collectives.ranks.communicator import Communicator, parcel
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.sparse.entries import entries_from
from commbounds.collectives.variance_reduced.state import Primal, stacked


@one_program(partial(stacked, Primal, shared=("weights",)))
def primal_step(
    comm: Communicator, vector: ArrayLike, weights: ArrayLike, model: ArrayLike, k: int, step_size: float
) -> Primal:
    """EF21-P: gradients at the model of the workers; the server's weights; back go the k largest of their difference.

    x <- x - gamma mean grad(w); w <- w + C(x - w) (Gruntkowska, Tyurin, Richtarik 2022, arXiv:2209.15218).

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' gradients at `model`; finite.
    weights : (n,)
        x, which the server has: rank 0, which is a worker too.
    model : (n,)
        w, which all ranks have.
    k : int
        Entries that the server sends; 1 <= k <= n. The largest, ties to the lowest index.
    step_size : float
        gamma; positive and finite.

    Returns
    -------
    state : Primal
        Gradients are added up in the order of the ranks, and divided once.
    traffic : Traffic
        In words: n up from every rank but the server; an index and a value an entry down. The server receives from all
        others in one step, and sends to all in the next.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; a state of another shape or dtype; k or step size out of range.

    Notes
    -----
    Numbers that leave the dtype's range become infinite or NaN.

    Examples
    --------
    >>> zero = np.zeros(2)
    >>> state, traffic = primal_step([[4.0, 2.0], [8.0, -10.0]], zero, zero, 1, 0.5)
    >>> state.weights.tolist(), state.model[0].tolist(), traffic.sent.tolist()
    ([-3.0, 2.0], [-3.0, 0.0], [2, 2])
    """
    (x,) = agreed_row(comm, vector, lambda _: {"k": k, "step_size": step_size})
    P, n, dtype = comm.size, x.size, x.dtype
    at, held, count, gamma = comm.common(
        lambda: (
            checked_state(weights, "weights", (n,), dtype),
            checked_state(model, "model", (n,), dtype),
            checked_count(k, "k", 1, n),
            dtype.type(checked_step_size(step_size)),
        )
    )
    if not comm.one_caller:
        agreed_alike(comm, {"the checksum of model": checksum(held)})
    others, after = range(1, P), at
    comm.phase("up")
    with np.errstate(over="ignore", invalid="ignore"):
        if comm.rank == 0:
            arrived = comm.step(sources=others) if others else {}
            total = x.copy()
            for source, message in arrived.items():
                total += comm.fitting(source, message, total)[0]
            after = at - gamma * (total / dtype.type(P))
            difference = after - held
            where = np.sort(np.argsort(-np.abs(difference), kind="stable")[:count])
            values = difference[where]
            comm.phase("down")
            if others:
                comm.step(dict.fromkeys(others, parcel(where, values)))
        else:
            comm.step({0: parcel(x)})
            comm.phase("down")
            where, values = entries_from(comm, 0, comm.step(sources=[0])[0], held.size, held.dtype)
        moved = held.copy()
        moved[where] += values
    return Primal(after, moved)
