"""Claims about subtractive dithering after a rotation, and about rounding with feedback."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.experiments.rotations.further import EPS, sylvester
from commbounds.verify.family import Family, Rounded
from commbounds.verify.space import Settings, Space, nothing
from commbounds.verify.study import Curve, Outcome, Study, over

# --- dithering -------------------------------------------------------------------------------------------------------


def _vector(data: Sequence[float]) -> Array:
    return np.array(data, float)


def _of_dithered(x: Array, step: float, reach: int | None) -> dict[str, Any]:
    tops = (np.abs(_turned(x, signs)).max() / step for signs in _patterns(x.size))
    return {"n": x.size, "overloaded": reach is not None and bool(max(tops) > reach)}


def _patterns(n: int) -> Iterator[Array]:
    for signs in itertools.product((1, -1), repeat=n - 1):
        yield np.array((1, *signs))  # the opposite pattern has the opposite rotated entries


def _turned(x: Array, signs: Array) -> Array:
    H = sylvester(1 << (x.size - 1).bit_length())
    return np.asarray((x * signs) @ H[: x.size] / math.sqrt(len(H)))


_NODE = 0.5 / math.sqrt(3.0)
"""Two nodes, so far from the middle of an interval of length one, integrate what is quadratic in the offset."""


def _pieces(fractions: Array) -> Iterator[tuple[float, float]]:
    """(offset, weight) pairs that integrate over the offset what is quadratic where no code changes."""
    edges = {-0.5, 0.5, *((0.5 - f) - math.floor(1.0 - f) for f in fractions.tolist())}
    for low, high in itertools.pairwise(sorted(edges)):
        if high - low > 1e-12:
            for side in (-_NODE, _NODE):
                yield (low + high) / 2 + side * (high - low), (high - low) / 2


def _moments(
    implementation: Any, x: Array, step: float, own: bool, reach: int | None
) -> tuple[float, float, float, float]:
    """Over the patterns of signs, the worst of: bias; error farthest from n/12; error of an entry; largest error."""
    d = 1 << (x.size - 1).bit_length()
    bias = entry = 0.0
    errors = []
    for signs in _patterns(x.size):
        at = _turned(x, signs) / step

        def gap(u: Any, signs: Array = signs) -> Array:
            found: Array = (implementation(x, signs, u, step, reach)[1] - x) / step
            return found

        if own:
            fixed, mean, square = np.full(d, -0.5), None, np.zeros(x.size)
            for j in range(d):
                u, rows, weights = fixed.copy(), [], []
                for offset, weight in _pieces(at[j : j + 1]):
                    u[j] = offset
                    rows.append(gap(u))
                    weights.append(weight)
                middle = np.array(weights) @ np.array(rows)
                square += np.array(weights) @ np.square(np.array(rows) - middle)
                # entries are independent: moving each to its mean moves the sum there
                mean = middle - gap(fixed) + (gap(fixed) if mean is None else mean)
            assert mean is not None
            square += np.square(mean)
        else:
            pairs = list(_pieces(at))
            table, share = np.array([gap(u) for u, _ in pairs]), np.array([w for _, w in pairs])
            mean, square = share @ table, share @ np.square(table)
        bias, entry = max(bias, float(np.abs(mean).max())), max(entry, float(square.max()))
        errors.append(float(square.sum()))
    far = max(errors, key=lambda v: abs(v - x.size / 12))
    return bias, far, entry, max(errors)


_INPUTS = (
    (3.0, 1.0),
    (1.0, 0.0, 0.0),
    (0.3,),
    (1.0, 0.0, 0.0, 0.0),
    (1.0, 1.0, 1.0, 1.0),
    (2.0, -0.7, 0.1),
    (0.0, 0.0),
)
_OFFSETS = Space(
    _vector,
    {"data": _INPUTS, "step": (1.0, 0.375), "own": (False, True), "reach": (None,)},
    combined=(("data", "step", "own"),),
)
_DITHERED = Family(
    "rotations.dithered_hadamard",
    "dithered_hadamard",
    _OFFSETS.including(
        _OFFSETS.at(data=(3.0, 1.0), reach=3),
        _OFFSETS.at(data=(1.0,) * 5),
        *_OFFSETS.every(data=[(1.0,) * 4], own=(False, True), reach=[1]),
    ),
    _of_dithered,
    _moments,
    exact=False,
    searched=False,
)


def _first(n: int) -> tuple[float, ...]:
    return (1.0, *[0.0] * (n - 1))


def _by_length(label: str, make: Any = _first, **fixed: Any) -> Curve:
    return _DITHERED.over("n", map(make, range(1, 7)), label, by="data", **{"step": 0.7, **fixed})


def _of_dithering(place: int, statement: str, *curves: Curve, **options: Any) -> tuple[Study, ...]:
    def measure(found: Sequence[float], x: Array, step: float) -> Rounded:
        # an edge may be off by a few roundings, where a code is one more or less; and sums of d terms
        d, size = 1 << (x.size - 1).bit_length(), 2.0 + float(np.abs(x).sum()) / step
        return Rounded(found[place], float(64.0 * d * d * EPS * size * size))

    return _DITHERED.studies(measure, statement, curves=curves, **options)


_ALONE = _by_length("the first entry")
_CLIPPED = _by_length("equal entries, codes -1 to 1", lambda n: (1.0,) * n, step=1.0, reach=1)
_ONES = _DITHERED.every(data=map(_first, range(1, 6)), step=[0.7])
DITHERED = (
    *_of_dithering(0, "unbiased", _ALONE),
    *_of_dithering(0, "unbiased_clipped", _CLIPPED),
    *_of_dithering(1, "variance", _by_length("the first entry", own=True)),
    *_of_dithering(1, "one_offset", _ALONE),
    *_of_dithering(3, "one_offset_bound", _ALONE, extremal=_ONES),
    *_of_dithering(2, "entry", _by_length("one offset"), _by_length("an offset for each", own=True), extremal=_ONES),
)

# --- rounding with feedback ------------------------------------------------------------------------------------------

_FACTORS: tuple[tuple[tuple[Fraction, ...], tuple[int, ...]], ...] = tuple(
    (tuple(Fraction(v) for v in below), pivots)
    for below, pivots in (
        ((), (3,)),
        (("1",), (2, 1)),
        (("-2",), (1, 4)),
        (("2", "0", "-2"), (1, 2, 4)),
        (("1", "-1", "2"), (2, 1, 1)),
        (("-1/2", "-1/2", "1"), (64, 1, 1)),
        (("3/4",), (16, 1)),
    )
)
"""Entries of L below its diagonal, row by row, and the pivots."""


def _hessian(hessian: int | str, n: int) -> list[list[Fraction]]:
    if isinstance(hessian, str):
        return _example_hessian(n)
    below, pivots = _FACTORS[hessian]
    at = iter(below)
    L = [[next(at) if j < i else Fraction(i == j) for j in range(n)] for i in range(n)]
    return [[sum((L[i][k] * pivots[k] * L[j][k] for k in range(n)), Fraction(0)) for j in range(n)] for i in range(n)]


def _loss(H: Sequence[Sequence[Fraction]], q: Sequence[float], w: Sequence[Fraction]) -> Fraction:
    e = [Fraction(v) - u for v, u in zip(q, w, strict=True)]
    return sum((e[i] * H[i][j] * e[j] for i in range(len(e)) for j in range(len(e))), Fraction(0))


def _floats(H: Sequence[Sequence[Fraction]]) -> Array:
    return np.array([[float(v) for v in row] for row in H])


def _average(implementation: Any, hessian: int, n: int, grid_parts: int) -> Fraction:
    """Over all weights of the grid, exactly: their decisions are no closer to a tie than half a part."""
    H, total = _hessian(hessian, n), Fraction(0)
    for ticks in itertools.product(range(grid_parts), repeat=n):
        w = [Fraction(t, grid_parts) for t in ticks]
        total += _loss(H, implementation(np.array([float(v) for v in w]), _floats(H)).tolist(), w)
    return total / Fraction(grid_parts) ** n


def _of_grid(hessian: int) -> dict[str, Any]:
    below, pivots = _FACTORS[hessian]
    whole = all(v.denominator == 1 for v in below)
    return {"n": len(pivots), "pivot_sum": sum(pivots), "whole": whole, "limited": False}


_GRIDS = Family(
    "rotations.ldlq",
    "ldlq",
    Space(nothing, {"hessian": tuple(range(5)), "grid_parts": (1, 3, 5, 7)}),
    _of_grid,
    searched=False,
)


def example(n: int) -> tuple[float, ...]:
    """The weights of the example of QuIP's code, its order reversed: there the first weight is rounded first."""
    return tuple((0.499 + 0.002 * (np.arange(n) % 2))[::-1].tolist())


