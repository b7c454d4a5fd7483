"""ARC-Top-K: Top-K over rows, agreed on through an all-reduced sketch, so that no index is sent."""

import zlib
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats, Integers
from commbounds.collectives._stack import checked_stack, of_one_kind
from commbounds.collectives.arctopk.steps import (
    checked_format,
    checked_rank,
    checked_sketch,
    own_order,
    put_averages,
    rounded_sketches,
    rows_of_all,
    selected_rows,
)
from commbounds.collectives.dense.allreduce import allgather, ring_allreduce
from commbounds.collectives.ranks._agreement import agreed_alike
from commbounds.collectives.ranks.communicator import Communicator
from commbounds.collectives.ranks.one_program import Collective, fused_program
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.base import (
    MAX_ENTRIES,
    as_array,
    checked_choice,
    checked_count,
    checked_flag,
    checked_real,
    is_finite,
    of_python_numbers,
    shown,
)


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
    rows: Integers
    scores: Floats


@dataclass(frozen=True, eq=False)
class ArcRankResult:
    """What one rank ends with: its part of an `ArcResult`.

    Parameters
    ----------
    mean : (m, n) dtype of the gradient
        The average of the compressed gradients, as the rank holds it: zero outside its rows.
    rows : (K,) int64
        The rows that it selected, ascending.
    scores : (m,) float64
        The scores that it selected them by.
    """

    mean: Array
    rows: Integers
    scores: Floats


@of_python_numbers
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
    rows = checked_count("m", m, 1, MAX_ENTRIES)
    if not 0.0 < checked_real("share", share) <= 1.0:
        raise ValueError(f"share must be in (0, 1], got {share}")
    checked_choice("rule", rule, ("ceil", "floor"))
    given: Any = share
    part: Any = given if isinstance(given, Fraction) else float(given)
    return int(-(-part * rows // 1)) if rule == "ceil" else max(1, int(part * rows // 1))


def _checked_gradients(gradients: ArrayLike) -> Array:
    array = of_one_kind(gradients, "gradients")
    if array.ndim != 3:
        raise ValueError(f"gradients must be (P, m, n), one matrix for every rank, got shape {array.shape}")
    if 0 in array.shape:
        raise ValueError(f"gradients must have at least one rank, row and column, got shape {array.shape}")
    return checked_stack(array.reshape(array.shape[0], -1), "gradients", finite=False).reshape(array.shape)


def _fused(
    stack: Array,
    K: int,
    rank: int,
    rng: np.random.Generator | None = None,
    *,
    sketch: ArrayLike | None = None,
    sketch_format: str = "",
    allreduce: Collective[[], Array, tuple[Array, Traffic]] = ring_allreduce,
    agree: bool = True,
) -> tuple[ArcResult, Traffic]:
    P, m, n = stack.shape
    kept, columns = checked_count("K", K, 1, m), checked_rank(rank)
    checked_flag("agree", agree)
    if not isinstance(allreduce, Collective):
        raise TypeError(f"allreduce must be a collective of the package, got {shown(allreduce)}")
    if sketch is None and rng is None:  # nothing will be sketched, which would show what is not finite
        checked_stack(stack.reshape(P, -1), "gradients")
    V = checked_sketch(sketch, n, columns, rng).astype(stack.dtype)
    sketches = rounded_sketches(stack, V, checked_format(sketch_format, stack.dtype))
    if not is_finite(sketches):
        checked_stack(stack.reshape(P, -1), "gradients")
        raise ValueError(f"gradients must be so small that their sketches are finite, got up to {abs(stack).max():.3g}")
    sums, about_sketch = (allreduce if agree else _own_orders)(sketches.reshape(P, m * columns))
    apart = 1 if agree else P  # every rank ends with the same bits if they agree
    rows, scores = selected_rows(sums[:apart].reshape(apart, m, columns), P, kept)
    if agree:
        rows, scores = np.repeat(rows, P, axis=0), np.repeat(scores, P, axis=0)
    totals, about_rows = allreduce(rows_of_all(stack, rows).reshape(P, kept * n))
    mean = np.zeros_like(stack[:apart])
    for one, own_totals, own_rows in zip(mean, totals, rows, strict=not agree):
        put_averages(own_totals, own_rows, P, one)
    mean = np.broadcast_to(mean, stack.shape) if agree else mean
    return ArcResult(mean, rows, scores), Traffic.of_phases({"sketch": about_sketch, "rows": about_rows})


def _own_orders(sketches: Array) -> tuple[Array, Traffic]:
    """The sum as every rank computes it from all sketches, beginning with its own."""
    _, traffic = allgather(sketches)
    return np.stack([own_order(sketches, rank) for rank in range(len(sketches))]), traffic


@fused_program(_fused, stack="gradients", checked=_checked_gradients)
def arctopk_allreduce(
    comm: Communicator,
    gradient: ArrayLike,
    K: int,
    rank: int,
    rng: np.random.Generator | None = None,
    *,
    sketch: ArrayLike | None = None,
    sketch_format: str = "",
    allreduce: Collective[[], Array, tuple[Array, Traffic]] = ring_allreduce,
    agree: bool = True,
) -> ArcRankResult:
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
    allreduce : Collective
        Adds up vectors; every rank must end with the same bits.
    agree : bool
        False gathers the sketches and lets every rank add them up beginning with its own: masks may then differ, and
        the all-reduce of rows without indices mixes them up.

    Returns
    -------
    ArcResult
        Of scores that are equal the lower row is selected. Scores of rows below 1e-154 or above 1e154 are shown as zero
        or infinity, but told apart; those of rows whose sketches overflow in the sum count as largest.
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
    stack, kept, V, form = comm.agreed(lambda: _checked_on_rank(gradient, K, rank, rng, sketch, sketch_format))
    _, m, n = stack.shape
    agreed_alike(
        comm,
        {
            "the shape of gradients": (m, n),
            "the dtype of gradients": stack.dtype.name,
            "K": kept,
            "sketch_format": sketch_format,
            "agree": bool(agree),
            "allreduce": allreduce.__name__,
            "the checksum of the sketch matrix": zlib.crc32(V.tobytes()),
        },
    )
    own = comm.agreed(lambda: rounded_sketches(stack, V, form, "gradient")).reshape(-1)
    with comm.within("sketch"):
        sums = (
            allreduce.on_rank(comm, own)
            if agree
            else own_order(allgather.on_rank(comm, own).reshape(comm.size, -1), comm.rank)
        )
    rows, scores = selected_rows(sums.reshape(m, -1), comm.size, kept)
    with comm.within("rows"):
        totals = allreduce.on_rank(comm, rows_of_all(stack, rows[np.newaxis]).reshape(-1))
    mean = np.zeros_like(stack[0])
    put_averages(totals, rows, comm.size, mean)
    return ArcRankResult(mean, rows, scores)


def _checked_on_rank(
    gradient: ArrayLike,
    K: int,
    rank: int,
    rng: np.random.Generator | None,
    sketch: ArrayLike | None,
    sketch_format: str,
) -> tuple[Array, int, Array, np.dtype[Any]]:
    """The gradient as a stack of one, the rows to keep, V and the format of sketches."""
    array = as_array(gradient, "gradient")
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"gradient must be (m, n) with at least one row and column, got shape {array.shape}")
    stack = checked_stack(array.reshape(1, -1), "gradient", finite=False).reshape(1, *array.shape)
    kept, columns = checked_count("K", K, 1, len(array)), checked_rank(rank)
    V = checked_sketch(sketch, array.shape[1], columns, rng).astype(stack.dtype)
    return stack, kept, V, checked_format(sketch_format, stack.dtype)
