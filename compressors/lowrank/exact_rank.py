"""Best approximations of low rank in exact arithmetic, where singular values have a closed form."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from commbounds.compressors._surds import Surd, root

Rows = Sequence[tuple[Any, ...]]


def best_approximation(rows: Rows, rank: int) -> Rows:
    """The best approximation of a matrix by one of rank at most `rank`, as rows of Fractions or surds.

    Parameters
    ----------
    rows : sequence of tuples of Fractions
        The matrix.
    rank : int
        In [1, min(m, n)].

    Returns
    -------
    sequence of tuples
        Of equally long orthogonal rows (columns) those of lowest index stay.

    Raises
    ------
    ValueError
        Neither rows nor columns are orthogonal, nor only two.
    """
    columns = _transposed(rows)
    if rank == min(len(rows), len(columns)):
        return rows
    if _orthogonal(rows):
        return _longest_kept(rows, rank)
    if _orthogonal(columns):
        return _transposed(_longest_kept(columns, rank))
    if len(rows) == 2:
        return _best_rank_one(rows[0], rows[1])
    if len(columns) == 2:
        return _transposed(_best_rank_one(columns[0], columns[1]))
    raise ValueError("x must have orthogonal rows or columns, or at most two of either, for an exact law")


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


def _orthogonal(rows: Rows) -> bool:
    return all(_dot(rows[i], rows[j]) == 0 for i in range(len(rows)) for j in range(i))


def _transposed(rows: Rows) -> Rows:
    return list(zip(*rows, strict=True))


def _longest_kept(rows: Rows, rank: int) -> Rows:
    kept = sorted(range(len(rows)), key=lambda i: (-_dot(rows[i], rows[i]), i))[:rank]
    return [row if i in kept else (Fraction(0),) * len(row) for i, row in enumerate(rows)]


def _best_rank_one(first: tuple[Fraction, ...], second: tuple[Fraction, ...]) -> Rows:
    # Pi M with Pi = (G - mu I)/(lambda - mu), G = M M^T, lambda > mu its eigenvalues (equal only for orthogonal rows)
    a, b, c = _dot(first, first), _dot(first, second), _dot(second, second)
    gap = root((a - c) ** 2 + 4 * b * b)
    inverse_gap = gap * (1 / ((a - c) ** 2 + 4 * b * b))

    def weight(entry: Fraction) -> Fraction | Surd:
        # (entry - mu)/gap with mu = (a + c - gap)/2
        return inverse_gap * (entry - (a + c) / 2) + Fraction(1, 2)

    off = inverse_gap * b
    return [
        tuple(weight(a) * p + off * q for p, q in zip(first, second, strict=True)),
        tuple(off * p + weight(c) * q for p, q in zip(first, second, strict=True)),
    ]