def _example_hessian(n: int) -> list[list[Fraction]]:
    c = Fraction(1, 100)
    H = [[Fraction(1) + (i == j) for j in range(n)] for i in range(n)]
    H[n - 1][n - 1] = Fraction(1)
    for i in range(1, n - 1):
        H[0][i] += 2 * c
        H[i][0] += 2 * c
    H[0][n - 1] += c
    H[n - 1][0] += c
    H[0][0] += 4 * c + n * c * c
    return [row[::-1] for row in H[::-1]]


def _pivots(H: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """By elimination, exactly."""
    left, found = [list(row) for row in H], []
    for i in range(len(left)):
        found.append(left[i][i])
        for j in range(i + 1, len(left)):
            ratio = left[j][i] / left[i][i]
            left[j] = [a - ratio * b for a, b in zip(left[j], left[i], strict=True)]
    return found


def _of_weights(x: Array) -> dict[str, Any]:
    return {"n": x.size, "in_range": bool((x >= 0).all() and (x <= 3).all())}


def _losses(implementation: Any, x: Array, hessian: int | str, limited: bool) -> tuple[Fraction, Fraction, Fraction]:
    """The loss, that of rounding to nearest, and the sum of the pivots."""
    H, w = _hessian(hessian, x.size), [Fraction(v) for v in x.tolist()]
    q = implementation(x, _floats(H), 4 if limited else None).tolist()
    nearest = [float(math.floor(v + Fraction(1, 2))) for v in w]
    return _loss(H, q, w), _loss(H, nearest, w), sum(_pivots(H), Fraction(0))


def _feedback(found: tuple[Fraction, Fraction, Fraction]) -> Outcome:
    loss, nearest, pivots = found
    return Outcome(loss, {"nearest_loss": nearest, "pivot_sum": pivots}, active=bool(loss or nearest))


FEEDBACK = Family(
    "rotations.ldlq",
    "ldlq",
    Space(_vector, {"hessian": ("example",), "data": (example(4), example(8)), "limited": (False, True)}),
    _of_weights,
    _losses,
    exact=False,
    searched=False,
)
_WEIGHTS: dict[str, Any] = {
    "grid": FEEDBACK.every(
        hessian=range(len(_FACTORS)),
        data=lambda hessian: itertools.product((0.0, 0.25, 0.375, 0.5, -1.25), repeat=len(_FACTORS[hessian][1])),
        limited=lambda hessian: (False, True) if hessian in (1, 3) else (False,),
    ),
    "corpus": FEEDBACK.corpus,
    "enumerated": "seven Hessians of up to three weights, five values a weight",
}


_HALVES = [FEEDBACK.space.at(hessian=hessian, data=(0.5,) * len(_FACTORS[hessian][1])) for hessian in (0, 2, 3)]
_TRIPLES = FEEDBACK.space.every(hessian=[5], data=[(0.25, w, 0.25) for w in (0.2, 0.25, 0.3, 0.1, 0.375, 0.0)])
_PAIRS = FEEDBACK.space.every(hessian=[2], data=[(w, 0.25) for w in (0.0, 0.25, 0.375, 0.5)])
_EXAMPLES = FEEDBACK.space.every(data=map(example, (4, 6, 8, 12, 16)), limited=[True])


def _of_feedback(statement: str, axis: str, label: str, rows: Iterable[Settings], **options: Any) -> tuple[Study, ...]:
    curve = over(axis, label, map(FEEDBACK.case, rows))
    return FEEDBACK.studies(_feedback, statement, curves=[curve], **options, **_WEIGHTS)


_OVER_GRIDS = _GRIDS.over("grid_parts", (1, 3, 5, 7, 9, 11), "L = (1, 1), D = (2, 1)", hessian=1)
LDLQ = (
    *_GRIDS.studies(_average, "average", curves=[_OVER_GRIDS]),
    *_of_feedback("worst", "pivot_sum", "halves", _HALVES, extremal=FEEDBACK.of(_HALVES)),
    *_of_feedback("limited", "pivot_sum", "the example of the code", _EXAMPLES),
    *_of_feedback("nearest", "nearest_loss", "three weights, the second varies", _TRIPLES),
    *_of_feedback(
        "nearest_pair",
        "nearest_loss",
        "L = -2, D = (1, 4)",
        _PAIRS,
        extremal=FEEDBACK.every(hessian=[0], data=[(0.25,)]),
    ),
)

ROUNDINGS = (*DITHERED, *LDLQ)
