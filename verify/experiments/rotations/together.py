"""Claims about what ranks do with rotated vectors together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.compressors.rotations import EDEN
from commbounds.verify.experiment import Budget
from commbounds.verify.study import Case, Outcome, Study, over

Array = NDArray[Any]
_M, _S = "rotations.rotated_mean.", "rotations.rotated_sum."

# --- means -----------------------------------------------------------------------------------------------------------


def _sizes(_level: int) -> Iterator[Case]:
    for P, n, width in itertools.product((1, 2, 3, 4, 5, 8), (1, 2, 3, 5, 8, 9, 33), (1, 2, 3)):
        yield Case({"P": P, "n": n, "width": width}, np.ones((P, n)))


def _mean_bytes(collective: Any, case: Case) -> Outcome:
    x = case.array
    traffic = collective(x, case.settings["width"], signs=np.ones(x.shape, np.int64))[1]
    values = {"P": len(x), "n": x.shape[1], "width": case.settings["width"], "itembits": 8 * x.itemsize}
    return Outcome(int(traffic.sent.max()), values)


def _patterns(n: int) -> Array:
    return np.array(list(itertools.product((1, -1), repeat=n)), np.int64)


def _single(case: Case) -> tuple[float, float]:
    """Expected relative error of one estimate, and its squared bias, from the exact law."""
    x = [Fraction(v) for v in case.array[0].tolist()]
    square = sum(v * v for v in x)
    law = EDEN(case.settings["width"]).law(x)
    error = sum(p * sum((a - b) ** 2 for a, b in zip(y, x, strict=True)) for p, y in law) / square
    bias = sum((sum(p * y[i] for p, y in law) - v) ** 2 for i, v in enumerate(x)) / square
    return float(error), float(bias)


def _mean_error(collective: Any, case: Case) -> Outcome:
    """Expected relative error of the mean, over all patterns of signs of all ranks."""
    x, s = case.array, case.settings
    P, n = x.shape
    rows = _patterns(n)
    choices = itertools.product(rows, repeat=P if s["seeds"] == "private" else 1)
    errors = []
    for chosen in choices:
        signs = np.array(chosen) if len(chosen) == P else np.repeat(np.array(chosen), P, axis=0)
        mean = collective(x, s["width"], s["seeds"], signs=signs)[0]
        errors.append(float(np.square(mean - x[0]).sum(axis=1).max()) / float(x[0] @ x[0]))
    error, bias = case.once(_single)
    # a few roundings of every estimate and of their mean
    slack = 64 * n * float(np.finfo(np.float64).eps) * (1.0 + error)
    return Outcome(math.fsum(errors) / len(errors), {"P": P, "single_error": error, "bias_share": bias}, slack)


_VECTORS = ((3.0, 1.0), (1.0, 1.0), (2.0, -1.0, 1.0), (50.0, 1.0), (1.0, 0.0, 1.0))


def _equal(entries: tuple[float, ...], P: int, width: int, seeds: str) -> Case:
    return Case({"P": P, "width": width, "seeds": seeds, "n": len(entries)}, np.tile(np.array(entries), (P, 1)))


def _alike(_budget: Budget) -> Iterator[Case]:
    for entries, P, width, seeds in itertools.product(_VECTORS, (1, 2, 3), (1, 2), ("private", "shared")):
        if P < 3 or len(entries) < 3:
            yield _equal(entries, P, width, seeds)
    for entries, P in (((1.0, 1.0), 4), ((2.0,), 5), ((2.0,), 8)):
        yield _equal(entries, P, 1, "private")


def _few(seeds: str) -> Any:
    return lambda _budget: iter([_equal((1.0, 1.0), P, 1, seeds) for P in (1, 2, 3)])


def _by_P(entries: tuple[float, ...], seeds: str = "private") -> list[Case]:
    return [_equal(entries, P, 1, seeds) for P in (1, 2, 3, 4)]


# --- sums ------------------------------------------------------------------------------------------------------------


def _sum_bytes(collective: Any, case: Case) -> Outcome:
    x, s = case.array, case.settings["s"]
    d = 1 << (x.shape[1] - 1).bit_length()
    zero = np.zeros((len(x), d))
    traffic = collective(x, s, signs=np.ones(x.shape[1], np.int64), dither=zero)[1]
    return Outcome(int(traffic.sent.max()), {"P": len(x), "n": x.shape[1], "s": s, "itembits": 8 * x.itemsize})


def _sum_sizes(_level: int) -> Iterator[Case]:
    for P, n, s in itertools.product((1, 2, 4, 8, 16), (1, 2, 3, 8, 13, 33, 64), (1, 2, 7, 15, 100)):
        yield Case({"P": P, "n": n, "s": s}, np.ones((P, n)))


def _shape_known(_collective: Any, case: Case) -> dict[str, Any]:
    return {"P": case.settings["P"], "n": case.settings["n"], "s": case.settings["s"]}


def _hadamard(d: int) -> Array:
    index = np.arange(d)
    return np.array([[(-1) ** (int(i) & int(j)).bit_count() for j in index] for i in index], np.int64)


def _rotated(case: Case) -> tuple[Array, Array, Array]:
    """Signs, Sylvester's matrix and the rotated entries of all ranks, of integer vectors."""
    x = case.array
    n = x.shape[1]
    H = _hadamard(1 << (n - 1).bit_length())
    signs = np.random.default_rng([case.settings["seed"], n]).choice((-1, 1), n)
    return signs, H, (x * signs).astype(np.int64) @ H[:n]


