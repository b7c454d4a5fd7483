"""Claims about the transform, and about the quantiser of a normal number."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.rotations import hadamard
from commbounds.verify.experiment import Budget
from commbounds.verify.study import Case, Outcome, Study, over

_H, _ROTATE = "rotations.randomised_hadamard.", "randomised_hadamard"

# --- the transform ---------------------------------------------------------------------------------------------------


def _case(entries: Any, **settings: Any) -> Case:
    x = np.array(entries, np.int64)
    return Case({"n": x.size, **settings}, x)


def _vectors(level: int) -> Iterator[Case]:
    """Small integers, a few entries; and longer vectors of every shape that matters: flat, sparse, uneven."""
    yield _case([2])
    for n, top in ((2, 3), (3, 2), (4, 1 + (level > 0))):
        values = sorted(range(-top, top + 1), key=lambda v: (abs(v), v < 0))
        yield from (_case(x) for x in itertools.product(values, repeat=n) if any(x))
    for x in (
        [1, 1, 1, 1, 1],
        [3, 1, 0, 0, 2, -1],
        [1, -2, 3, -4, 5, -6, 7],
        [1] * 8,
        [0, 0, 0, 5, 0, 0, 0, 0],
        [1, 0, 0, 1, 0, 1, 1, 0],
        [4, -3, 2, 2, 1, 1, -1, 7],
    ):
        yield _case(x)


def _rotations(rotate: Any, case: Case) -> Array:
    """H D x for all patterns of signs, in integers."""
    x = case.array
    return np.array([rotate(x, signs) for signs in itertools.product((1, -1), repeat=x.size)])


def _square(x: Array) -> int:
    return int((x * x).sum())


def _norm(rotate: Any, case: Case) -> Outcome:
    squares = np.square(case.once(_rotations, rotate)).sum(axis=1)
    ratios = {Fraction(int(v), _square(case.array)) for v in squares}
    d = 1 << (case.array.size - 1).bit_length()
    return Outcome(max(ratios, key=lambda v: abs(v - d)), {"n": case.array.size})


def _inverse(rotate: Any, case: Case) -> Outcome:
    x, worst = case.array, Fraction(0)
    for signs, y in zip(itertools.product((1, -1), repeat=x.size), case.once(_rotations, rotate), strict=True):
        padded = np.concatenate([signs, np.ones(y.size - x.size, np.int64)]).astype(np.int64)
        back = rotate(y, padded, inverse=True)
        worst = max(worst, *(abs(Fraction(int(v), y.size) - int(w)) for v, w in zip(back, x, strict=False)))
        worst = max(worst, *(abs(Fraction(int(v))) for v in back[x.size :]), Fraction(0))
    return Outcome(worst, {"n": x.size})


def _coordinate(rotate: Any, case: Case) -> Outcome:
    y = case.once(_rotations, rotate)
    shares = [Fraction(int(v), len(y) * _square(case.array)) for v in np.square(y).sum(axis=0)]
    return Outcome(max(shares, key=lambda v: abs(v - 1)), {"n": case.array.size})


def _correlations(rotate: Any, case: Case) -> Fraction:
    y = case.once(_rotations, rotate)
    moments = y.T @ y
    np.fill_diagonal(moments, 0)
    return Fraction(int(np.abs(moments).max()), len(y) * _square(case.array))


def _spectrum(case: Case) -> Fraction:
    """From the definition: sums of squares with the signs of the rows of Sylvester's matrix."""
    squares = [int(v) ** 2 for v in case.array]
    d = 1 << (len(squares) - 1).bit_length()
    rows = [sum(v * (-1) ** (j & k).bit_count() for k, v in enumerate(squares)) for j in range(1, d)]
    return Fraction(max((abs(v) for v in rows), default=0), sum(squares))


def _correlation(rotate: Any, case: Case) -> Outcome:
    active = case.array.size > 1
    return Outcome(_correlations(rotate, case), {"spectrum": _spectrum(case), "n": case.array.size}, active=active)


def _peak(rotate: Any, case: Case) -> Outcome:
    y, total = np.abs(case.once(_rotations, rotate)).max(axis=1), int(np.abs(case.array).sum())
    return Outcome(Fraction(int((y == total).sum()), len(y)), {"n": case.array.size})


def _tail(rotate: Any, case: Case) -> Outcome:
    """At the reach of the case: the largest rotated entry of rank `reach` among all patterns."""
    y = np.sort(np.square(case.once(_rotations, rotate)).max(axis=1))[::-1]
    at = Fraction(int(y[min(case.settings["reach"], len(y) - 1)]), _square(case.array))
    chance = Fraction(int((y >= at * _square(case.array)).sum()), len(y))
    return Outcome(float(chance), {"n": case.array.size, "tail_at": math.sqrt(at)}, 1e-15)


def _reaches(_budget: Budget) -> Iterator[Case]:
    for case in _vectors(0):
        for reach in (0, 2 ** (case.array.size - 1), 2**case.array.size - 1):
            yield Case({**case.settings, "reach": reach}, case.x)


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


