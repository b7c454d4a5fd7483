"""Computations that are split over ranks, in rounded arithmetic, operation by operation: no message is sent."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Floats
from commbounds.collectives.precision.simulation import rounded
from commbounds.compressors.base import as_numbers, checked_count, checked_flag, checked_real, of_python_numbers
from commbounds.theory.precision.formats import format_named

COMPUTATIONS = ("product", "gradient", "loss", "distance", "norm", "root", "step")
"""What is computed: of `split_computation`."""


@of_python_numbers
def split_computation(
    stack: ArrayLike,
    of: str = "product",
    accumulate: str = "float32",
    wire: str | None = None,
    *,
    tf32: bool = False,
    batches: int = 1,
    replicas: int = 1,
    divisor: int = 1,
    target: int = 0,
    eps: float = 0.0625,
) -> Floats:
    """What all ranks end with, who have a part of the inputs each.

    Sums are made one after another in the accumulator's format, parts are rounded to the wire's, and their sums too.

    Parameters
    ----------
    stack : (P, m) array_like of numbers
        Rank by rank: slices of a row and of a column, one behind the other (product); the gradients of so many
        micro-batches (gradient, step); logits of its classes (loss, distance); its part of a sum (norm, root).
        P >= 1, finite.
    of : {"product", "gradient", "loss", "distance", "norm", "root", "step"}
        Sum over ranks of the slices' products. Sum of all micro-batches, divided by `divisor`. log sum exp(x - max) -
        (x_t - max). Mean of max - x by the softmax's weights. Sum over its root mean square, eps added to the mean
        square. The root of the sum, and g/(|g| + eps) of the gradient, by themselves in float64.
    accumulate, wire : str
        Formats; the accumulator's where the second is None.
    tf32 : bool
        Whether a product's operands are rounded to eleven digits first.
    batches, replicas, divisor : int
        Micro-batches of a rank; groups of ranks that are reduced first; by what the sum is divided.
    target : int
        Number of the target's class among all.
    eps : float
        Of a norm, and of a step; at least 0.

    Returns
    -------
    float64 array
        One number (product, loss, distance, root), or an entry each.

    Raises
    ------
    ValueError
        Shapes do not fit, a number is out of range, or there is no such computation or format.

    Examples
    --------
    >>> split_computation([[1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 1.0]])
    array([13.])
    """
    x = as_numbers(stack, "stack", np.float64)
    sent = accumulate if wire is None else wire
    if x.ndim != 2 or not x.size or not np.isfinite(x).all():
        raise ValueError(f"stack must be (P, m) and finite, P >= 1 and m >= 1, got the shape {x.shape}")
    if of not in COMPUTATIONS:
        raise ValueError(f"of must be one of {', '.join(COMPUTATIONS)}, got {of!r}")
    if not format_named(accumulate).holds(format_named(sent)):
        raise ValueError(f"accumulate must hold all numbers of {sent}, got {accumulate}")
    P, m = x.shape
    if of == "product" and m % 2:
        raise ValueError(f"stack must have two slices of one length, got {m} numbers")
    for name, count in (("batches", batches), ("replicas", replicas), ("divisor", divisor)):
        checked_count(name, count)
    if m % batches or P % replicas:
        raise ValueError(f"batches must divide {m}, and replicas {P}, got {batches} and {replicas}")
    checked_count("target", target, 0, x.size - 1)
    checked_flag("tf32", tf32)
    if not checked_real("eps", eps) >= 0.0:
        raise ValueError(f"eps must be at least 0, got {eps}")
    if of == "product":
        return _product(x, accumulate, sent, tf32)
    if of in ("gradient", "step"):
        g = _gradient(x, accumulate, sent, batches, replicas, divisor)
        steps: Floats = np.divide(g, np.abs(g) + eps, out=np.zeros_like(g), where=g != 0.0)
        return g if of == "gradient" else steps
    if of == "distance":
        z = x.max() - x
        return np.array([(z * np.exp(-z)).sum() / np.exp(-z).sum()])
    if of == "loss":
        return _loss(x, accumulate, sent, target)
    total = _added(list(x), sent)
    if of == "root":
        found: Floats = np.sqrt(np.array([(total**2).mean() + eps]))
        return found
    return _normed(total, accumulate, eps)


def _added(rows: Sequence[Floats], form: str) -> Floats:
    """One after another, in a format."""
    found: Floats = reduce(lambda total, row: rounded(total + row, form), (rounded(row, form) for row in rows))
    return found


def _product(x: Floats, form: str, sent: str, tf32: bool) -> Floats:
    if tf32:
        fraction, exponent = np.frexp(x)
        x = np.ldexp(np.rint(np.ldexp(fraction, 11)), exponent - 11)
    half = x.shape[1] // 2
    parts = [_added(list(rounded(row[:half] * row[half:], form)[:, None]), form) for row in x]
    return _added(parts, sent)


def _gradient(x: Floats, form: str, sent: str, batches: int, replicas: int, divisor: int) -> Floats:
    own = [_added(list(row.reshape(batches, -1)), form) for row in x]
    size = len(x) // replicas
    shards = [_added(own[r * size : (r + 1) * size], sent) for r in range(replicas)]
    return rounded(_added(shards, sent) / divisor, sent)


def _loss(x: Floats, form: str, sent: str, target: int) -> Floats:
    z = rounded(x - x.max(), form)
    parts = [_added(list(rounded(np.exp(row), form)[:, None]), form) for row in z]
    log = rounded(np.log(rounded(_added(parts, sent), form)), form)
    return rounded(log - z.reshape(-1)[target], form)


def _normed(x: Floats, form: str, eps: float) -> Floats:
    x = rounded(x, form)
    squares = _added(list(rounded(x**2, form)[:, None]), form)
    mean = rounded(squares * rounded(1.0 / len(x), form), form)
    root = rounded(np.sqrt(rounded(mean + rounded(eps, form), form)), form)
    found: Any = np.divide(x, root, out=np.zeros_like(x), where=x != 0.0)
    return rounded(found, form)
