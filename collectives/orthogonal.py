"""Orthogonalised updates: Muon's, by Newton-Schulz iterations, EF21-Muon's, of what the largest entries have told, and
Dion's, of low rank and with error feedback.

Numbers that leave the dtype's range become infinite or NaN: divide beforehand.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.collectives._peers import checked_count
from commbounds.collectives._stack import checked_stack, checked_state
from commbounds.collectives.dense.allreduce import ring_allreduce
from commbounds.collectives.ranks._agreement import agreed_alike, agreed_row, checksum
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import one_program
from commbounds.collectives.sparse.entries import dense_sum, gathered_entries
from commbounds.compressors.base import as_array, checked_choice, checked_real, shown

Coefficients = tuple[float, float, float]

_OPTIMAL: tuple[Coefficients, ...] = (
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
    (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
    (1.891301407787398, -1.2679958271945868, 0.37680408948524835),
    (1.8750014808534479, -1.2500016453999487, 0.3750001645474248),
)
"""Of Polar Express for singular values from 1/1000 on, before the safety factor (Amsel et al. 2025, algorithm 1)."""


def _safe(coefficients: Coefficients, factor: float = 1.01) -> Coefficients:
    """The polynomial at x over the factor."""
    a, b, c = coefficients
    return a / factor, b / factor**3, c / factor**5


_PADE = (15 / 8, -10 / 8, 3 / 8)
ITERATIONS: Mapping[str, tuple[Coefficients, ...]] = MappingProxyType(
    {
        "muon": ((3.4445, -4.7750, 2.0315),),
        "cubic": ((1.5, -0.5, 0.0),),
        "quintic": (_PADE,),
        # the matrix is divided by 1.01 times its norm, and all polynomials but the last are made safe
        "polar_express": (_safe(_safe(_OPTIMAL[0])), *map(_safe, _OPTIMAL[1:]), _PADE),
    }
)
"""Coefficients a, b, c of X <- a X + b (X X^T) X + c (X X^T)^2 X, step by step, of which the last go on: Muon's own,
Newton-Schulz's of degree 3 and 5, and Polar Express."""

ARITHMETIC = ("dtype", "bfloat16")
"""What the iterations are computed in: the dtype of the stack; or, as the authors' code does, bfloat16."""

RIGHT = ("columns", "orthonormal")
"""What Dion makes of the right factor: columns of norm 1, as in the authors' code; orthonormal ones, as Orth-Dion."""


class TrackedUpdate(NamedTuple):
    """After a step of `ef21_muon`.

    Parameters
    ----------
    update : (P, m, n)
        The estimate with its singular values brought near one; the same on every rank.
    own : (P, m, n)
        In matrix p what all would have as the gradient of rank p.
    estimate : (P, m, n)
        Of the average gradient; the same on every rank.
    """

    update: Array
    own: Array
    estimate: Array


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


def _orthogonalised(x: Array, steps: int, coefficients: tuple[Coefficients, ...]) -> Array:
    """Of a matrix with no more rows than columns, divided by its norm; zero stays zero."""
    size = x.dtype.type(_norm(x))
    if size == 0:
        return np.zeros_like(x)
    x = x / size
    for step in range(steps):
        a, b, c = (x.dtype.type(value) for value in coefficients[min(step, len(coefficients) - 1)])
        gram = _times(x, np.ascontiguousarray(x.T))
        x = a * x + _times(b * gram + c * _times(gram, gram), x)
    return np.asarray(x)


def _bfloat16(x: ArrayLike) -> Array:
    """Rounded to bfloat16, by way of float32 as torch does it; in float32."""
    return np.asarray(x, np.float32).astype(ml_dtypes.bfloat16).astype(np.float32)


def _orthogonalised_in_bfloat16(x: Array, steps: int, coefficients: tuple[Coefficients, ...]) -> Array:
    """The same line by line as the authors' code has it, which adds 1e-7 to the norm: all results are rounded."""
    size = _bfloat16(_norm(_bfloat16(x)))
    now = _bfloat16(_bfloat16(x) / _bfloat16(size + np.float32(1e-7)))
    for step in range(steps):
        a, b, c = map(np.float32, coefficients[min(step, len(coefficients) - 1)])
        gram = _bfloat16(_times(now, np.ascontiguousarray(now.T)))
        inner = _bfloat16(_bfloat16(b * gram) + _bfloat16(_times(_bfloat16(c * gram), gram)))
        now = _bfloat16(_bfloat16(a * now) + _bfloat16(_times(inner, now)))
    return now.astype(x.dtype)


