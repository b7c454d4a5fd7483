"""Gradients and SGD when the number of computed samples is random, as it is when work is dropped."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Floats, Integers
from commbounds.collectives._peers import checked_step_size
from commbounds.compressors.base import as_array, as_numbers, checked_choice, of_python_numbers, shown

Normalisation = Literal["fixed", "computed", "worker"]


def drop_gradient(gradients: ArrayLike, completed: ArrayLike, normalisation: Normalisation = "fixed") -> Floats:
    """The gradient of a step in which worker n computed its first `completed[n]` micro-batches.

    Parameters
    ----------
    gradients : (N, M, d) array
        Of every worker's micro-batches; finite.
    completed : (N,) int array
        In [0, M].
    normalisation : str
        "fixed" divides the sum by N M, as the released code does; "computed" by the number computed; "worker" takes
        every worker's mean, zero where it computed nothing, and the mean of those over all workers.

    Returns
    -------
    (d,) float64
        Zero where nothing was computed. Workers are added up in rank order.

    Examples
    --------
    >>> drop_gradient([[[1.0], [3.0]], [[5.0], [7.0]]], [2, 0], "computed").tolist()
    [2.0]
    """
    g, counts = checked_batches(gradients, completed, normalisation)
    total = in_rank_order([share_of_worker(row, count, normalisation) for row, count in zip(g, counts, strict=True)])
    N, M, _ = g.shape
    divisor = {"worker": N, "fixed": N * M, "computed": max(int(counts.sum()), 1)}[normalisation]
    return np.asarray(total / divisor)


def share_of_worker(gradients: Floats, count: int, normalisation: Normalisation) -> Floats:
    """What a worker contributes: the sum over its first `count` micro-batches, or under "worker" their mean."""
    total = np.asarray(gradients[:count].sum(axis=0))
    return np.asarray(total / max(count, 1)) if normalisation == "worker" else total


def in_rank_order(rows: Sequence[Floats]) -> Floats:
    """The sum of `rows`, one after another."""
    total = np.array(rows[0])
    for row in rows[1:]:
        total += row
    return total


def checked_batches(
    gradients: ArrayLike, completed: ArrayLike, normalisation: Normalisation
) -> tuple[Floats, Integers]:
    """`gradients` in float64 and `completed`, where they fit each other."""
    g, counts = as_numbers(gradients, "gradients", np.float64), as_array(completed, "completed")
    if g.ndim != 3 or 0 in g.shape:
        raise ValueError(f"gradients must be (N, M, d) with no empty axis, got shape {g.shape}")
    if not np.isfinite(g).all():
        raise ValueError("gradients must be finite, got NaN or infinity")
    if np.abs(g).max() > np.finfo(np.float64).max / (len(g) * g.shape[1]):
        raise ValueError(f"gradients must have sums within the range of floats, got {np.abs(g).max()}")
    if counts.shape != (len(g),) or counts.dtype.kind not in "iu":
        raise ValueError(f"completed must be {len(g)} integers, got {shown(completed)}")
    if counts.min() < 0 or counts.max() > g.shape[1]:
        raise ValueError(f"completed must be in [0, {g.shape[1]}], got {shown(completed)}")
    checked_choice("normalisation", normalisation, ("fixed", "computed", "worker"))
    return g, counts.astype(np.int64)


@of_python_numbers
def random_batch_sgd(
    start: ArrayLike, gradient: Callable[[Floats], Any], noise: ArrayLike, batches: ArrayLike, learning_rate: float
) -> Floats:
    """The iterates of SGD whose step i uses the first batches[i] of its samples, divided by the largest batch.

    x_{i+1} = x_i - (learning_rate / B) sum over s < batches[i] of (gradient(x_i) + noise[i, s]), B = noise.shape[1].

    A descent that diverges ends at infinity, or NaN.

    Parameters
    ----------
    start : (d,) array
        x_0.
    gradient : callable
        (d,) -> (d,), the full gradient.
    noise : (steps, B, d) array
        Added to the gradient of each sample.
    batches : (steps,) int array
        In [0, B].
    learning_rate : float
        Positive.

    Returns
    -------
    (steps, d) float64
        x_0 .. x_{steps - 1}: the points at which gradients were taken.

    Examples
    --------
    >>> random_batch_sgd([1.0], lambda x: x, np.zeros((3, 2, 1)), [2, 1, 0], 0.5).ravel().tolist()
    [1.0, 0.5, 0.375]
    """
    x, e = as_numbers(start, "start", np.float64).copy(), as_numbers(noise, "noise", np.float64)
    b = as_array(batches, "batches")
    if not (np.isfinite(x).all() and np.isfinite(e).all()):
        raise ValueError("start and noise must be finite, got NaN or infinity")
    if e.ndim != 3 or 0 in e.shape or x.shape != e.shape[2:]:
        raise ValueError(f"noise must be (steps, B, d) with d = {x.shape}, got shape {e.shape}")
    if b.shape != (len(e),) or b.dtype.kind not in "iu" or b.min() < 0 or b.max() > e.shape[1]:
        raise ValueError(f"batches must be {len(e)} integers in [0, {e.shape[1]}], got {shown(batches)}")
    checked_step_size(learning_rate, "learning_rate")
    if not callable(gradient):
        raise TypeError(f"gradient must be callable, got {shown(gradient)}")
    visited = np.empty((len(e), x.size))
    for i, count in enumerate(b):
        visited[i] = x
        full = np.asarray(gradient(x), dtype=np.float64)
        x = x - learning_rate / e.shape[1] * (count * full + e[i, :count].sum(axis=0))
    return visited
