"""The compression stage of 1-bit Adam: momentum of one bit an entry both ways, with error feedback at both ends."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives._stack import checked_state
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.ranks._agreement import agreed_row
from commbounds.collectives.ranks.communicator import Communicator, Form, Parcel
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.variance_reduced.state import OneBitMomentum, agreed_states
from commbounds.compressors.base import checked_choice, checked_real, shown

SCALES = ("norm", "mean")
"""What a sign is multiplied by: the norm over the root of the length, as in the authors' code; the mean magnitude."""


@njit(cache=True, nogil=True)
def _total(x, squared):  # type: ignore[no-untyped-def]
    # sum of squares, or of magnitudes, in float64
    total = 0.0
    for i in range(x.size):
        v = np.float64(x[i])
        total += v * v if squared else abs(v)
    return total


@njit(cache=True, nogil=True)
def _signed(x, scale, signs, error):  # type: ignore[no-untyped-def]
    # signs, zero's being +1, and what plus or minus scale leaves out
    for i in range(x.size):
        signs[i] = x[i] >= 0
        error[i] = x[i] - scale if signs[i] else x[i] + scale


def _compressed(x: Array, scale: str) -> tuple[Array, Array, Array]:
    """Signs, the scale as an array of one, and the error; nothing of an empty block."""
    if not x.size:
        return np.zeros(0, np.bool_), np.zeros(0, x.dtype), x
    total = _total(x, scale == "norm")
    magnitude = x.dtype.type(math.sqrt(total / x.size) if scale == "norm" else total / x.size)
    signs, error = np.empty(x.size, np.bool_), np.empty_like(x)
    _signed(x, magnitude, signs, error)
    return signs, np.array([magnitude]), error


def _valued(signs: Array, scale: Array) -> Array:
    return np.where(signs, scale, -scale) if signs.size else np.zeros(0, scale.dtype)


def _parcel(signs: Array, scale: Array) -> Parcel:
    packed, size = np.packbits(signs), scale[: signs.size]
    return Parcel((packed, size), packed.nbytes + size.nbytes)


