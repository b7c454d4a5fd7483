"""ARC-Top-K: Top-K over rows, agreed on through an all-reduced sketch, so that no index is sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from commbounds.collectives._stack import checked_stack
from commbounds.collectives.dense import allgather, ring_allreduce
from commbounds.collectives.traffic import Traffic
from commbounds.compressors._blocks import run_all, spans
from commbounds.compressors.base import checked_count, checked_rng

__all__ = ["ArcResult", "arctopk_allreduce", "row_count"]

Array = NDArray[Any]
AllReduce = Callable[[Array], tuple[Array, Traffic]]

_SKETCHES: dict[str, np.dtype[Any]] = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
"""Formats that a rank's sketch may be rounded to."""


@dataclass(frozen=True, eq=False)
class ArcResult:
    """What every rank ends with.

    Parameters
    ----------
    mean : (P, m, n) dtype of the gradients
        The average of the compressed gradients, as each rank holds it: zero outside its rows. Where all ranks hold the
        same it is stored once, and cannot be written to.
    rows : (P, K) int64
        The rows that each rank selected, ascending.
    scores : (P, m) float64
        The scores that it selected them by.
    """

    mean: Array
    rows: NDArray[np.int64]
    scores: NDArray[np.float64]


def row_count(m: int, share: float, rule: str = "ceil") -> int:
    """Rows kept of `m` at the ratio `share`: ``ceil`` keeps the contraction 1 - share, ``floor`` does not.

    Parameters
    ----------
    m : int
        Rows; >= 1.
    share : float or Fraction
        In (0, 1]. Products with a float are rounded before they are cut: pass a Fraction for what is meant.
    rule : str
        "ceil", or "floor" with at least one row, as in published hooks.

    Examples
    --------
    >>> row_count(9, 0.2), row_count(9, 0.2, "floor")
    (2, 1)
    """
    rows = checked_count("m", m)
    if not 0 < share <= 1:
        raise ValueError(f"share must be in (0, 1], got {share}")
    if rule not in ("ceil", "floor"):
        raise ValueError(f"rule must be ceil or floor, got {rule!r}")
    return int(-(-share * rows // 1)) if rule == "ceil" else max(1, int(share * rows // 1))


def arctopk_allreduce(
    gradients: ArrayLike,
    K: int,
    rank: int,
    rng: np.random.Generator | None = None,
    *,
    sketch: ArrayLike | None = None,
    sketch_format: str = "",
    allreduce: AllReduce = ring_allreduce,
    agree: bool = True,
) -> tuple[ArcResult, Traffic]:
    """The average of the ranks' gradients on the K rows whose average is largest, as seen through a sketch.

    All ranks draw one Gaussian V of shape (n, rank) from a shared seed; rank p sends G_p V / sqrt(rank), the average
    is all-reduced, a row's score is its squared norm there, and the K rows of largest score are all-reduced without
    indices (arXiv 2510.26709; the method as third parties report it, its own text was not read).

    Parameters
    ----------
    gradients : (P, m, n) float32 or float64
        One matrix for every rank; rows are what is selected. A vector of d entries is (d, 1). Finite.
    K : int
        Rows to keep; in [1, m].
    rank : int
        Columns of the sketch; >= 1.
    rng : numpy.random.Generator
        Draws V; required without `sketch`.
    sketch : (n, rank) array or None
        V itself.
    sketch_format : str
        What a rank's sketch is rounded to before it is sent: "", float64, float32 or bfloat16. Empty for the
        gradients' dtype. Sums are taken in the gradients' dtype.
    allreduce : callable
        Adds up (P, words) stacks; every rank must end with the same bits.
    agree : bool
        False gathers the sketches and lets every rank add them up beginning with its own: masks may then differ, and
        the all-reduce of rows without indices mixes them up.

    Returns
    -------
    ArcResult
        Of scores that are equal the lower row is selected.
    Traffic
        Phases "sketch" and "rows"; words.

    Raises
    ------
    TypeError, ValueError
        `gradients` is no (P, m, n) stack of finite floats, K or rank is out of range, or V has another shape.

    Notes
    -----
    In exact arithmetic the average of the compressed gradients is the compressed average, whatever the ranks hold.

    Examples
    --------
    >>> import numpy as np
    >>> stack = np.array([[[3.0], [1.0], [-2.0]], [[-3.0], [1.0], [-2.0]]])
    >>> result, traffic = arctopk_allreduce(stack, 1, 1, sketch=[[1.0]])
    >>> result.rows.tolist(), result.mean[0].ravel().tolist()
    ([[2], [2]], [0.0, 0.0, -2.0])
    """
    stack = _checked_gradients(gradients)
    P, m, n = stack.shape
    kept, columns = checked_count("K", K, 1, m), checked_count("rank", rank)
    if sketch is None and rng is None:  # nothing will be sketched, which would show what is not finite
        checked_stack(stack.reshape(P, -1), "gradients")
    V = _checked_sketch(sketch, n, columns, rng).astype(stack.dtype)
    form = _SKETCHES.get(sketch_format, stack.dtype) if sketch_format in ("", *_SKETCHES) else None
    if form is None:
        raise ValueError(f"sketch_format must be empty or one of {', '.join(_SKETCHES)}, got {sketch_format!r}")
    with np.errstate(over="ignore", invalid="ignore"):
        sketches = _sketched(stack, V) / np.sqrt(stack.dtype.type(columns))
    if not np.isfinite(sketches).all():  # NaN or infinity in a row makes its sketch one, and so may an overflow
        checked_stack(stack.reshape(P, -1), "gradients")
    sketches = sketches.astype(form).astype(stack.dtype)
    sums, about_sketch = (_allreduced if agree else _own_orders)(sketches.reshape(P, m * columns), allreduce)
    averages = sums.reshape(P, m, columns).astype(np.float64) / P
    scores = np.square(averages).sum(axis=2)
    rows = np.sort(np.argsort(-scores, axis=1, kind="stable")[:, :kept], axis=1)
    totals, about_rows = allreduce(_taken(stack, rows).reshape(P, kept * n))
    averaged = totals.reshape(P, kept, n)
    if agree:  # every rank ends with the same bits
        one = np.zeros_like(stack[0])
        one[rows[0]] = averaged[0] / stack.dtype.type(P)
        mean = np.broadcast_to(one, stack.shape)
    else:
        mean = np.zeros_like(stack)
        np.put_along_axis(mean, rows[:, :, None], averaged / stack.dtype.type(P), axis=1)
    return ArcResult(mean, rows, scores), Traffic.of_phases({"sketch": about_sketch, "rows": about_rows})


def _checked_gradients(gradients: ArrayLike) -> Array:
    array = np.asarray(gradients)
    if array.ndim != 3:
        raise ValueError(f"gradients must be (P, m, n), one matrix for every rank, got shape {array.shape}")
    if 0 in array.shape:
        raise ValueError(f"gradients must have at least one rank, row and column, got shape {array.shape}")
    return checked_stack(array.reshape(array.shape[0], -1), "gradients", finite=False).reshape(array.shape)


_LANES = 64
"""Partial sums of an inner product: independent chains of additions, which the compiler may vectorise."""


@njit(cache=True, nogil=True)
def _inner_products(rows, columns, lanes, out):  # type: ignore[no-untyped-def]
    # out[j, c] = sum over i of rows[j, i] columns[c, i]: lane l sums i = l mod _LANES, four at a time; then the lanes
    # pairwise
    n = rows.shape[1]
    whole = n // (4 * _LANES) * (4 * _LANES)
    for j in range(rows.shape[0]):
        for c in range(columns.shape[0]):
            lanes[:] = 0
            for start in range(0, whole, 4 * _LANES):
                x = rows[j, start : start + 4 * _LANES]
                v = columns[c, start : start + 4 * _LANES]
                for i in range(_LANES):
                    first = x[i] * v[i] + x[i + _LANES] * v[i + _LANES]
                    second = x[i + 2 * _LANES] * v[i + 2 * _LANES] + x[i + 3 * _LANES] * v[i + 3 * _LANES]
                    lanes[i] += first + second
            for i in range(whole, n):
                lanes[i % _LANES] += rows[j, i] * columns[c, i]
            width = _LANES // 2
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


def _taken(stack: Array, rows: NDArray[np.int64]) -> Array:
    """The rows that every rank selected: (P, K, n)."""
    out = np.empty((*rows.shape, stack.shape[2]), stack.dtype)
    n = stack.shape[2]
    parts = spans(out.size, n)
    run_all([partial(_copy_rows, stack, rows, start // n, stop // n, out) for start, stop in parts], out.size)
    return out


def _checked_sketch(sketch: ArrayLike | None, n: int, rank: int, rng: np.random.Generator | None) -> Array:
    if sketch is None:
        return checked_rng(rng).standard_normal((n, rank))
    V = np.asarray(sketch, dtype=np.float64)
    if V.shape != (n, rank):
        raise ValueError(f"sketch must have shape {(n, rank)}, got {V.shape}")
    if not np.isfinite(V).all():
        raise ValueError("sketch must be finite, got NaN or infinity")
    return V


def _allreduced(sketches: Array, allreduce: AllReduce) -> tuple[Array, Traffic]:
    """One sum for all."""
    return allreduce(sketches)


def _own_orders(sketches: Array, _allreduce: AllReduce) -> tuple[Array, Traffic]:
    """The sum as every rank computes it from all sketches, beginning with its own."""
    _, traffic = allgather(sketches)
    sums = np.empty_like(sketches)
    for p in range(len(sketches)):
        total = np.zeros_like(sketches[0])
        for i in range(len(sketches)):
            total = total + sketches[(p + i) % len(sketches)]
        sums[p] = total
    return sums, traffic
