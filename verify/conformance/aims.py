"""What an output is compared with: the input of a compressor or an all-gather; the sum over the ranks, or the mean."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.verify.conformance.claim import NotHere, Number, number
from commbounds.verify.conformance.inputs import generic
from commbounds.verify.conformance.subject import AllGather, AllReduce, Stateful, Subject, parameters_of

UNIT = 2.0**-53
ROUNDINGS = 8.0
"""That an entry may go through on its way, besides those of sums: a scale, a quotient, a product, and what follows."""


def float_sums(x: Array) -> tuple[Floats, Floats, Floats]:
    """Sums over the ranks in float64, of numbers of any size, how far they may be off, and sums of the magnitudes."""
    rows, P = x.reshape(len(x), -1).astype(np.float64), len(x)
    sizes = np.abs(rows).sum(axis=0).reshape(x.shape[1:])
    if x.dtype != np.float64:
        return rows.sum(axis=0).reshape(x.shape[1:]), (P - 1) * UNIT * sizes, sizes
    exact = np.array([math.fsum(column) for column in rows.T.tolist()]).reshape(x.shape[1:])
    return exact, (P > 1) * UNIT * np.abs(exact), sizes  # rounded once


def aim(subject: Subject, x: Array) -> Floats:
    """What a subject without any error would answer, in float64; the same row for every rank."""
    if not isinstance(subject, AllReduce):
        return brought_out(subject, x)
    return _on_every_rank(subject, x.astype(np.float64) if isinstance(subject, AllGather) else float_sums(x)[0], len(x))


def brought_out(subject: Subject, y: Array) -> Floats:
    """An output in float64; of a subject with memory what came out up to every step."""
    wide: Floats = y.astype(np.float64)
    return wide.cumsum(axis=0) if isinstance(subject, Stateful) else wide


def _on_every_rank(subject: AllReduce, total: Floats, P: int) -> Floats:
    """What is brought, or a sum that is divided for a mean, once for every rank."""
    row = total / P if subject.op == "mean" else total
    broad: Floats = np.repeat(row[None], P, axis=0)
    return broad


def magnitudes(subject: Subject, x: Array) -> Floats:
    """What entries of the output may come from: |x|, or sum over the ranks of |x_p|, over P for a mean."""
    sizes = np.abs(x.astype(np.float64))
    if not isinstance(subject, AllReduce):
        return brought_out(subject, sizes)
    return _on_every_rank(subject, sizes if isinstance(subject, AllGather) else float_sums(x)[2], len(x))


def require_room(subject: Subject, x: Array) -> None:
    """Nothing, if twice the sum of the magnitudes over the rows is within the dtype: what is lost may make it more.

    Raises
    ------
    NotHere
        The subject adds over ranks or steps, and it is not.
    """
    if isinstance(subject, Stateful | AllReduce) and not isinstance(subject, AllGather):
        largest = float(ml_dtypes.finfo(x.dtype).max)  # type: ignore[no-untyped-call]
        if not 2.0 * float(float_sums(x)[2].max()) <= largest:
            raise NotHere("the sum may be beyond the dtype")


def farthest(subject: Subject, x: Array) -> Floats:
    """What every entry is at most: max |x|; of an all-reduce the sum of the ranks' max |x_p|, over P for a mean."""
    wide = np.abs(x.astype(np.float64))
    tops = wide.reshape(len(x), -1).max(axis=1)
    if not isinstance(subject, AllReduce):
        most = np.full(len(x), tops.max()) if subject.leading == 0 else tops.cumsum()
        return np.repeat(most, x[0].size).reshape(x.shape)
    row = (
        np.repeat(tops, x[0].size).reshape(x.shape)
        if isinstance(subject, AllGather)
        else np.full(x.shape[1:], tops.sum())
    )
    return _on_every_rank(subject, row, len(x))


def roundings(subject: Subject, x: Array) -> int:
    """Roundings of an entry besides those of a right compressor: of sums over ranks or steps, and a division."""
    adds = isinstance(subject, Stateful | AllReduce) and not isinstance(subject, AllGather)
    return 2 * (len(x) - 1) if adds else 0


def square_error(subject: Subject, x: Array, y: Array) -> Floats:
    """||y - aim||^2 over the squared norm of the input, of every rank; of a compressor there is one.

    The squared norm of an all-reduce's input is the sum of ||x_p||^2 over the ranks, over P^2 for a mean. NaN where the
    output is not finite; the input is not zero.
    """
    wide = x.astype(np.float64)
    top = float(np.abs(wide).max())
    off = (y.astype(np.float64) - aim(subject, x)) / top
    errors: Floats = (off.reshape(len(x), -1) ** 2).sum(axis=1) if isinstance(subject, AllReduce) else (off**2).sum()
    divisor = len(x) if isinstance(subject, AllReduce) and subject.op == "mean" else 1
    relative = np.atleast_1d(errors) * divisor**2 / float(((wide / top) ** 2).sum())
    return np.where(np.isfinite(relative), relative, np.nan)


def aimed_share(subject: Subject, x: Array) -> float:
    """||aim||^2 over the squared norm of the input, as `square_error` has it: 1 of a compressor."""
    if not isinstance(subject, AllReduce):
        return 1.0
    return float(square_error(subject, x, np.zeros_like(x))[0])


def sized(name: str, value: Number, subject: Subject, x: Array, high: float = math.inf) -> float:
    """A claim's number at an input: a function gets n of vectors, m and n of matrices; P of an all-reduce besides.

    Raises
    ------
    NoBound
        See `number`.
    """
    if not callable(value):
        return number(name, value, high=high)
    shape = x.shape[subject.leading :]
    names = "mn"[-len(shape) :] if len(shape) < 3 else map(str, range(len(shape)))
    sizes = dict(zip(names, shape, strict=True)) | ({"P": len(x)} if isinstance(subject, AllReduce) else {})
    return number(name, value, *given_sizes(value, sizes), high=high)


def given_sizes(function: Callable[..., Any], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The sizes in the order of the function's parameters, if these are named after them; else as they come."""
    names = parameters_of(function)
    return tuple(sizes[name] for name in names) if names and {*names} <= {*sizes} else tuple(sizes.values())


def generic_case(subject: Subject, rng: np.random.Generator, size: int, P: int = 0) -> Array | None:
    """An input whose entries are neither small nor ordered, as `generic` gives rows; of an all-reduce a row a rank."""
    if not isinstance(subject, AllReduce):
        return generic(subject, rng, size)
    P = P or max(subject.ranks)
    multiple = subject.multiple(P)
    rows = [generic(subject, rng, -(-size // multiple) * multiple) for _ in range(P)]
    found = [row for row in rows if row is not None]
    stack = np.stack(found) if len(found) == len(rows) else None
    return stack if stack is not None and subject.takes(stack) else None