def _forms(n: int, dtype: np.dtype[Any]) -> tuple[Form, Form]:
    """What a message about n entries is like."""
    return (np.uint8, (-(-n // 8),)), (dtype, (min(n, 1),))


def _received(comm: Communicator, source: int, message: Parcel, n: int, dtype: np.dtype[Any]) -> Array:
    forms = _forms(n, dtype)
    packed, scale = comm.fitting(source, message, *forms)
    return _valued(np.unpackbits(packed, count=n).astype(np.bool_), scale)


def _added(comm: Communicator, messages: list[Parcel], n: int, dtype: np.dtype[Any]) -> Array:
    """The sum of what all ranks say of one block, in their order."""
    forms = _forms(n, dtype)
    pairs = [comm.fitting(rank, message, *forms) for rank, message in enumerate(messages)]
    total = np.zeros(n, dtype)
    if n:
        packed, scales = (np.array(arrays) for arrays in zip(*pairs, strict=True))
        for row in np.where(np.unpackbits(packed, axis=1, count=n).astype(np.bool_), scales, -scales):
            total += row
    return total


def blocks_of(comm: Communicator, x: Array) -> list[Array]:
    """The blocks of a vector, one a rank; the first are longer."""
    cuts: list[int] = comm.shared(lambda: even_cuts(x.size, comm.size).tolist())
    return [x[low:high] for low, high in pairwise(cuts)]


def _joined(results: list[OneBitMomentum]) -> OneBitMomentum:
    """Of what every rank ends with, whose errors as a server are of its block alone."""
    momentum, errors, served = zip(*results, strict=True)
    return OneBitMomentum(np.stack(momentum), np.stack(errors), np.concatenate(served))


@one_program(_joined)
def onebit_momentum(
    comm: Communicator,
    vector: ArrayLike,
    momentum: ArrayLike,
    worker_errors: ArrayLike,
    server_errors: ArrayLike,
    beta: float = 0.9,
    scale: str = "norm",
) -> OneBitMomentum:
    """1-bit Adam's momentum: every rank's is compressed to signs, averaged block by block, and compressed again.

    p = beta u + (1 - beta) g_p + e_p; rank p sends s sign(p), and keeps e_p <- p - s sign(p); the owner of a block
    does the same with the average of what arrives and its own error; the blocks are the new u (Tang et al. 2021,
    arXiv:2102.02888). With beta = 0 this is the compressed all-reduce itself.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The ranks' gradients; finite.
    momentum : (n,)
        That of all ranks, u.
    worker_errors : (P, n)
        In row p what rank p left out in the step before; it reads no other.
    server_errors : (n,)
        What the owners of the blocks left out; a rank reads its block alone.
    beta : float
        In [0, 1).
    scale : {"norm", "mean"}
        s: the norm over the root of the length, or the mean magnitude.

    Returns
    -------
    state : OneBitMomentum
        Of n entries rank p owns the p-th of P blocks, of which the first n mod P are one longer. The sign of zero is
        +1. On a rank, the errors of the server are those of its own block.
    traffic : Traffic
        In bytes: eight signs in a byte, an incomplete byte counts, and a scale in the dtype of the stack. In a step a
        rank sends to all others. Phases up and down. Empty blocks send messages without bytes; for P = 1 nothing is
        sent, and the momentum is compressed twice all the same.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; a state of another shape or dtype; beta outside [0, 1); an unknown scale.

    Notes
    -----
    ||s sign(p) - p||^2 = 2 (1 - ||p||_1/(sqrt(n) ||p||)) ||p||^2 for the norm, which may exceed ||p||^2 from n = 5 on.
    Numbers that leave the dtype's range become infinite or NaN.

    Examples
    --------
    >>> zero = np.zeros((2, 2))
    >>> state, traffic = onebit_momentum([[3.0, -3.0], [1.0, 1.0]], zero[0], zero, zero[0], 0.0)
    >>> state.momentum[0].tolist(), state.worker_errors.tolist(), traffic.sent.tolist()
    ([2.0, -1.0], [[0.0, 0.0], [0.0, 0.0]], [18, 18])
    """
    (x,) = agreed_row(comm, vector, lambda _: {"beta": beta, "scale": scale})
    P, n, dtype = comm.size, x.size, x.dtype
    before, errors, served, part = comm.common(
        lambda: (
            checked_state(momentum, "momentum", (n,), dtype),
            checked_state(worker_errors, "worker_errors", (P, n), dtype),
            checked_state(server_errors, "server_errors", (n,), dtype),
            _checked_beta(beta, scale),
        )
    )
    agreed_states(comm, momentum=before)
    keep, new = dtype.type(part), dtype.type(1 - part)
    with np.errstate(over="ignore", invalid="ignore"):
        offered = keep * before + new * x + errors[comm.rank]
        return OneBitMomentum(*compressed_mean(comm, offered, blocks_of(comm, served)[comm.rank], scale))


def compressed_mean(comm: Communicator, offered: Array, served: Array, scale: str) -> tuple[Array, Array, Array]:
    """The mean of what all ranks offer, of signs times scales: compressed by every rank, and by the owners of blocks.

    Parameters
    ----------
    comm : Communicator
        All ranks call this. Phases up and down, counted in bytes.
    offered : (n,)
        This rank's vector, its residual added.
    served : (n of the block,)
        What this rank left out as the owner of its block.
    scale : {"norm", "mean"}
        As for `onebit_momentum`.

    Returns
    -------
    mean, error, left : arrays
        The same mean on all ranks, (n,); what this rank left out, (n,), and as the owner of its block.
    """
    P, dtype = comm.size, offered.dtype
    others = [rank for rank in range(P) if rank != comm.rank]
    signs, size, error = _compressed(offered, scale)
    halves = blocks_of(comm, signs)
    comm.phase("up")
    sent = [_parcel(half, size) for half in halves]
    arrived = comm.step({rank: sent[rank] for rank in others}, others) if others else {}
    arrived[comm.rank] = sent[comm.rank]
    total = _added(comm, [arrived[rank] for rank in range(P)], halves[comm.rank].size, dtype)
    signs, size, left = _compressed(total / dtype.type(P) + served, scale)
    comm.phase("down")
    own = _parcel(signs, size)
    arrived = comm.step(dict.fromkeys(others, own), others) if others else {}
    arrived[comm.rank] = own
    mean = comm.shared(
        lambda: np.concatenate([_received(comm, r, arrived[r], halves[r].size, dtype) for r in range(P)])
    )
    return mean, error, left


def _checked_beta(beta: float, scale: str) -> float:
    checked_choice("scale", scale, SCALES)
    value = checked_real("beta", beta)
    if not 0.0 <= value < 1.0:
        raise ValueError(f"beta must be in [0, 1), got {shown(beta)}")
    return value
