"""One step, all choices of all ranks gone through: what is expected of it, in rational numbers where these fit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.verify.experiments.feedback.runs import EPS, lifted, square
from commbounds.verify.study import Case

Array = NDArray[Any]

SHAPES = ((1, 1, 1), (1, 2, 1), (1, 2, 2), (2, 2, 1), (1, 4, 1), (2, 4, 2), (4, 2, 1), (2, 4, 1))
"""Ranks, entries and entries sent, powers of two all: then every number of a step is exact."""
OTHERS = ((3, 3, 1), (1, 3, 2), (2, 5, 2), (3, 2, 1))
"""Such that are not."""


def choices(P: int, n: int, k: int) -> Iterator[Array]:
    """Every way for every rank to choose k of n entries, (P, k)."""
    for rows in itertools.product(itertools.combinations(range(n), k), repeat=P):
        yield np.array(rows, np.int64)


def case_of(x: Array, **settings: Any) -> Case:
    """A case whose array is the ranks' gradients; the rest of its data follows from its settings."""
    P, n = x.shape
    return Case({"P": P, "n": n, "keep": "random", **settings}, x)


def drawn(P: int, n: int, k: int, seed: int, **settings: Any) -> Case:
    """Small integers times 64, not all zero; or normal numbers, if it is not ``exact``."""
    rng = np.random.default_rng([seed, P, n, k])
    exact = settings.setdefault("exact", True)
    x = 64.0 * rng.integers(-4, 5, (P, n)) if exact else rng.standard_normal((P, n))
    x[0, 0] += 64.0 * float(not x.any())
    return case_of(x, k=k, seed=seed, **settings)


def beside(case: Case, what: int) -> Array:
    """Further data of the case, like its gradients: number `what`."""
    s = case.settings
    rng = np.random.default_rng([s["seed"], what, *case.array.shape])
    if s["exact"]:
        return np.asarray(64.0 * rng.integers(-4, 5, case.array.shape))
    return np.asarray(rng.standard_normal(case.array.shape) * s.get("size", 1.0))


def factor(case: Case) -> Fraction:
    """Omega of Rand-K."""
    return Fraction(case.settings["n"], case.settings["k"]) - 1


def number(case: Case, name: str) -> Fraction:
    """A setting that is a number or a fraction in words, exactly."""
    return Fraction(case.settings[name])


def steps(case: Case) -> list[dict[str, Any]]:
    """What makes the step go each way: entries for every rank; none where they are the largest."""
    s = case.settings
    if s["keep"] == "largest":
        return [{"keep": "largest"}]
    return [{"kept": kept} for kept in choices(s["P"], s["n"], s["k"])]


def ways_of(P: int, n: int, k: int, keep: str) -> list[dict[str, Any]]:
    """What makes a step go each way: entries for every rank; none where they are the largest."""
    return [{"keep": "largest"}] if keep == "largest" else [{"kept": kept} for kept in choices(P, n, k)]


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


def lift(case: Case, array: Any) -> Array:
    """The array as the case computes: in Fractions, if it is exact."""
    return lifted(array, case.settings["exact"])


def ranks_mean(rows: Array) -> Array:
    """The average of the rows, divided once."""
    return np.asarray(rows.sum(axis=0) / len(rows))


def room(case: Case, *sizes: Any) -> float:
    """Rounding that a measured square may carry: some hundred operations on numbers of these squares."""
    if case.settings["exact"]:
        return 0.0
    return 512 * EPS * float(sum(float(size) for size in sizes))


def own_rank(case: Case, rows: Array) -> Array:
    """The row of one rank, which differs from case to case: all are to hold the same."""
    return np.asarray(rows[case.settings["seed"] % len(rows)])


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
