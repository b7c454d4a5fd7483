"""One step, all choices of all ranks gone through: what is expected of it, in rational numbers where these fit."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.experiments.feedback.runs import lifted, square
from commbounds.verify.space import Of


def choices(P: int, n: int, k: int) -> Iterator[Array]:
    """Every way for every rank to choose k of n entries, (P, k)."""
    for rows in itertools.product(itertools.combinations(range(n), k), repeat=P):
        yield np.array(rows, np.int64)


def as_found(found: Any) -> Any:
    """The measure of what a run finds itself, once for all claims."""
    return found


WAYS = "Steps that can go more than 64 ways, as all are gone through; eight and nine ranks are by hand."
WHOLE = Of("n", lambda n: n)
HALF = Of("half of n", lambda n: max(n // 2, 1))


def halved(number: Fraction) -> bool:
    """Whether binary fractions hold the number."""
    return number.denominator & (number.denominator - 1) == 0


def own_row(rows: Array, seed: int, exact: bool) -> Array:
    """The row of one rank, which differs from case to case: all are to hold the same."""
    return lifted(rows[seed % len(rows)], exact)


Ways = Sequence[Array | None]
"""The entries that ranks send, every way that a step can go; None where they are the largest."""


def ways_of(P: int, n: int, k: int, keep: str) -> Ways:
    """All of them where entries are random."""
    return [None] if keep == "largest" else list(choices(P, n, k))


def every_way(implementation: Any, ways: Ways, k: int, setting: Any, *vectors: Array) -> list[Any]:
    """What a step finds each way, of ranks that send k entries.

    All ways are one step, of vectors side by side: what becomes of an entry, no other entry decides.

    Parameters
    ----------
    implementation : callable (*vectors, k, setting, keep or kept)
        It returns an array, or a tuple of arrays with names, and the traffic; entries are along the last axis.
    ways : sequence of (P, k) arrays, or [None]
        See `ways_of`.
    """
    if ways[0] is None:
        return [implementation(*vectors, k, setting, keep="largest")[0]]
    count, n = len(ways), vectors[0].shape[-1]
    kept = np.concatenate([way + n * number for number, way in enumerate(ways) if way is not None], axis=1)
    found, _ = implementation(*(np.tile(vector, count) for vector in vectors), k * count, setting, kept=kept)
    if not isinstance(found, tuple):
        return np.split(found, count, axis=-1)
    columns = (np.split(field, count, axis=-1) for field in found)
    return [type(found)(*parts) for parts in zip(*columns, strict=True)]


def total(values: list[Any]) -> Any:
    """Of numbers or arrays, one after another."""
    return sum(values[1:], values[0])


def mean_square(rows: Array) -> Any:
    """Of the rows' norms."""
    return square(rows) / len(rows)


def averaged(values: list[Any]) -> Any:
    """The mean of equally likely values."""
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total / len(values)


def ranks_mean(rows: Array) -> Array:
    """The average of the rows, divided once."""
    return np.asarray(rows.sum(axis=0) / len(rows))


@dataclass(frozen=True)
class Bowls:
    """f_i(x) = sum_j (d_ij x_j^2/2 + c_ij x_j), whose average is least at zero, where it is zero.

    Parameters
    ----------
    curvatures, linear : (P, n)
        d and c; the columns of c add up to zero, and those of d to something that is not negative.
    """

    curvatures: Array
    linear: Array

    def gradients(self, x: Array) -> Array:
        """Those of all workers, (P, n)."""
        return np.asarray(self.curvatures * x + self.linear)

    def excess(self, x: Array) -> Any:
        """F - f*."""
        return (ranks_mean(self.curvatures) * x * x).sum() / 2

    @property
    def of_average(self) -> tuple[Any, Any]:
        """Least and largest curvature of f."""
        mean = ranks_mean(self.curvatures)
        return min(mean), max(mean)

    @property
    def of_workers(self) -> list[Any]:
        """Every worker's smoothness."""
        return [max(abs(row)) for row in self.curvatures]
