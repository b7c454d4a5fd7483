"""Claims about the transform, and about the quantiser of a normal number."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.rotations import hadamard
from commbounds.verify.family import Family, Rounded
from commbounds.verify.inputs import balanced
from commbounds.verify.space import Space, nothing
from commbounds.verify.study import Outcome, Study

# --- the transform ---------------------------------------------------------------------------------------------------


Entries = Sequence[int]


def _vector(data: Entries) -> Array:
    return np.array(data, np.int64)


def _of_vector(x: Array) -> dict[str, Any]:
    """Of the spectrum from the definition: sums of squares with the signs of the rows of Sylvester's matrix."""
    squares = [int(v) ** 2 for v in x]
    d = 1 << (len(squares) - 1).bit_length()
    rows = [sum(v * (-1) ** (j & k).bit_count() for k, v in enumerate(squares)) for j in range(1, d)]
    return {"n": x.size, "spectrum": Fraction(max((abs(v) for v in rows), default=0), sum(squares) or 1)}


def _rotations(implementation: Any, x: Array) -> Array:
    """H D x for all patterns of signs, in integers."""
    return np.array([implementation(x, signs) for signs in itertools.product((1, -1), repeat=x.size)])


def _square(x: Array) -> int:
    return int((x * x).sum())


def _norm(found: Array, x: Array) -> Fraction:
    ratios = {Fraction(int(v), _square(x)) for v in np.square(found).sum(axis=1)}
    d = 1 << (x.size - 1).bit_length()
    return max(ratios, key=lambda v: abs(v - d))


def _inverse(implementation: Any, found: Array, x: Array) -> Fraction:
    worst = Fraction(0)
    for signs, y in zip(itertools.product((1, -1), repeat=x.size), found, strict=True):
        padded = np.concatenate([signs, np.ones(y.size - x.size, np.int64)]).astype(np.int64)
        back = implementation(y, padded, inverse=True)
        worst = max(worst, *(abs(Fraction(int(v), y.size) - int(w)) for v, w in zip(back, x, strict=False)))
        worst = max(worst, *(abs(Fraction(int(v))) for v in back[x.size :]), Fraction(0))
    return worst


def _coordinate(found: Array, x: Array) -> Fraction:
    shares = [Fraction(int(v), len(found) * _square(x)) for v in np.square(found).sum(axis=0)]
    return max(shares, key=lambda v: abs(v - 1))


def _correlation(found: Array, x: Array) -> Outcome:
    moments = found.T @ found
    np.fill_diagonal(moments, 0)
    return Outcome(Fraction(int(np.abs(moments).max()), len(found) * _square(x)), {}, active=x.size > 1)


def _peak(found: Array, x: Array) -> Fraction:
    return Fraction(int((np.abs(found).max(axis=1) == int(np.abs(x).sum())).sum()), len(found))


def _tail(found: Array, x: Array, reach: int) -> Outcome:
    """At the reach of the case: the largest rotated entry of rank `reach` among all patterns."""
    y = np.sort(np.square(found).max(axis=1))[::-1]
    at = Fraction(int(y[min(reach, len(y) - 1)]), _square(x))
    chance = Fraction(int((y >= at * _square(x)).sum()), len(y))
    return Outcome(float(chance), {"tail_at": math.sqrt(at)}, 1e-15)


def _vectors(level: int) -> list[Entries]:
    """Small integers, a few entries; and longer vectors of every shape that matters: flat, sparse, uneven."""
    tops = {2: 3, 3: 2, 4: 1 + (level > 0)}
    small = (x for n, top in tops.items() for x in itertools.product(balanced(top), repeat=n) if any(x))
    return [
        (2,),
        *small,
        (1, 1, 1, 1, 1),
        (3, 1, 0, 0, 2, -1),
        (1, -2, 3, -4, 5, -6, 7),
        (1,) * 8,
        (0, 0, 0, 5, 0, 0, 0, 0),
        (1, 0, 0, 1, 0, 1, 1, 0),
        (4, -3, 2, 2, 1, 1, -1, 7),
    ]


_hadamard = partial(Family, "rotations.randomised_hadamard", "randomised_hadamard", searched=False)
_ROTATED = _hadamard(Space(_vector, {"data": ((2,), (1, 1)), "reach": (0,)}), _of_vector, _rotations)
_ALL: dict[str, Any] = {
    "grid": _ROTATED.every(data=_vectors),
    "enumerated": "small integer vectors of up to eight entries, all patterns of signs; integer arithmetic",
}
_REACHES: dict[str, Any] = {
    "grid": None,
    "corpus": _ROTATED.every(
        data=lambda: _vectors(0), reach=lambda data: (0, 2 ** (len(data) - 1), 2 ** len(data) - 1)
    ),
    "enumerated": "",
}


class _Counted:
    """A number that counts how often it is added or subtracted."""

    operations = 0

    def __init__(self, value: int) -> None:
        self.value = value

    def __add__(self, other: _Counted) -> _Counted:
        _Counted.operations += 1
        return _Counted(self.value + other.value)

    def __sub__(self, other: _Counted) -> _Counted:
        _Counted.operations += 1
        return _Counted(self.value - other.value)


