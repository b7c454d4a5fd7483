"""Low-rank compressors of matrices: PowerSGD and the best approximation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats
from commbounds.compressors._surds import exact_law
from commbounds.compressors.base import (
    Compressor,
    Law,
    Message,
    as_array,
    check_part,
    checked_array,
    checked_count,
    checked_exact,
    checked_message,
    checked_rng,
    finite_reading,
    is_finite,
    shown,
)
from commbounds.compressors.lowrank.exact_rank import best_approximation

Matrix = Floats
_UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class Factors(Message):
    """A matrix as the product left right^T.

    Parameters
    ----------
    left : (m, rank) float32 or float64
        Left factor, in the dtype of the compressed matrix.
    right : (n, rank) float32 or float64
        Right factor.
    """

    left: Array
    right: Array

    @property
    def bits(self) -> int:
        """Exact size on the wire: both factors at their dtype."""
        return (self.left.size + self.right.size) * 8 * self.dtype.itemsize

    def check(self) -> None:
        super().check()
        if len(self.shape) != 2:
            raise ValueError(f"shape of the message must have 2 dimensions, got {self.shape}")
        rank = self.left.shape[-1] if type(self.left) is np.ndarray and self.left.ndim else 1
        check_part("left", self.left, (self.shape[0], rank), (self.dtype,))
        check_part("right", self.right, (self.shape[1], rank), (self.dtype,))


@njit(cache=True, nogil=True)
def _scales(exponent):  # type: ignore[no-untyped-def]
    """Two factors whose product is 2^-exponent, which itself may be too large or too small."""
    half = -exponent // 2
    return math.ldexp(1.0, half), math.ldexp(1.0, -exponent - half)


@njit(cache=True, nogil=True)
def _scale_to_one(matrix):  # type: ignore[no-untyped-def]
    """Scale by 2^-exponent, in place, so that the largest entry is in [1/2, 1), or all are zero; the exponent.

    Exact but for entries that become subnormal.
    """
    top = 0.0
    for value in matrix.flat:
        top = max(top, abs(value))
    exponent = math.frexp(top)[1]
    first, second = _scales(exponent)
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            matrix[i, j] = matrix[i, j] * first * second
    return exponent


@njit(cache=True, nogil=True)
def orthonormalise(columns, noise):  # type: ignore[no-untyped-def]
    """Replace columns by orthonormal ones that span the same, column by column; dependent ones become zero.

    Modified Gram-Schmidt, twice per column. Signs follow the columns': the j-th new one has a positive product with the
    j-th old one.

    Parameters
    ----------
    columns : (m, rank) float64
        Free of overflow: entries around one. Written to.
    noise : (rank,) float64
        A column whose part orthogonal to the earlier ones is no longer than this is dependent.
    """
    m, rank = columns.shape
    for j in range(rank):
        for _ in range(2):
            for i in range(j):
                along = 0.0
                for row in range(m):
                    along += columns[row, i] * columns[row, j]
                for row in range(m):
                    columns[row, j] -= along * columns[row, i]
        square = 0.0
        for row in range(m):
            square += columns[row, j] * columns[row, j]
        norm = math.sqrt(square)
        for row in range(m):
            columns[row, j] = columns[row, j] / norm if norm > noise[j] else 0.0


@njit(cache=True, nogil=True)
def _power_step(matrix, sketch, single):  # type: ignore[no-untyped-def]
    """Left factor, rounded; right factor over 2^exponent; the exponent. `matrix` and `sketch` are written to."""
    m, n = matrix.shape
    rank = sketch.shape[1]
    exponent = _scale_to_one(matrix)
    square = 0.0
    for value in matrix.flat:
        square += value * value
    noise = np.empty(rank)
    for j in range(rank):
        top, length = 0.0, 0.0
        for i in range(n):
            top = max(top, abs(sketch[i, j]))
        first, second = _scales(math.frexp(top)[1])
        for i in range(n):
            sketch[i, j] = sketch[i, j] * first * second
            length += sketch[i, j] * sketch[i, j]
        # rounding errors of a column of M S and of its projections: n, and m + 2 for each earlier column, half units
        # in the last place of ||M|| ||S_j||
        noise[j] = (n + 2 * rank * (m + 2)) * _UNIT * math.sqrt(square) * math.sqrt(length)
    left = np.dot(matrix, sketch)
    orthonormalise(left, noise)
    if single:
        for i in range(m):
            for j in range(rank):
                left[i, j] = np.float32(left[i, j])
    return left, np.dot(matrix.T, left), exponent


@njit(cache=True, nogil=True)
def _product(left, right):  # type: ignore[no-untyped-def]
    """Left times right^T, over 2^exponent, and the exponent; both are written to."""
    exponent = _scale_to_one(left) + _scale_to_one(right)
    return np.dot(left, right.T), exponent


def _rounded_factors(array: Array, left: Matrix, right: Matrix, exponent: int) -> Factors:
    with np.errstate(over="ignore"):
        factors = left.astype(array.dtype), np.ldexp(right, exponent).astype(array.dtype)
    if not is_finite(factors[1]):  # columns of the left one are no longer than one
        raise ValueError(f"the factors of x must not exceed the largest finite {array.dtype}: scale x down")
    return Factors(array.shape, array.dtype, *factors)


class _LowRank(Compressor):
    """What both share: matrices, and how a message is read."""

    ndim = 2

    def decompress(self, message: Factors) -> Array:
        """The matrix that `message` stands for, with the shape and dtype of the compressed one."""
        checked_message(message, Factors, ndim=2)
        product, exponent = _product(message.left.astype(np.float64), message.right.astype(np.float64))
        with np.errstate(over="ignore"):
            whole: Array = np.ldexp(product, exponent).astype(message.dtype)
        return finite_reading(whole)


def _checked_matrix(x: ArrayLike, rank: int) -> Array:
    array = checked_array(x, 2)
    checked_count("rank", rank, 1, min(array.shape))
    return array


def _sketched(array: Array, sketch: Matrix) -> Factors:
    """The message for a sketch, which is written to."""
    return _rounded_factors(array, *_power_step(array.astype(np.float64), sketch, array.dtype == np.float32))


@dataclass(frozen=True)
class PowerSGD(_LowRank):
    """One step of power iteration from a Gaussian sketch: C(M) = P P^T M with P = orth(M S) (Vogels et al. 2019).

    Parameters
    ----------
    rank : int
        Columns r of the sketch S, an n x r matrix of independent normal entries; in [1, min(m, n)].

    Notes
    -----
    E||C(M) - M||^2 <= (1 - r/min(m, n)) ||M||^2 in the Frobenius norm, over a sketch that is drawn afresh, attained by
    equal singular values. With a warm-started sketch (`compress_with` the right factor of the last message) no such
    bound holds for one step. Matrices of rank at most r are reproduced almost surely, up to rounding.
    Computed in float64; P, rounded to the dtype, and M^T P of the rounded P are sent: (m + n) r 8 itemsize bits. The
    columns of M S are orthogonalised by modified Gram-Schmidt, each twice. One that is dependent on the earlier ones,
    what is left of it no longer than (n + 2 r (m + 2)) 2^-53 ||M|| ||S_j||, gives a zero column of P. Bits may depend
    on the linear algebra library, which multiplies matrices.

    Examples
    --------
    >>> import numpy as np
    >>> PowerSGD(1)(np.array([[2.0, 0.0], [0.0, 0.0]]), np.random.default_rng(0))
    array([[2., 0.],
           [0., 0.]])
    """

    rank: int
    randomised = True
    claims = (
        "lowrank.powersgd.contraction",
        "lowrank.powersgd.nonexpansive",
        "lowrank.powersgd.determinant",
        "lowrank.powersgd.wire",
        "lowrank.powersgd.sign_symmetry",
        "lowrank.powersgd.scale_equivariance",
        "lowrank.powersgd.idempotence",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "rank", checked_count("rank", self.rank))

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Factors:
        """The message for `x`, with a fresh Gaussian sketch from `rng`; see `Compressor.compress`."""
        array = _checked_matrix(x, self.rank)
        return _sketched(array, checked_rng(rng).standard_normal((array.shape[1], self.rank)))

    def compress_with(self, x: ArrayLike, sketch: ArrayLike) -> Factors:
        """The message for `x` when the sketch is `sketch`.

        Parameters
        ----------
        x : (m, n) float32 or float64
            Finite, not empty.
        sketch : (n, rank) float
            Finite. The last message's right factor for a warm start.

        Raises
        ------
        ValueError
            `sketch` has another shape or is not finite.
        """
        array = _checked_matrix(x, self.rank)
        columns = np.asarray(sketch, dtype=np.float64)
        if columns.shape != (array.shape[1], self.rank):
            raise ValueError(f"sketch must have shape {(array.shape[1], self.rank)}, got {columns.shape}")
        if not is_finite(columns):
            raise ValueError("sketch must be finite, got NaN or infinity")
        return _sketched(array, columns.copy())

    def law(self, x: Any) -> Law:
        """Refused: the sketch is Gaussian, so the output has no finite law.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError("PowerSGD has no finite law: its sketch is Gaussian")


