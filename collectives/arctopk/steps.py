"""What a rank of ARC-Top-K does by itself: its sketch, the scores of the rows, and the rows that it takes."""

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats, Integers
from commbounds.collectives._stack import checked_stack
from commbounds.compressors._blocks import run_all, spans
from commbounds.compressors.base import as_numbers, checked_count, checked_rng, is_finite, shown

MOST_COLUMNS = 2**16
"""Of a sketch, which has so many numbers for every column of a matrix."""

_SKETCHES: dict[str, np.dtype[Any]] = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
"""Formats that a rank's sketch may be rounded to."""


_BEYOND = 1 << 20
"""More than the exponent of any score."""
_SMALL = 2.0**-400
"""Numbers between this and its inverse have squares, and sums of them, that are floats."""
_LANES = 64
"""Partial sums of an inner product: independent chains of additions, which the compiler may vectorise."""


@njit(cache=True, nogil=True)
def _inner_products(rows, columns, lanes, out):  # type: ignore[no-untyped-def]
    # out[j, c] = sum over i of rows[j, i] columns[c, i]: lane l sums i = l mod _LANES, four at a time; then the lanes
    # pairwise, those that are in use
    n = rows.shape[1]
    whole, used = n // (4 * _LANES) * (4 * _LANES), 1
    while used < min(n, _LANES):
        used *= 2
    for j in range(rows.shape[0]):
        for c in range(columns.shape[0]):
            lanes[:used] = 0
            for start in range(0, whole, 4 * _LANES):
                x = rows[j, start : start + 4 * _LANES]
                v = columns[c, start : start + 4 * _LANES]
                for i in range(_LANES):
                    first = x[i] * v[i] + x[i + _LANES] * v[i + _LANES]
                    second = x[i + 2 * _LANES] * v[i + 2 * _LANES] + x[i + 3 * _LANES] * v[i + 3 * _LANES]
                    lanes[i] += first + second
            for i in range(whole, n):
                lanes[i % _LANES] += rows[j, i] * columns[c, i]
            width = used // 2
            while width > 0:
                for i in range(width):
                    lanes[i] += lanes[i + width]
                width //= 2
            out[j, c] = lanes[0]


@njit(cache=True, nogil=True)
def _copy_rows(stack, rows, first, last, out):  # type: ignore[no-untyped-def]
    # out[p, i] = stack[p, rows[p, i]] for the pairs first .. last of (p, i)
    kept = rows.shape[1]
    for q in range(first, last):
        p, i = q // kept, q % kept
        source = stack[p, rows[p, i]]
        target = out[p, i]
        for c in range(source.size):
            target[c] = source[c]


def _sketched(stack: Array, V: Array) -> Array:
    """Every rank's gradient times V: (P, m, rank), summed in the gradients' dtype."""
    P, m, n = stack.shape
    rows, columns = stack.reshape(P * m, n), np.ascontiguousarray(V.T)
    out = np.empty((P * m, V.shape[1]), stack.dtype)
    jobs = []
    for start, stop in spans(stack.size, n):
        part = slice(start // n, stop // n)
        jobs.append(partial(_inner_products, rows[part], columns, np.empty(_LANES, stack.dtype), out[part]))
    run_all(jobs, stack.size)
    return out.reshape(P, m, -1)


def rows_of_all(stack: Array, rows: Integers) -> Array:
    """The rows that every rank selected: (P, K, n)."""
    out = np.empty((*rows.shape, stack.shape[2]), stack.dtype)
    n = stack.shape[2]
    parts = spans(out.size, n)
    run_all([partial(_copy_rows, stack, rows, start // n, stop // n, out) for start, stop in parts], out.size)
    return out


def rounded_sketches(stack: Array, V: Array, form: np.dtype[Any], name: str = "gradients") -> Array:
    """The gradients' products with V over the root of its columns, rounded to a format: (P, m, rank).

    Raises
    ------
    ValueError
        A gradient is not finite; a sketch that is too large is not looked for.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        sketches = _sketched(stack, V) / np.sqrt(stack.dtype.type(V.shape[1]))
    if not is_finite(sketches):  # NaN or infinity in a row makes its sketch one, and so may an overflow
        checked_stack(stack.reshape(len(stack), -1), name)
    rounded: Array = sketches.astype(form).astype(stack.dtype)
    return rounded


def selected_rows(sums: Array, P: int, kept: int) -> tuple[Integers, Floats]:
    """The rows of largest score, ascending, and the scores: of sums (..., m, rank) of the sketches of `P` ranks.

    Rows are compared by their scores' significands and exponents, as squares of small and large numbers leave the range
    of a float, and then the scores that are returned are zero or infinite. A sum that has overflowed is the largest.
    """
    averages = sums.astype(np.float64) / P
    largest = np.abs(averages).max(axis=-1)
    if ((largest == 0.0) | ((largest > _SMALL) & (largest < 1 / _SMALL))).all():
        scores = np.square(averages).sum(axis=-1)
        return np.sort(np.argsort(-scores, axis=-1, kind="stable")[..., :kept], axis=-1), scores
    over = np.asarray(~np.isfinite(averages).all(axis=-1))
    largest = np.where(over, 1.0, largest)
    exponents = np.frexp(largest)[1]
    scaled = np.where(over[..., None], 1.0, np.ldexp(averages, -exponents[..., None]))
    significands, carried = np.frexp(np.square(scaled).sum(axis=-1))
    exponents = np.where(over, _BEYOND, np.where(largest > 0.0, 2 * exponents + carried, -_BEYOND))
    order = np.lexsort((-significands, -exponents), axis=-1)  # stable: of equal scores the lower row
    with np.errstate(over="ignore", under="ignore"):
        scores = np.ldexp(significands, exponents)
    return np.sort(order[..., :kept], axis=-1), scores


def put_averages(totals: Array, rows: Integers, P: int, out: Array) -> None:
    """Put the averages of `P` ranks' rows, of which `totals` are the sums, where they belong in a matrix of zeros."""
    out[rows] = totals.reshape(rows.size, -1) / out.dtype.type(P)


def own_order(sketches: Array, rank: int) -> Array:
    """The sum of all ranks' sketches as `rank` computes it, which begins with its own."""
    total: Array = np.zeros_like(sketches[0])
    for i in range(len(sketches)):
        total = total + sketches[(rank + i) % len(sketches)]
    return total


def checked_rank(rank: Any) -> int:
    """`rank` as a number of columns, at most `MOST_COLUMNS`."""
    return checked_count("rank", rank, 1, MOST_COLUMNS)


def checked_format(sketch_format: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The format of that name; `dtype` for none."""
    if not isinstance(sketch_format, str) or sketch_format not in ("", *_SKETCHES):
        raise ValueError(f"sketch_format must be empty or one of {', '.join(_SKETCHES)}, got {shown(sketch_format)}")
    return _SKETCHES.get(sketch_format, dtype)


def checked_sketch(sketch: ArrayLike | None, n: int, rank: int, rng: np.random.Generator | None) -> Array:
    """V: drawn, or as given.

    Raises
    ------
    TypeError, ValueError
        There is no generator to draw from; V has another shape than (n, rank), or is not finite.
    """
    if sketch is None:
        return checked_rng(rng).standard_normal((n, rank))
    V = as_numbers(sketch, "sketch", np.float64)
    if V.shape != (n, rank):
        raise ValueError(f"sketch must have shape {(n, rank)}, got {V.shape}")
    if not is_finite(V):
        raise ValueError("sketch must be finite, got NaN or infinity")
    return V