def _read(case: Case, dither: Array) -> list[Fraction]:
    """The sum over the ranks of what their codes stand for, from the definition, exactly."""
    signs, H, y = case.once(_rotated)
    top, s = int(np.abs(y).max()), case.settings["s"]
    if top == 0:
        return [Fraction(0)] * len(signs)
    step, total = Fraction(top, s), [Fraction(0)] * len(H)
    for row, thresholds in zip(y.tolist(), dither.tolist(), strict=True):
        for j, (v, u) in enumerate(zip(row, thresholds, strict=True)):
            below = math.floor(v / step)
            total[j] += step * (below + (Fraction(u) < v / step - below))
    return [
        int(sign) * sum((int(h) * v for h, v in zip(H[i], total, strict=True)), Fraction(0)) / len(H)
        for i, sign in enumerate(signs)
    ]


def _exact_sum(collective: Any, case: Case) -> Outcome:
    x, s = case.array, case.settings["s"]
    signs, H, y = case.once(_rotated)
    # no threshold is a multiple of 1/top, where roundings of y/step would decide
    cells = max(1, int(np.abs(y).max()))
    drawn = np.random.default_rng(case.settings["seed"]).integers(0, cells, (len(x), len(H)))
    dither = (drawn + 0.5) / cells
    total = collective(x, s, signs=signs, dither=dither)[0]
    expected = np.array([float(v) for v in _read(case, dither)])
    room = 8 * len(H) * float(np.finfo(np.float64).eps) * (float(np.abs(x).sum()) + float(cells))
    return Outcome(float(np.abs(total - expected).max()), {"P": len(x)}, room, active=bool(y.any()))


def _sum_error(collective: Any, case: Case) -> Outcome:
    """E of the squared error: every rank's variance, over thresholds between all multiples of 1/top; and the bias."""
    x, s = case.array, case.settings["s"]
    signs, H, y = case.once(_rotated)
    top = int(np.abs(y).max())
    at = (np.arange(top) + 0.5) / top
    fixed = np.full((len(x), len(H)), at[0])

    def total(dither: Array) -> Array:
        found: Array = collective(x, s, signs=signs, dither=dither)[0][0]
        return found

    variance = 0.0
    for p in range(len(x)):
        moved = []
        for threshold in at:
            dither = fixed.copy()
            dither[p] = threshold
            moved.append(total(dither))
        variance += float(np.square(np.array(moved) - np.mean(moved, axis=0)).sum(axis=1).mean())
    mean = np.mean([total(np.full_like(fixed, threshold)) for threshold in at], axis=0)
    value = variance + float(np.square(mean - x.sum(axis=0)).sum())
    slack = 64 * len(H) * float(np.finfo(np.float64).eps) * (1.0 + float(np.square(y).sum()))
    return Outcome(value, {"P": len(x), "s": s, "rotated_top": float(top)}, slack)


