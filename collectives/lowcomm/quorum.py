"""Merging with a quorum: a server averages what has arrived, weighted by tokens, and does not wait for the rest."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats
from commbounds.collectives._peers import checked_mask
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator, parcel
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors.base import as_numbers, checked_choice, shown

DIVISORS = ("arrived", "expected")
"""What a merge divides by: the weights that arrived, or what arrives on average of so many."""


def _checked_tokens(tokens: ArrayLike, P: int) -> Floats:
    array = as_numbers(tokens, "tokens", np.float64)
    if array.shape != (P,) or not (np.isfinite(array).all() and (array > 0).all() and array.max(initial=0) < 1e300 / P):
        raise ValueError(f"tokens must be {P} positive numbers, got {shown(tokens)}")
    return array


@one_program(np.stack)
def quorum_merge(
    comm: Communicator,
    vector: ArrayLike,
    tokens: ArrayLike,
    arrived: ArrayLike | None = None,
    *,
    divisor: str = "arrived",
) -> Array:
    """The token-weighted average of the vectors that arrived, on all ranks.

    Rank 0 is the server. Workers whose vectors arrive send them there; it merges and sends the result to all others,
    late ones too. Where nobody arrives, everybody keeps its own vector.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The workers' vectors; finite.
    tokens : (P,) positive numbers
        The workers' weights.
    arrived : (P,) bool or None
        Whose vectors are merged; all for None.
    divisor : str
        "arrived": the sum of the arrived weights; "expected": the sum of all weights times the share of the workers
        that arrived.

    Returns
    -------
    (P, n) dtype of stack, Traffic
        Sums in float64, in rank order, rounded once. Two steps: to the server, and from it.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; tokens are not positive; arrived has another shape; divisor is unknown.

    Notes
    -----
    Where any K of P workers are equally likely to arrive, "expected" is unbiased for the token-weighted average of all;
    "arrived" is so only for equal tokens, or K = P.

    References
    ----------
    A. Douillard et al., 2026, Decoupled DiLoCo, arXiv:2604.21428: minimum quorum and token-weighted merging, as its
    abstract has them.

    Examples
    --------
    >>> merged, traffic = quorum_merge([[1.0], [5.0], [9.0]], [3, 1, 1], [True, True, False])
    >>> merged.ravel().tolist(), traffic.sent.tolist()
    ([2.0, 2.0, 2.0], [2, 1, 0])
    """
    P = comm.size

    def settings(_row: Array) -> Mapping[str, Any]:
        return {
            "tokens": _checked_tokens(tokens, P).tolist(),
            "arrived": checked_mask(arrived, (P,), "arrived").tolist(),
            "divisor": checked_choice("divisor", divisor, DIVISORS),
        }

    own: Array = agreed_row(comm, vector, settings)[0]
    weights, there = _checked_tokens(tokens, P), checked_mask(arrived, (P,), "arrived")
    if not there.any():
        return own.copy()
    late = [rank for rank in range(1, P) if there[rank]]
    vectors = {0: own}
    if late:
        sends = comm.rank in late
        arriving = comm.step({0: parcel(own)} if sends else {}, late if comm.rank == 0 else [])
        vectors |= {rank: comm.fitting(rank, message, own)[0] for rank, message in arriving.items()}
    merged = own
    if comm.rank == 0:
        total = np.zeros(own.size)
        for rank in np.flatnonzero(there).tolist():
            total += weights[rank] * vectors[rank].astype(np.float64)
        if divisor == "expected":
            total *= P
        whole = weights[there].sum() if divisor == "arrived" else weights.sum() * there.sum()
        with np.errstate(over="ignore"):
            merged = (total / whole).astype(own.dtype)
    if P == 1:
        return merged
    answer = comm.step(
        {rank: parcel(merged) for rank in range(1, P)} if comm.rank == 0 else {}, [] if comm.rank == 0 else [0]
    )
    result: Array = merged if comm.rank == 0 else comm.fitting(0, answer[0], own)[0]
    return result