@dataclass(frozen=True)
class LowRank(_LowRank):
    """The best approximation of rank at most ``rank``: the singular value decomposition, truncated.

    C(M) = sum of sigma_i u_i v_i^T over the r largest singular values sigma_i.

    Parameters
    ----------
    rank : int
        Singular values kept, r; in [1, min(m, n)].

    Notes
    -----
    ||C(M) - M||^2 <= (1 - r/min(m, n)) ||M||^2 in the Frobenius norm surely, equality iff all singular values are equal
    (or r = min(m, n)). With sigma_r = sigma_(r+1) the best approximation is not unique: which one comes out is up to
    the linear algebra library. Computed in float64; left singular vectors, their largest entry positive, and right
    ones times the singular values are sent in the dtype: (m + n) r 8 itemsize bits.

    Examples
    --------
    >>> import numpy as np
    >>> LowRank(1)(np.array([[3.0, 0.0], [0.0, 1.0]]))
    array([[3., 0.],
           [0., 0.]])
    """

    rank: int
    claims = (
        "lowrank.lowrank.contraction",
        "lowrank.lowrank.wire",
        "lowrank.lowrank.sign_symmetry",
        "lowrank.lowrank.scale_equivariance",
        "lowrank.lowrank.idempotence",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "rank", checked_count("rank", self.rank))

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Factors:
        """The message for `x`; see `Compressor.compress`."""
        array = _checked_matrix(x, self.rank)
        matrix = array.astype(np.float64)
        exponent = _scale_to_one(matrix)
        u, sigma, vt = np.linalg.svd(matrix, full_matrices=False)
        left, right = u[:, : self.rank], (vt[: self.rank] * sigma[: self.rank, None]).T
        signs = np.where(left[abs(left).argmax(axis=0), np.arange(self.rank)] < 0, -1.0, 1.0)
        return _rounded_factors(array, left * signs, right * signs, exponent)

    def law(self, x: Any) -> Law:
        """The one outcome, with probability 1, for matrices whose singular values have a closed form.

        Parameters
        ----------
        x : sequence of rows
            With at most two rows or columns, or with orthogonal rows or columns. Of equal singular values of
            orthogonal rows (columns) the lowest index is kept.

        Raises
        ------
        ValueError
            Another matrix, or ragged rows.
        """
        if isinstance(x, str | bytes | Set | Mapping | type) or not hasattr(x, "__len__") or getattr(x, "ndim", 2) != 2:
            raise TypeError(f"x must be a sequence of rows, got {shown(x)}")
        rows = [checked_exact(row) for row in (as_array(x) if isinstance(x, np.ndarray) else x)]
        if len({len(row) for row in rows}) != 1:
            raise ValueError(f"x must have rows of one length, and at least one, got {shown(x)}")
        checked_count("rank", self.rank, 1, min(len(rows), len(rows[0])))
        best = best_approximation(rows, self.rank)
        return exact_law([(Fraction(1), tuple(value for row in best for value in row))])
