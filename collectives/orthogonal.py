"""Orthogonalised updates: Muon's, by Newton-Schulz iterations, and Dion's, of low rank and with error feedback.

Numbers that leave the dtype's range become infinite or NaN: divide beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives._peers import checked_count
from commbounds.collectives._stack import checked_stack
from commbounds.collectives.dense.allreduce import ring_allreduce
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row, checksum
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import one_program
from commbounds.compressors.base import as_array, checked_choice, checked_real, shown

Array = NDArray[Any]

ITERATIONS: Mapping[str, tuple[float, float, float]] = MappingProxyType(
    {"muon": (3.4445, -4.7750, 2.0315), "cubic": (1.5, -0.5, 0.0)}
)
"""Coefficients a, b, c of X <- a X + b (X X^T) X + c (X X^T)^2 X: the authors' quintic, and Newton-Schulz's cubic."""


class LowRankUpdate(NamedTuple):
    """After a step of `dion_update`.

    Parameters
    ----------
    update : (P, m, n)
        U Q^T; the same on every rank.
    momentum : (P, m, n)
        In matrix p what rank p keeps.
    basis : (n, r)
        The normalised columns of the new Q, which every rank knows.
    """

    update: Array
    momentum: Array
    basis: Array


@njit(cache=True, nogil=True)
def _product(x, y, out):  # type: ignore[no-untyped-def]
    # x y, entry by entry, summed in the dtype from the first term to the last
    for i in range(x.shape[0]):
        for j in range(y.shape[1]):
            total = x[i, 0] * y[0, j]
            for k in range(1, x.shape[1]):
                total += x[i, k] * y[k, j]
            out[i, j] = total


def _times(x: Array, y: Array) -> Array:
    out = np.empty((x.shape[0], y.shape[1]), x.dtype)
    _product(np.ascontiguousarray(x), np.ascontiguousarray(y), out)
    return out


def _norm(values: Array) -> float:
    """Euclidean norm, summed in float64 from the first entry to the last."""
    total = 0.0
    for value in values.reshape(-1).tolist():
        total += value * value
    return math.sqrt(total)


def _orthogonalised(x: Array, steps: int, coefficients: tuple[float, float, float]) -> Array:
    """Of a matrix with no more rows than columns, divided by its norm; zero stays zero."""
    a, b, c = (x.dtype.type(value) for value in coefficients)
    size = x.dtype.type(_norm(x))
    if size == 0:
        return np.zeros_like(x)
    x = x / size
    for _ in range(steps):
        gram = _times(x, np.ascontiguousarray(x.T))
        x = a * x + _times(b * gram + c * _times(gram, gram), x)
    return np.asarray(x)


def _matrices(stack: ArrayLike) -> Array:
    array = as_array(stack, "stack")
    if array.ndim != 3 or 0 in array.shape:
        raise ValueError(f"stack must be (P, m, n), one matrix for every rank, none empty, got shape {array.shape}")
    return checked_stack(array.reshape(len(array), -1), "stack").reshape(array.shape)


def _own(comm: Communicator, matrix: ArrayLike, settings: Mapping[str, Any]) -> Array:
    """The matrix of this rank, where all ranks have a good one of one shape."""

    def checked() -> Array:
        array = as_array(matrix, "matrix")
        if array.ndim != 2:
            raise ValueError(f"matrix must be (m, n), got shape {array.shape}")
        return array

    array = comm.agreed(checked)
    (row,) = agreed_row(comm, array.reshape(-1), lambda _: {"the shape": array.shape, **settings}, "matrix")
    return np.asarray(row.reshape(array.shape))


def _averaged(comm: Communicator, x: Array) -> Array:
    total = ring_allreduce.on_rank(comm, np.ascontiguousarray(x).reshape(-1))
    return np.asarray(total.reshape(x.shape) / x.dtype.type(comm.size))


@one_program(np.stack, checked=_matrices)
def muon_update(comm: Communicator, matrix: ArrayLike, steps: int = 5, iteration: str = "muon") -> Array:
    """Muon's update: the average gradient, all of whose singular values are brought near one.

    X <- G/||G||_F, then X <- a X + b (X X^T) X + c (X X^T)^2 X, `steps` times (Jordan et al. 2024).

    Parameters
    ----------
    stack : (P, m, n) float32 or float64
        The ranks' gradients (or momenta); finite.
    steps : int
        Iterations, >= 0.
    iteration : {"muon", "cubic"}
        Coefficients: see `ITERATIONS`.

    Returns
    -------
    update : (P, m, n) dtype of stack
        The same on every rank. A matrix with more rows than columns is transposed meanwhile. Zero stays zero: the
        authors' code adds 1e-7 to the norm, which this does not.
    traffic : Traffic
        In words: a ring all-reduce of m n entries.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says, of matrices; steps negative or no integer; an unknown iteration.

    Examples
    --------
    >>> update, traffic = muon_update([[[3.0, 0.0], [0.0, 0.0]]], 1, "cubic")
    >>> update[0].tolist(), traffic.sent.tolist()
    ([[1.0, 0.0], [0.0, 0.0]], [0])
    """
    x = _own(comm, matrix, {"steps": steps, "iteration": iteration})
    count, name = comm.common(
        lambda: (checked_count(steps, "steps", 0), checked_choice("iteration", iteration, ITERATIONS))
    )
    mean = _averaged(comm, x)
    with np.errstate(over="ignore", invalid="ignore"):
        tall = mean.shape[0] > mean.shape[1]
        found = comm.shared(
            lambda: _orthogonalised(np.ascontiguousarray(mean.T if tall else mean), count, ITERATIONS[name])
        )
        return np.ascontiguousarray(found.T if tall else found)


def _orthonormal(x: Array) -> Array:
    """Columns by Gram and Schmidt, each taken off twice; those that are zero, or that nothing is left of, are zero."""
    out = np.zeros_like(x)
    for j in range(x.shape[1]):
        column = x[:, j].copy()
        before = _norm(column)
        for _ in range(2):
            for i in range(j):
                column = column - _dot(out[:, i], column) * out[:, i]
        size = _norm(column)
        if size > 4 * x.shape[0] * float(np.finfo(x.dtype).eps) * before:
            out[:, j] = column / x.dtype.type(size)
    return out


def _dot(x: Array, y: Array) -> Any:
    total = x[0] * y[0]
    for i in range(1, x.size):
        total = total + x[i] * y[i]
    return total


def _normalised(x: Array) -> Array:
    """Columns of norm 1; those that are zero stay."""
    out = np.zeros_like(x)
    for j in range(x.shape[1]):
        size = _norm(x[:, j])
        if size > 0:
            out[:, j] = x[:, j] / x.dtype.type(size)
    return out


def _updated(results: list[LowRankUpdate]) -> LowRankUpdate:
    update, momentum, basis = zip(*results, strict=True)
    return LowRankUpdate(np.stack(update), np.stack(momentum), basis[0])


@one_program(_updated, checked=_matrices)
def dion_update(
    comm: Communicator, matrix: ArrayLike, momentum: ArrayLike, basis: ArrayLike, mu: float = 0.95
) -> LowRankUpdate:
    """Dion's update: of rank r, one side orthonormal and the columns of the other of norm 1, with error feedback.

    B_p = M_p + G_p; U = orthonormal(mean B_p Q); R_p = B_p^T U; M_p <- B_p - (1 - mu) U R_p^T; Q <- columns of mean R_p
    over their norms; the update is U Q^T (Ahn, Xu, Abreu, Langford 2025, arXiv:2504.05295).

    Parameters
    ----------
    stack : (P, m, n) float32 or float64
        The ranks' gradients; finite.
    momentum : (P, m, n)
        In matrix p what rank p keeps, M_p; it reads no other.
    basis : (n, r)
        Q of the step before, or any; 1 <= r <= min(m, n).
    mu : float
        What is kept of what was sent, in [0, 1].

    Returns
    -------
    state : LowRankUpdate
        Where mean B_p Q has dependent columns, those that nothing is left of are zero in U, and so in the update.
    traffic : Traffic
        In words: ring all-reduces of m r and of n r entries; phases left and right. That every rank keeps what it has
        of R, and not the average, changes no average.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says, of matrices; a state of another shape or dtype; mu outside [0, 1].

    Examples
    --------
    >>> zero = np.zeros((1, 2, 2))
    >>> state, _ = dion_update([[[3.0, 0.0], [0.0, 4.0]]], zero, [[0.0], [1.0]], 0.5)
    >>> state.update[0].tolist(), state.momentum[0].tolist()
    ([[0.0, 0.0], [0.0, 1.0]], [[3.0, 0.0], [0.0, 2.0]])
    """
    x = _own(comm, matrix, {"mu": mu})
    P, (m, n), dtype = comm.size, x.shape, x.dtype
    held, q, part = comm.common(
        lambda: (_checked(momentum, "momentum", (P, m, n), dtype), _checked_basis(basis, m, n, dtype), _checked_mu(mu))
    )
    if not comm.one_caller:
        agreed_alike(comm, {"the checksum of basis": checksum(q)})
    with np.errstate(over="ignore", invalid="ignore"):
        b = held[comm.rank] + x
        with comm.within("left"):
            left = _averaged(comm, _times(b, q))
        u = comm.shared(lambda: _orthonormal(left))
        own = _times(np.ascontiguousarray(b.T), u)
        with comm.within("right"):
            right = _averaged(comm, own)
        after = comm.shared(lambda: _normalised(right))
        kept = b - dtype.type(1 - part) * _times(u, np.ascontiguousarray(own.T))
        return LowRankUpdate(_times(u, np.ascontiguousarray(after.T)), kept, after)


def _checked(value: ArrayLike, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    array = as_array(value, name)
    if array.dtype.newbyteorder("=") != dtype:
        raise TypeError(f"{name} must be {dtype}, as the stack, got {array.dtype}")
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return np.ascontiguousarray(array, dtype)


def _checked_basis(basis: ArrayLike, m: int, n: int, dtype: np.dtype[Any]) -> Array:
    array = as_array(basis, "basis")
    if array.ndim != 2 or not 1 <= array.shape[1] <= min(m, n):
        raise ValueError(f"basis must be ({n}, r) with r in [1, {min(m, n)}], got shape {array.shape}")
    return _checked(array, "basis", (n, array.shape[1]), dtype)


def _checked_mu(mu: float) -> float:
    value = checked_real("mu", mu)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"mu must be in [0, 1], got {shown(mu)}")
    return value


COLLECTIVES: dict[str, Any] = {"muon_update": muon_update, "dion_update": dion_update}
"""What is run and counted here, by name."""
