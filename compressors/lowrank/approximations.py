"""Low-rank compressors of matrices: PowerSGD and the best approximation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.compressors._surds import exact_law
from commbounds.compressors.base import (
    Compressor,
    Law,
    Message,
    checked_array,
    checked_count,
    checked_exact,
    checked_rng,
)
from commbounds.compressors.lowrank.exact_rank import best_approximation

__all__ = ["Factors", "LowRank", "PowerSGD", "orthonormalised"]

Matrix = NDArray[np.float64]
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

    left: NDArray[Any]
    right: NDArray[Any]

    @property
    def bits(self) -> int:
        """Exact size on the wire: both factors at their dtype."""
        return (self.left.size + self.right.size) * 8 * self.dtype.itemsize


def _scaled_to_one(matrix: NDArray[Any]) -> tuple[Matrix, int]:
    # matrix = scaled 2^exponent exactly up to subnormals, largest |entry| of scaled in [1/2, 1), or all zero
    exponent = math.frexp(float(abs(matrix).max()))[1]
    return np.ldexp(matrix.astype(np.float64), -exponent), exponent


def orthonormalised(columns: Matrix, noise: Matrix) -> Matrix:
    """Orthonormal columns that span what `columns` span, column by column; dependent ones become zero.

    Modified Gram-Schmidt, twice per column.

    Parameters
    ----------
    columns : (m, rank) float64
        Free of overflow: entries around one.
    noise : (rank,) float64
        A column whose part orthogonal to the earlier ones is no longer than this is dependent.

    Returns
    -------
    (m, rank) float64
        Signs follow the columns': the j-th has a positive product with the j-th of `columns`.
    """
    out = np.zeros_like(columns)
    for j in range(columns.shape[1]):
        column = columns[:, j].copy()
        for _ in range(2):
            for i in range(j):
                column -= (out[:, i] @ column) * out[:, i]
        norm = float(np.sqrt(column @ column))
        if norm > noise[j]:
            out[:, j] = column / norm
    return out


def _rounded_factors(array: NDArray[Any], left: Matrix, right: Matrix, exponent: int) -> Factors:
    with np.errstate(over="ignore"):
        factors = left.astype(array.dtype), np.ldexp(right, exponent).astype(array.dtype)
    if not all(np.isfinite(f).all() for f in factors):
        raise ValueError(f"the factors of x must not exceed the largest finite {array.dtype}: scale x down")
    return Factors(array.shape, array.dtype, *factors)


class _LowRank(Compressor):
    """What both share: matrices, and how a message is read."""

    ndim = 2

    def decompress(self, message: Factors) -> NDArray[Any]:
        """The matrix that `message` stands for, with the shape and dtype of the compressed one."""
        left, left_exponent = _scaled_to_one(message.left)
        right, right_exponent = _scaled_to_one(message.right)
        with np.errstate(over="ignore"):
            return np.ldexp(left @ right.T, left_exponent + right_exponent).astype(message.dtype)


def _checked_matrix(x: ArrayLike, rank: int) -> NDArray[Any]:
    array = checked_array(x, 2)
    checked_count("rank", rank, 1, min(array.shape))
    return array


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
    Computed in float64; P, rounded to the dtype, and M^T P of the rounded P are sent: (m + n) r 8 itemsize bits. A
    column of M S that is dependent on the earlier ones, up to rounding, gives a zero column of P. Bits may depend on
    numpy's linear algebra library.

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
        checked_count("rank", self.rank)

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Factors:
        """The message for `x`, with a fresh Gaussian sketch from `rng`; see `Compressor.compress`."""
        array = _checked_matrix(x, self.rank)
        return self._sketched(array, checked_rng(rng).standard_normal((array.shape[1], self.rank)))

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
        if not np.isfinite(columns).all():
            raise ValueError("sketch must be finite, got NaN or infinity")
        return self._sketched(array, columns)

    def _sketched(self, array: NDArray[Any], sketch: Matrix) -> Factors:
        matrix, exponent = _scaled_to_one(array)
        columns = np.ldexp(sketch, -np.frexp(abs(sketch).max(axis=0))[1])
        m, n = matrix.shape
        # rounding errors of a column of M S and of its projections: n, and m + 2 for each earlier column, half units
        # in the last place of ||M|| ||S_j||
        noise = (n + 2 * self.rank * (m + 2)) * _UNIT * np.linalg.norm(matrix) * np.linalg.norm(columns, axis=0)
        left = orthonormalised(matrix @ columns, noise).astype(array.dtype).astype(np.float64)
        return _rounded_factors(array, left, matrix.T @ left, exponent)

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
    numpy's linear algebra library. Computed in float64; left singular vectors, their largest entry positive, and right
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
        checked_count("rank", self.rank)

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Factors:
        """The message for `x`; see `Compressor.compress`."""
        array = _checked_matrix(x, self.rank)
        matrix, exponent = _scaled_to_one(array)
        u, sigma, vt = np.linalg.svd(matrix, full_matrices=False)
        left, right = u[:, : self.rank], (vt[: self.rank] * sigma[: self.rank, None]).T
        signs = np.where(left[abs(left).argmax(axis=0), np.arange(self.rank)] < 0, -1.0, 1.0)
        return _rounded_factors(array, left * signs, right * signs, exponent)

    def law(self, x: Sequence[Sequence[Any]]) -> Law:
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
        rows = [checked_exact(row) for row in x]
        if len({len(row) for row in rows}) != 1:
            raise ValueError("x must have rows of one length, and at least one")
        checked_count("rank", self.rank, 1, min(len(rows), len(rows[0])))
        best = best_approximation(rows, self.rank)
        return exact_law([(Fraction(1), tuple(value for row in best for value in row))])