def _additions(implementation: Any, n: int) -> int:
    y = np.array([_Counted(v) for v in range(1 << (n - 1).bit_length())], dtype=object)
    kernel: Any = hadamard._walsh_hadamard
    _Counted.operations = 0
    getattr(kernel, "py_func", kernel)(y)
    x = np.arange(y.size)
    right = [v.value for v in y] == implementation(x, np.ones(y.size, np.int64)).tolist()
    return _Counted.operations if right else -1


_LENGTHS = (1, 2, 3, 4, 5, 8, 9, 16, 33, 64)
_COUNTED = _hadamard(Space(nothing, {"n": _LENGTHS}))
_FLAT, _UNEVEN = [(1,) * n for n in range(1, 9)], [(8, v, v, v) for v in (8, 6, 4, 2, 1, 0)]
_over = partial(_ROTATED.over, by="data")
_BY_LENGTH = [_over("n", _FLAT, "equal entries")]
_BY_SPECTRUM = [_over("spectrum", _UNEVEN, "one entry of four larger")]
TRANSFORM = (
    *_ROTATED.studies(_norm, "norm", curves=_BY_LENGTH, **_ALL),
    *_ROTATED.studies(_inverse, "inverse", curves=_BY_LENGTH, **_ALL),
    *_COUNTED.studies(_additions, "additions", curves=[_COUNTED.over("n", _LENGTHS, "counted")]),
    *_ROTATED.studies(_coordinate, "coordinate", curves=_BY_LENGTH, **_ALL),
    *_ROTATED.studies(_correlation, "correlation", curves=_BY_SPECTRUM, **_ALL),
    *_ROTATED.studies(_correlation, "uncorrelated", curves=_BY_LENGTH, **_ALL),
    *_ROTATED.studies(_peak, "peak", curves=_BY_LENGTH, **_ALL),
    *_ROTATED.studies(_tail, "tail", curves=[_over("n", _FLAT, "equal entries, their sum")], **_REACHES),
)

# --- the quantiser of a normal number --------------------------------------------------------------------------------

PUBLISHED = {
    1: 0.7978845608028654,
    2: 1.5104176087114887,
    3: 2.151945669890335,
    4: 2.732588804065177,
    5: 3.260726295605043,
    6: 3.7440690236964755,
    7: 4.1895219330235225,
    8: 4.601871059539151,
}
"""The largest centroid by bits, of EDEN's code: torch/quantization_constants.py."""


def _by_quadrature(implementation: Any, width: int) -> tuple[float, float]:
    """Mean squared error, and the largest relative distance of a centroid from the mean of its cell."""
    from scipy.special import roots_legendre

    found = implementation(width)
    cuts = [-12.0, *found.boundaries, 12.0]
    nodes, weights = roots_legendre(60)
    total, gap = [], 0.0
    for c, low, high in zip(found.centroids, cuts, cuts[1:], strict=False):
        half = (high - low) / 2
        t = (low + high) / 2 + half * nodes
        f = weights * half * np.exp(-t * t / 2) / math.sqrt(2 * math.pi)
        total.append(float(f @ np.square(t - c)))
        gap = max(gap, abs(float(f @ (t - c)) / float(f.sum())) / abs(c))
    return math.fsum(total), gap


def _distortion(found: tuple[float, float], width: int) -> Rounded:
    """The mean squared error by quadrature, from the centroids and boundaries alone."""
    return Rounded(found[0], 1e-11 * 4.0**-width)


def _stationary(found: tuple[float, float], width: int) -> Rounded:
    # the mean of a cell is a difference of values of the density over a mass of 2^-width or so
    return Rounded(found[1], 64 * 2.0**-52 * 4.0**width)


def _published(implementation: Any, width: int) -> Rounded:
    mine = implementation(width).centroids[-1]
    return Rounded(abs(PUBLISHED[width] - mine) / mine, 1e-14)


_NORMAL = Family(
    "rotations.lloyd_max",
    "lloyd_max",
    Space(nothing, {"width": range(1, 13)}),
    lambda width: {"cells": 2**width},
    _by_quadrature,
    exact=False,
    searched=False,
)


def _of_bits(
    measure: Any, *statements: str, most: int = 12, label: str = "by quadrature", **options: Any
) -> tuple[Study, ...]:
    widths = range(1, most + 1)
    curve = _NORMAL.over("cells", widths, label, by="width")
    return _NORMAL.studies(measure, *statements, corpus=_NORMAL.every(width=widths), curves=[curve], **options)


QUANTISER = (
    *_of_bits(_distortion, "one_bit", most=1, label="one bit"),
    *_of_bits(_distortion, "bound", extremal=_NORMAL.every(width=[12])),
    *_of_bits(_distortion, "shannon", extremal=_NORMAL.every(width=[1])),
    *_of_bits(_stationary, "stationary", most=8),
    *_of_bits(_published, "seven_digits", "published_digits", most=8, label="outermost"),
)
