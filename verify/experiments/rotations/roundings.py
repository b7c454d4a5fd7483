"""Claims about subtractive dithering after a rotation, and about rounding with feedback."""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.rotations.further import EPS, sylvester
from commbounds.verify.study import Case, Outcome, Study, over

# --- dithering -------------------------------------------------------------------------------------------------------


def _dithered_case(entries: Sequence[float], step: float, own: bool, reach: int | None = None) -> Case:
    x = np.array(entries, float)
    d = 1 << (x.size - 1).bit_length()
    settings = {"n": x.size, "step": step, "own": own, "reach": reach, "overloaded": False}
    if reach is not None:
        tops = [np.abs(_turned(x, signs)).max() / step for signs in _patterns(x.size)]
        settings["overloaded"] = bool(max(tops) > reach)
    return Case({**settings, "d": d}, x)


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


def _moments(dithered: Any, case: Case) -> tuple[float, float, float, float]:
    """Over the patterns of signs, the worst of: bias; error farthest from n/12; error of an entry; largest error."""
    x, s = case.array, case.settings
    step, d = s["step"], s["d"]
    bias = entry = 0.0
    errors = []
    for signs in _patterns(x.size):
        at = _turned(x, signs) / step

        def gap(u: Any, signs: Array = signs) -> Array:
            found: Array = (dithered(x, signs, u, step, s["reach"])[1] - x) / step
            return found

        if s["own"]:
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


def _dither_room(case: Case) -> float:
    """An edge may be off by a few roundings, where a code is one more or less; and sums of d terms."""
    d, size = case.settings["d"], 2.0 + float(np.abs(case.array).sum()) / case.settings["step"]
    return float(64.0 * d * d * EPS * size * size)


def _dithered(place: int) -> Any:
    def trial(dithered: Any, case: Case) -> Outcome:
        found = case.once(_moments, dithered)
        return Outcome(found[place], {"n": case.settings["n"]}, _dither_room(case))

    return trial


_INPUTS = (
    (3.0, 1.0),
    (1.0, 0.0, 0.0),
    (0.3,),
    (1.0, 0.0, 0.0, 0.0),
    (1.0, 1.0, 1.0, 1.0),
    (2.0, -0.7, 0.1),
    (0.0, 0.0),
)


def _wide(_budget: Budget) -> Iterator[Case]:
    for x, step, own in itertools.product(_INPUTS, (1.0, 0.375), (False, True)):
        yield _dithered_case(x, step, own)
    yield _dithered_case((3.0, 1.0), 1.0, False, 3)
    yield _dithered_case((1.0,) * 5, 1.0, False)


def _narrow(budget: Budget) -> Iterator[Case]:
    yield from _wide(budget)
    for own in (False, True):
        yield _dithered_case((1.0, 1.0, 1.0, 1.0), 1.0, own, 1)


def _first_alone(_budget: Budget) -> Iterator[Case]:
    for n in (1, 2, 3, 4, 5):
        yield _first(n)


def _first(n: int) -> Case:
    return _dithered_case((1.0, *[0.0] * (n - 1)), 0.7, False)


_D, _DITHERED = "rotations.dithered_hadamard.", "dithered_hadamard"
_LENGTHS = range(1, 7)
_ALONE = [_first(n) for n in _LENGTHS]
_OWN = [_dithered_case((1.0, *[0.0] * (n - 1)), 0.7, True) for n in _LENGTHS]
_CLIPPED = [_dithered_case((1.0,) * n, 1.0, False, 1) for n in _LENGTHS]