def _additions(rotate: Any, case: Case) -> Outcome:
    n = case.settings["n"]
    y = np.array([_Counted(v) for v in range(1 << (n - 1).bit_length())], dtype=object)
    kernel: Any = hadamard._walsh_hadamard
    _Counted.operations = 0
    getattr(kernel, "py_func", kernel)(y)
    x = np.arange(y.size)
    if [v.value for v in y] != rotate(x, np.ones(y.size, np.int64)).tolist():
        return Outcome(-1, {"n": n})
    return Outcome(_Counted.operations, {"n": n})


def _sizes(_level: int) -> Iterator[Case]:
    for n in (1, 2, 3, 4, 5, 8, 9, 16, 33, 64):
        yield Case({"n": n}, np.ones(n))


_ALL = "small integer vectors of up to eight entries, all patterns of signs; integer arithmetic"
_BY_N = [_case([1] * n) for n in (1, 2, 3, 4, 5, 6, 7, 8)]
_BY_SPARSITY = [_case([8] * 1 + [v] * 3) for v in (0, 1, 2, 4, 6, 8)]


def _of(statement: str, trial: Any, **options: Any) -> Study:
    return Study(_H + statement, _ROTATE, trial, grid=_vectors, enumerated=_ALL, **options)


TRANSFORM = (
    _of("norm", _norm, curves=[over("n", "equal entries", _BY_N)]),
    _of("inverse", _inverse, curves=[over("n", "equal entries", _BY_N)]),
    Study(
        _H + "additions",
        _ROTATE,
        _additions,
        grid=_sizes,
        enumerated="lengths up to 64",
        curves=[over("n", "counted", list(_sizes(0)))],
    ),
    _of("coordinate", _coordinate, curves=[over("n", "equal entries", _BY_N)]),
    _of("correlation", _correlation, curves=[over("spectrum", "one entry of four larger", _BY_SPARSITY[::-1])]),
    _of("uncorrelated", _correlation, curves=[over("n", "equal entries", _BY_N)]),
    _of("peak", _peak, curves=[over("n", "equal entries", _BY_N)]),
    Study(
        _H + "tail",
        _ROTATE,
        _tail,
        corpus=_reaches,
        curves=[over("n", "equal entries, their sum", [Case({**c.settings, "reach": 0}, c.x) for c in _BY_N])],
    ),
)

# --- the quantiser of a normal number --------------------------------------------------------------------------------

_L, _LLOYD = "rotations.lloyd_max.", "lloyd_max"

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


def _bits(most: int) -> Any:
    return lambda *_: (Case({"width": width}) for width in range(1, most + 1))


_UP_TO_TWELVE, _UP_TO_EIGHT = _bits(12), _bits(8)


def _distortion(quantiser: Any, case: Case) -> Outcome:
    """The mean squared error by quadrature, from the centroids and boundaries alone."""
    width = case.settings["width"]
    return Outcome(case.once(_by_quadrature, quantiser)[0], {"cells": 2**width}, 1e-11 * 4.0**-width)


def _by_quadrature(quantiser: Any, case: Case) -> tuple[float, float]:
    """Mean squared error, and the largest relative distance of a centroid from the mean of its cell."""
    from scipy.special import roots_legendre

    found = quantiser(case.settings["width"])
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


def _stationary(quantiser: Any, case: Case) -> Outcome:
    width = case.settings["width"]
    # the mean of a cell is a difference of values of the density over a mass of 2^-width or so
    return Outcome(case.once(_by_quadrature, quantiser)[1], {"cells": 2**width}, 64 * 2.0**-52 * 4.0**width)


def _published(quantiser: Any, case: Case) -> Outcome:
    width = case.settings["width"]
    mine = quantiser(width).centroids[-1]
    return Outcome(abs(PUBLISHED[width] - mine) / mine, {"cells": 2**width}, 1e-14)


def _one(*_: Any) -> Iterator[Case]:
    yield Case({"width": 1})


def _twelve(_budget: Budget) -> Iterator[Case]:
    yield Case({"width": 12})


def _curve(label: str, most: int = 12) -> Any:
    return [over("cells", label, [Case({"width": width}) for width in range(1, most + 1)])]


QUANTISER = (
    Study(_L + "one_bit", _LLOYD, _distortion, corpus=_one, curves=_curve("one bit", 1)),
    Study(_L + "bound", _LLOYD, _distortion, corpus=_UP_TO_TWELVE, extremal=_twelve, curves=_curve("by quadrature")),
    Study(_L + "shannon", _LLOYD, _distortion, corpus=_UP_TO_TWELVE, extremal=_one, curves=_curve("by quadrature")),
    Study(_L + "stationary", _LLOYD, _stationary, corpus=_UP_TO_EIGHT, curves=_curve("by quadrature", 8)),
    Study(_L + "seven_digits", _LLOYD, _published, corpus=_UP_TO_EIGHT, curves=_curve("outermost", 8)),
    Study(_L + "published_digits", _LLOYD, _published, corpus=_UP_TO_EIGHT, curves=_curve("outermost", 8)),
)