def _integers(_budget: Budget) -> Iterator[Case]:
    rng = np.random.default_rng(11)
    for P, n, s, seed in itertools.product((1, 2, 3, 5), (1, 2, 3, 4, 7), (1, 2, 5), (0, 1)):
        yield Case({"P": P, "n": n, "s": s, "seed": seed}, rng.integers(-4, 5, (P, n)).astype(np.float64))


def _some(budget: Budget) -> Iterator[Case]:
    """Integer vectors that are not all zero; and those of which nearly all rotated entries are half-way."""
    for case in _integers(budget):
        if case.settings["n"] < 5 and case.array.any():
            yield case
    for P in (1, 2, 8):
        yield _halfway(P)


def _halfway(P: int) -> Case:
    """Rotated entries of 4, 2, 2 and 0 on the first rank and 2 on the others; half-way but for two."""
    settings = {"P": P, "n": 4, "s": 1, "seed": 0, "family": "half-way"}
    x = np.tile(np.array([2.0, 0.0, 0.0, 0.0]), (P, 1))
    x[0] = 2.0, 1.0, 1.0, 0.0
    signs = _rotated(Case(settings, x))[0]
    return Case(settings, x * signs)


def _many_ranks(P: int) -> Case:
    rng = np.random.default_rng([11, P])
    return Case({"P": P, "n": 4, "s": 1, "seed": 0}, rng.integers(-4, 5, (P, 4)).astype(np.float64))


_WIDE = [_equal((1.0,) * 9, P, 1, "private") for P in (2, 3, 4, 8, 16)]
_MEAN, _SUM = "rotated_mean", "rotated_sum"

TOGETHER = (
    Study(
        _M + "bytes",
        _MEAN,
        _mean_bytes,
        grid=_sizes,
        enumerated="up to 8 ranks and 33 entries, one to three bits",
        curves=[over("P", "nine entries, one bit", _WIDE)],
    ),
    Study(_M + "averages", _MEAN, _mean_error, corpus=_alike, curves=[over("P", "(3, 1)", _by_P((3.0, 1.0)))]),
    Study(
        _M + "private",
        _MEAN,
        _mean_error,
        corpus=_alike,
        extremal=_few("private"),
        curves=[over("P", "(3, 1)", _by_P((3.0, 1.0))), over("P", "(1, 1)", _by_P((1.0, 1.0)))],
    ),
    Study(
        _M + "shared",
        _MEAN,
        _mean_error,
        corpus=_alike,
        extremal=_few("shared"),
        curves=[over("P", "(1, 1)", _by_P((1.0, 1.0), "shared"))],
    ),
    Study(
        _S + "exact",
        _SUM,
        _exact_sum,
        corpus=_integers,
        curves=[over("P", "one step", [_many_ranks(P) for P in (1, 2, 4)])],
    ),
    Study(
        _S + "error",
        _SUM,
        _sum_error,
        corpus=_some,
        curves=[over("P", "four entries, one step", [_many_ranks(P) for P in (1, 2, 4)])],
    ),
    Study(
        _S + "bytes",
        _SUM,
        _sum_bytes,
        grid=_sum_sizes,
        known=_shape_known,
        enumerated="up to 16 ranks and 64 entries, 1 to 100 levels",
        curves=[
            over("P", "64 entries, 7 levels", [Case({"P": P, "n": 64, "s": 7}, np.ones((P, 64))) for P in (2, 4, 8)])
        ],
    ),
)