DITHERED = (
    Study(_D + "unbiased", _DITHERED, _dithered(0), corpus=_narrow, curves=[over("n", "the first entry", _ALONE)]),
    Study(
        _D + "unbiased_clipped",
        _DITHERED,
        _dithered(0),
        corpus=_narrow,
        curves=[over("n", "equal entries, codes -1 to 1", _CLIPPED)],
    ),
    Study(_D + "variance", _DITHERED, _dithered(1), corpus=_wide, curves=[over("n", "the first entry", _OWN)]),
    Study(_D + "one_offset", _DITHERED, _dithered(1), corpus=_wide, curves=[over("n", "the first entry", _ALONE)]),
    Study(
        _D + "one_offset_bound",
        _DITHERED,
        _dithered(3),
        corpus=_wide,
        extremal=_first_alone,
        curves=[over("n", "the first entry", _ALONE)],
    ),
    Study(
        _D + "entry",
        _DITHERED,
        _dithered(2),
        corpus=_wide,
        extremal=_first_alone,
        curves=[over("n", "one offset", _ALONE), over("n", "an offset for each", _OWN)],
    ),
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


def _hessian(number: int) -> tuple[list[list[Fraction]], tuple[int, ...]]:
    below, pivots = _FACTORS[number]
    n, at = len(pivots), iter(below)
    L = [[next(at) if j < i else Fraction(i == j) for j in range(n)] for i in range(n)]
    H = [[sum((L[i][k] * pivots[k] * L[j][k] for k in range(n)), Fraction(0)) for j in range(n)] for i in range(n)]
    return H, pivots


def _loss(H: Sequence[Sequence[Fraction]], q: Sequence[float], w: Sequence[Fraction]) -> Fraction:
    e = [Fraction(v) - u for v, u in zip(q, w, strict=True)]
    return sum((e[i] * H[i][j] * e[j] for i in range(len(e)) for j in range(len(e))), Fraction(0))


def _floats(H: Sequence[Sequence[Fraction]]) -> Array:
    return np.array([[float(v) for v in row] for row in H])


def _average(quantise: Any, case: Case) -> Outcome:
    """Over all weights of the grid, exactly: their decisions are no closer to a tie than half a part."""
    H, pivots = _hessian(case.settings["number"])
    m, n, total = case.settings["grid_parts"], len(pivots), Fraction(0)
    for ticks in itertools.product(range(m), repeat=n):
        w = [Fraction(t, m) for t in ticks]
        total += _loss(H, quantise(np.array([float(v) for v in w]), _floats(H)).tolist(), w)
    return Outcome(total / m**n, {"pivot_sum": sum(pivots), "grid_parts": m})


def _grids(_level: int) -> Iterator[Case]:
    for number, m in itertools.product(range(5), (1, 3, 5, 7)):
        yield _grid_case(number, m)


def _grid_case(number: int, m: int) -> Case:
    below, pivots = _FACTORS[number]
    whole = all(v.denominator == 1 for v in below)
    settings = {"number": number, "grid_parts": m, "n": len(pivots), "whole": whole, "limited": False}
    return Case({**settings, "odd": m % 2 == 1})


def _weights_case(number: int, w: Sequence[float]) -> Case:
    inside = all(0 <= v <= 3 for v in w)
    return Case({"number": number, "n": len(w), "limited": False, "in_range": inside}, np.array(w, float))


def _weights(_level: int) -> Iterator[Case]:
    for number, (_, pivots) in enumerate(_FACTORS):
        for w in itertools.product((0.0, 0.25, 0.375, 0.5, -1.25), repeat=len(pivots)):
            yield _weights_case(number, w)


def example(n: int, limited: bool) -> Case:
    """The example of QuIP's code, its order reversed: there the first weight is rounded first."""
    w = 0.499 + 0.002 * (np.arange(n) % 2)
    return Case({"example": n, "n": n, "limited": limited, "in_range": True}, w[::-1].copy())


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


def confronted(quantise: Any, case: Case) -> tuple[Fraction, Fraction, Fraction]:
    """The loss, that of rounding to nearest, and the sum of the pivots."""
    s = case.settings
    H = _example_hessian(s["example"]) if "example" in s else _hessian(s["number"])[0]
    w = [Fraction(v) for v in case.array.tolist()]
    q = quantise(case.array, _floats(H), 4 if s["limited"] else None).tolist()
    nearest = [float(math.floor(v + Fraction(1, 2))) for v in w]
    return _loss(H, q, w), _loss(H, nearest, w), sum(_pivots(H), Fraction(0))


def _feedback(quantise: Any, case: Case) -> Outcome:
    loss, nearest, pivots = case.once(confronted, quantise)
    values = {"nearest_loss": nearest, "pivot_sum": pivots, "n": case.settings["n"]}
    return Outcome(loss, values, active=bool(loss or nearest))


def _limited(_budget: Budget) -> Iterator[Case]:
    for limited, n in itertools.product((False, True), (4, 8)):
        yield example(n, limited)
    yield from (case for case in _weights(0) if case.settings["in_range"] and case.settings["number"] in (1, 3))


def _halves(_budget: Budget) -> Iterator[Case]:
    yield _weights_case(0, (0.5,))
    yield _weights_case(2, (0.5, 0.5))
    yield _weights_case(3, (0.5, 0.5, 0.5))


def _single(_budget: Budget) -> Iterator[Case]:
    yield _weights_case(0, (0.25,))


def _quarters(_budget: Budget) -> Iterator[Case]:
    yield from _weights(0)
    yield example(4, False)


_Q, _LDLQ = "rotations.ldlq.", "ldlq"
_TRIPLES = [_weights_case(5, (0.25, w, 0.25)) for w in (0.2, 0.25, 0.3, 0.1, 0.375, 0.0)]

LDLQ = (
    Study(
        _Q + "average",
        _LDLQ,
        _average,
        grid=_grids,
        enumerated="all weights of grids of up to seven parts, up to three of them",
        curves=[over("grid_parts", "L = (1, 1), D = (2, 1)", [_grid_case(1, m) for m in (1, 3, 5, 7, 9, 11)])],
    ),
    Study(
        _Q + "worst",
        _LDLQ,
        _feedback,
        grid=_weights,
        enumerated="seven Hessians of up to three weights, five values a weight",
        extremal=_halves,
        curves=[over("pivot_sum", "halves", [_weights_case(i, [0.5] * len(_FACTORS[i][1])) for i in (0, 2, 3)])],
    ),
    Study(
        _Q + "limited",
        _LDLQ,
        _feedback,
        corpus=_limited,
        curves=[over("pivot_sum", "the example of the code", [example(n, True) for n in (4, 6, 8, 12, 16)])],
    ),
    Study(
        _Q + "nearest",
        _LDLQ,
        _feedback,
        corpus=_quarters,
        curves=[over("nearest_loss", "three weights, the second varies", _TRIPLES)],
    ),
    Study(
        _Q + "nearest_pair",
        _LDLQ,
        _feedback,
        grid=_weights,
        enumerated="seven Hessians of up to three weights, five values a weight",
        extremal=_single,
        curves=[
            over("nearest_loss", "L = -2, D = (1, 4)", [_weights_case(2, (w, 0.25)) for w in (0.0, 0.25, 0.375, 0.5)])
        ],
    ),
)

ROUNDINGS = (*DITHERED, *LDLQ)
