"""Exact measurement of averages among peers: whole-number inputs, distortions, enumeration of failures."""

import itertools
from collections.abc import Iterator
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from commbounds.array_types import Array, Mask
from commbounds.theory import claims
from commbounds.verify.experiment import bound_at
from commbounds.verify.study import Case, Study

_SMALL = 2**16
"""Of integers below it, that many squares add up to less than 2^63."""


def whole_numbers(x: Array) -> tuple[Array, int]:
    """Integers i and a power of two s with x = i / s, exactly; Python's own where squares might be too large."""
    scale = 1
    while not np.array_equal(x * scale, np.rint(x * scale)):
        scale *= 2
    if np.abs(x).max(initial=0.0) * scale < _SMALL and len(x) < _SMALL:
        return (x * scale).astype(np.int64), scale
    return np.array([int(v * scale) for v in x.ravel()], object).reshape(x.shape), scale


def mean_of(stack: Array) -> tuple[Fraction, ...]:
    """The exact mean of the rows."""
    numbers, scale = whole_numbers(np.asarray(stack, np.float64))
    return tuple(Fraction(int(total), scale * len(stack)) for total in numbers.sum(axis=0))


def mean_shift(before: Array, after: Array) -> Fraction:
    """The exact squared distance between the means of the rows."""
    return sum(((a - b) ** 2 for a, b in zip(mean_of(before), mean_of(after), strict=True)), Fraction(0))


def distortions(stack: Array, start: Array | None = None) -> list[Fraction]:
    """The exact distortion of every column by itself, about the mean of `start`, or about its own."""
    numbers, scale = whole_numbers(np.asarray(stack, np.float64))
    about, unit = (numbers, scale) if start is None else whole_numbers(np.asarray(start, np.float64))
    N, totals, centres = len(stack), numbers.sum(axis=0), about.sum(axis=0)
    squares = np.square(numbers).sum(axis=0)
    # (1/N) sum x^2 - 2 (mean x) c + c^2, c the mean of start
    return [
        Fraction(
            N * int(q) * unit**2 - 2 * int(s) * int(c) * scale * unit + int(c) ** 2 * scale**2, (N * scale * unit) ** 2
        )
        for q, s, c in zip(squares, totals, centres, strict=True)
    ]


def identity(N: int, scale: int) -> Array:
    """A unit vector for every peer, times `scale`: the sum over columns is the mean over independent inputs."""
    return np.eye(N) * scale


def spanning(N: int, scale: int) -> Array:
    """Columns e_i and e_i + e_j, times `scale`: a quadratic form that is right on all of them is right everywhere."""
    columns = [np.eye(N)[:, [i]] for i in range(N)]
    columns += [np.eye(N)[:, [i]] + np.eye(N)[:, [j]] for i, j in itertools.combinations(range(N), 2)]
    return np.hstack(columns) * scale


def common_multiple(N: int, rounds: int) -> int:
    """What `rounds` means of at most N whole numbers can be taken of without a remainder."""
    return int(lcm(*range(1, N + 1)) ** rounds)


def some_vectors(N: int, n: int, seed: int, scale: int) -> Array:
    """Small integers times `scale`, not all peers' vectors equal unless N = 1."""
    x = np.random.default_rng([seed, N, n]).integers(-4, 5, (N, n)).astype(np.float64)
    x[0, 0] += float(np.all(x == x[0]))
    return x * scale


def masks(N: int, rounds: int, p: Fraction) -> Iterator[tuple[Mask, Fraction]]:
    """Who takes part in which round, every way, with its probability; failed with probability p."""
    chances = [p**down * (1 - p) ** (N * rounds - down) for down in range(N * rounds + 1)]
    for bits in itertools.product((True, False), repeat=N * rounds):
        if probability := chances[bits.count(False)]:
            yield np.array(bits, np.bool_).reshape(rounds, N), probability


def farthest(study: Study | str, ratios: list[Fraction], values: dict[str, Any]) -> Fraction:
    """Of measured values that share a bound, the one that is farthest on the wrong side of it, or just farthest."""
    claim = claims()[study if isinstance(study, str) else study.claim]
    bound = bound_at(claim, values)
    kind = type(claim.relation).__name__
    if kind == "Equality":
        return max(ratios, key=lambda value: abs(value - bound))
    return max(ratios) if kind == "LessThan" else min(ratios)


def settings(**given: Any) -> Case:
    """A case of plain words and numbers."""
    return Case(given)