_COMPUTED = {"dtype": _orthogonalised, "bfloat16": _orthogonalised_in_bfloat16}


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
def muon_update(
    comm: Communicator, matrix: ArrayLike, steps: int = 5, iteration: str = "muon", arithmetic: str = "dtype"
) -> Array:
    """Muon's update: the average gradient, all of whose singular values are brought near one.

    X <- G/||G||_F, then X <- a X + b (X X^T) X + c (X X^T)^2 X, `steps` times (Jordan et al. 2024).

    Parameters
    ----------
    stack : (P, m, n) float32 or float64
        The ranks' gradients (or momenta); finite.
    steps : int
        Iterations, >= 0.
    iteration : {"muon", "cubic", "quintic", "polar_express"}
        Coefficients: see `ITERATIONS`.
    arithmetic : {"dtype", "bfloat16"}
        What the iterations are computed in. "bfloat16" is what the authors' code does: every result of an operation
        is rounded to bfloat16, products of matrices are summed in float32 from the first term to the last, and 1e-7
        is added to the norm.

    Returns
    -------
    update : (P, m, n) dtype of stack
        The same on every rank. A matrix with more rows than columns is transposed meanwhile. Zero stays zero; in the
        arithmetic "dtype" nothing is added to the norm, and a matrix the squares of whose entries underflow in float64
        becomes zero.
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
    x = _own(comm, matrix, {"steps": steps, "iteration": iteration, "arithmetic": arithmetic})
    count, name, computed = comm.common(
        lambda: (
            checked_count(steps, "steps", 0),
            checked_choice("iteration", iteration, ITERATIONS),
            checked_choice("arithmetic", arithmetic, ARITHMETIC),
        )
    )
    mean = _averaged(comm, x)
    return _near_one(comm, mean, count, name, computed)


def _near_one(comm: Communicator, mean: Array, count: int, name: str, arithmetic: str = "dtype") -> Array:
    """The matrix that all ranks have, its singular values brought near one."""
    with np.errstate(over="ignore", invalid="ignore"):
        tall = mean.shape[0] > mean.shape[1]
        found = comm.shared(
            lambda: _COMPUTED[arithmetic](np.ascontiguousarray(mean.T if tall else mean), count, ITERATIONS[name])
        )
        return np.ascontiguousarray(found.T if tall else found)


def _tracked(results: list[TrackedUpdate]) -> TrackedUpdate:
    return TrackedUpdate(*map(np.stack, zip(*results, strict=True)))


@one_program(_tracked, checked=_matrices)
def ef21_muon(
    comm: Communicator,
    matrix: ArrayLike,
    own: ArrayLike,
    estimate: ArrayLike,
    k: int,
    steps: int = 5,
    iteration: str = "muon",
) -> TrackedUpdate:
    """EF21-Muon's update: ranks send the k largest entries of what their gradient differs from its estimate by.

    R_p = TopK(G_p - E_p); E_p <- E_p + R_p; E <- E + mean R_p; the update is E with its singular values brought near
    one (Gruntkowska, Gaponov, Tovmasyan, Richtarik 2025, arXiv:2510.00643, its workers' side).

    Parameters
    ----------
    stack : (P, m, n) float32 or float64
        The ranks' gradients (or momenta); finite.
    own : (P, m, n)
        In matrix p what all would have as the gradient of rank p, E_p; it reads no other.
    estimate : (m, n)
        What all ranks have of the average gradient, E.
    k : int
        Entries that a rank sends; 1 <= k <= m n. Ties go to the lowest index, row by row.
    steps, iteration
        As for `muon_update`.

    Returns
    -------
    state : TrackedUpdate
        Messages are added up in the order of the ranks, and divided once.
    traffic : Traffic
        In words: an index and a value an entry; messages go round a ring.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says, of matrices; a state of another shape or dtype; k out of range; as `muon_update` says.

    Examples
    --------
    >>> zero = np.zeros((1, 2, 2))
    >>> state, traffic = ef21_muon([[[3.0, 0.0], [0.0, 4.0]]], zero, zero[0], 1, 1, "cubic")
    >>> state.update[0].tolist(), state.own[0].tolist(), traffic.sent.tolist()
    ([[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 4.0]], [0])
    """
    x = _own(comm, matrix, {"k": k, "steps": steps, "iteration": iteration})
    P, (m, n), dtype = comm.size, x.shape, x.dtype
    held, now, kept, count, name = comm.common(
        lambda: (
            checked_state(own, "own", (P, m, n), dtype),
            checked_state(estimate, "estimate", (m, n), dtype),
            checked_count(k, "k", 1, m * n),
            checked_count(steps, "steps", 0),
            checked_choice("iteration", iteration, ITERATIONS),
        )
    )
    if not comm.one_caller:
        agreed_alike(comm, {"the checksum of estimate": checksum(now)})
    with np.errstate(over="ignore", invalid="ignore"):
        difference = (x - held[comm.rank]).reshape(-1)
        where = np.sort(np.argsort(-np.abs(difference), kind="stable")[:kept])
        messages = gathered_entries(comm, (where, difference[where].copy()), m * n)
        total = comm.shared(lambda: dense_sum(messages, m * n, dtype))
        mine = held[comm.rank].reshape(-1).copy()
        mine[where] += difference[where]
        after = now + (total / dtype.type(P)).reshape(m, n)
    return TrackedUpdate(_near_one(comm, after, count, name), mine.reshape(m, n), after)


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
    comm: Communicator,
    matrix: ArrayLike,
    momentum: ArrayLike,
    basis: ArrayLike,
    mu: float = 0.95,
    right: str = "columns",
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
    right : {"columns", "orthonormal"}
        What the right factor is made of the mean R_p: its columns over their norms, or orthonormal ones, by Gram and
        Schmidt (Orth-Dion: Nakamori et al. 2026, arXiv:2605.16341).

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
        As `checked_stack` says, of matrices; a state of another shape or dtype; mu outside [0, 1]; an unknown
        right factor.

    Examples
    --------
    >>> zero = np.zeros((1, 2, 2))
    >>> state, _ = dion_update([[[3.0, 0.0], [0.0, 4.0]]], zero, [[0.0], [1.0]], 0.5)
    >>> state.update[0].tolist(), state.momentum[0].tolist()
    ([[0.0, 0.0], [0.0, 1.0]], [[3.0, 0.0], [0.0, 2.0]])
    """
    x = _own(comm, matrix, {"mu": mu, "right": right})
    P, (m, n), dtype = comm.size, x.shape, x.dtype
    held, q, part = comm.common(
        lambda: (
            checked_state(momentum, "momentum", (P, m, n), dtype),
            _checked_basis(basis, m, n, dtype),
            _checked_mu(mu, right),
        )
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
            found = _averaged(comm, own)
        after = comm.shared(lambda: _normalised(found) if right == "columns" else _orthonormal(found))
        kept = b - dtype.type(1 - part) * _times(u, np.ascontiguousarray(own.T))
        return LowRankUpdate(_times(u, np.ascontiguousarray(after.T)), kept, after)


def _checked_basis(basis: ArrayLike, m: int, n: int, dtype: np.dtype[Any]) -> Array:
    array = as_array(basis, "basis")
    if array.ndim != 2 or not 1 <= array.shape[1] <= min(m, n):
        raise ValueError(f"basis must be ({n}, r) with r in [1, {min(m, n)}], got shape {array.shape}")
    return checked_state(array, "basis", (n, array.shape[1]), dtype)


def _checked_mu(mu: float, right: str) -> float:
    checked_choice("right", right, RIGHT)
    value = checked_real("mu", mu)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"mu must be in [0, 1], got {shown(mu)}")
    return value


COLLECTIVES: dict[str, Any] = {"muon_update": muon_update, "ef21_muon": ef21_muon, "dion_update": dion_update}
"""What is run and counted here, by name."""
