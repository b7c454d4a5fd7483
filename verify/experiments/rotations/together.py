"""Claims about what ranks do with rotated vectors together."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.rotations import EDEN, padded_size
from commbounds.verify.experiments.rotations.further import sylvester
from commbounds.verify.family import Family, Rounded
from commbounds.verify.space import RANKS, Of, Space, nothing, sizes
from commbounds.verify.study import Outcome

Values = dict[str, Any]
EPS = float(np.finfo(np.float64).eps)
DTYPES = ("float32", "float64")

# --- means -----------------------------------------------------------------------------------------------------------


def _itembits(dtype: str) -> Values:
    return {"itembits": 8 * np.dtype(dtype).itemsize}


def _mean_bytes(implementation: Any, P: int, n: int, width: int, dtype: str) -> int:
    traffic = implementation(np.ones((P, n), dtype), width, signs=np.ones((P, n), np.int64))[1]
    return int(traffic.sent.max())


def _single(x: Array, width: int) -> Values:
    """Expected relative error of one estimate, and its squared bias, from the exact law."""
    row = [Fraction(v) for v in x[0].tolist()]
    square = sum(v * v for v in row)
    law = EDEN(width).law(row)
    error = sum(p * sum((a - b) ** 2 for a, b in zip(y, row, strict=True)) for p, y in law) / square
    bias = sum((sum(p * y[i] for p, y in law) - v) ** 2 for i, v in enumerate(row)) / square
    return {"single_error": float(error), "bias_share": float(bias)}


def _mean_error(
    implementation: Any, x: Array, P: int, n: int, width: int, seeds: str, single_error: float
) -> Rounded:  # fmt: skip
    """Expected relative error of the mean, over all patterns of signs of all ranks."""
    rows = P if seeds == "private" else 1
    patterns = np.array(list(itertools.product((1, -1), repeat=rows * n)), np.int64).reshape(-1, rows, n)
    means = [implementation(x, width, seeds, signs=s)[0] for s in np.broadcast_to(patterns, (len(patterns), P, n))]
    errors = np.square(np.array(means) - x[0]).sum(axis=2).max(axis=1) / float(x[0] @ x[0])
    # a few roundings of every estimate and of their mean
    return Rounded(math.fsum(errors.tolist()) / len(errors), 64 * n * EPS * (1.0 + single_error))


def _found(found: Rounded) -> Rounded:
    return found


_SIZED = Family(
    "rotations.rotated_mean",
    "rotated_mean",
    Space(nothing, {"P": RANKS, "n": sizes(8, 33), "width": (1, 2, 3, 4, 8), "dtype": DTYPES}),
    _itembits,
    searched=False,
)
_ALIKE = Family(
    "rotations.rotated_mean",
    "rotated_mean",
    Space(
        lambda P, entries: np.tile(np.array(entries), (P, 1)),
        {
            "P": RANKS,
            "entries": ((1.0, 1.0), (3.0, 1.0), (2.0,), (2.0, -1.0, 1.0), (50.0, 1.0), (1.0, 0.0, 1.0)),
            "n": (Of("their number", lambda entries: len(entries)),),
            "width": (1, 2, 3),
            "seeds": ("private", "shared"),
        },
    ).without(
        "More than 512 patterns of all ranks' signs, as all are gone through.",
        lambda P, n, seeds: seeds == "private" and P * n > 9,
    ),
    _single,
    _mean_error,
    exact=False,
    searched=False,
)


def _of_ones(seeds: str) -> Any:
    return _ALIKE.every(P=(1, 2, 3), entries=[(1.0, 1.0)], width=[1], seeds=[seeds])


def _by_P(entries: tuple[float, ...], seeds: str = "private") -> Any:
    words = f"({', '.join(f'{v:g}' for v in entries)})"
    return _ALIKE.over("P", (1, 2, 3, 4), words, entries=entries, seeds=seeds)


_UNEVEN = _by_P((3.0, 1.0))

MEANS = (
    *_SIZED.studies(
        _mean_bytes, "bytes", curves=[_SIZED.over("P", (2, 3, 4, 8, 16), "nine entries, one bit", n=9, dtype="float64")]
    ),
    *_ALIKE.studies(_found, "averages", curves=[_UNEVEN]),
    *_ALIKE.studies(_found, "private", extremal=_of_ones("private"), curves=[_UNEVEN, _by_P((1.0, 1.0))]),
    *_ALIKE.studies(_found, "shared", extremal=_of_ones("shared"), curves=[_by_P((1.0, 1.0), "shared")]),
)

# --- sums ------------------------------------------------------------------------------------------------------------


def _signs(n: int, seed: int) -> Array:
    return np.random.default_rng([seed, n]).choice((-1, 1), n)


def _integers(P: int, n: int, start: str, seed: int) -> Array:
    """Small integers, not all zero; or what is rotated to 4, 2, 2, 0 on the first rank, to 2 on others: half-way."""
    if start == "half-way":
        return np.array([[2.0, 1.0, 1.0, 0.0], *[[2.0, 0.0, 0.0, 0.0]] * (P - 1)]) * _signs(n, seed)
    x = np.random.default_rng([11, seed, P, n]).integers(-4, 5, (P, n)).astype(np.float64)
    x[0, 0] += float(not x.any())
    return x * float(start != "zeros")


def _rotated(x: Array, n: int, seed: int) -> Values:
    """Signs, Sylvester's matrix and the rotated entries of all ranks, of integer vectors."""
    signs, H = _signs(n, seed), sylvester(padded_size(n)).astype(np.int64)
    y = (x * signs).astype(np.int64) @ H[:n]
    return {"signs": signs, "H": H, "y": y, "rotated_top": float(np.abs(y).max())}


def _read(facts: Values, s: int, dither: Array) -> list[Fraction]:
    """The sum over the ranks of what their codes stand for, from the definition, exactly."""
    signs, H, y = (facts[name] for name in ("signs", "H", "y"))
    top = int(facts["rotated_top"])
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


def _exact_sum(implementation: Any, x: Array, s: int, facts: Values, seed: int) -> Outcome:
    # no threshold is a multiple of 1/top, where roundings of y/step would decide
    cells, d = max(1, int(facts["rotated_top"])), len(facts["H"])
    dither = (np.random.default_rng(seed).integers(0, cells, (len(x), d)) + 0.5) / cells
    total = implementation(x, s, signs=facts["signs"], dither=dither)[0]
    expected = np.array([float(v) for v in _read(facts, s, dither)])
    slack = 8 * d * EPS * (float(np.abs(x).sum()) + float(cells))
    return Outcome(float(np.abs(total - expected).max()), {}, slack, active=bool(x.any()))


def _sum_error(implementation: Any, x: Array, s: int, signs: Array, y: Array, rotated_top: float) -> Rounded:
    """E of the squared error: every rank's variance, over thresholds between all multiples of 1/top; and the bias."""
    at, d = (np.arange(int(rotated_top)) + 0.5) / rotated_top, y.shape[1]

    def total(dither: Array) -> Array:
        found: Array = implementation(x, s, signs=signs, dither=dither)[0][0]
        return found

    first, variance = total(fixed := np.full(y.shape, at[0])), 0.0
    for p in range(len(x)):
        moved = [first]
        for threshold in at[1:]:
            dither = fixed.copy()
            dither[p] = threshold
            moved.append(total(dither))
        variance += float(np.square(np.array(moved) - np.mean(moved, axis=0)).sum(axis=1).mean())
    mean = np.mean([first, *(total(np.full_like(fixed, threshold)) for threshold in at[1:])], axis=0)
    value = variance + float(np.square(mean - x.sum(axis=0)).sum())
    return Rounded(value, 64 * d * EPS * (1.0 + float(np.square(y).sum())))


def _sum_bytes(implementation: Any, P: int, n: int, s: int, dtype: str) -> int:
    zero = np.zeros((P, padded_size(n)))
    return int(implementation(np.ones((P, n), dtype), s, signs=np.ones(n, np.int64), dither=zero)[1].sent.max())


def _sums(**axes: Any) -> Family:
    space = Space(_integers, {"P": RANKS, **axes})
    return Family("rotations.rotated_sum", "rotated_sum", space, _rotated, exact=False, arrays=2, searched=False)


_EVERY = _sums(n=(4, 1, 2, 3, 7, 8, 9), s=(1, 2, 5, 7), start=("drawn",))
_SUMS = replace(_EVERY, space=_EVERY.space.including(*_EVERY.space.every(P=RANKS, n=(1, 3), start=["zeros"])))
_SHORT = _sums(n=(4, 1, 2, 3), s=(1, 2, 5), start=("drawn",))
_ERRORS = replace(_SHORT, space=_SHORT.space.including(*_SHORT.space.every(P=RANKS, start=["half-way"])))
_SUM_SIZED = Family(
    "rotations.rotated_sum",
    "rotated_sum",
    Space(nothing, {"P": (*RANKS, 16), "n": (8, 1, 2, 3, 13, 33, 64), "s": (1, 2, 7, 15, 100), "dtype": DTYPES}),
    _itembits,
    arrays=3,
    searched=False,
)

SUMS = (
    *_SUMS.studies(_exact_sum, "exact", curves=[_SUMS.over("P", (1, 2, 4), "one step")]),
    *_ERRORS.studies(_sum_error, "error", curves=[_ERRORS.over("P", (1, 2, 4), "four entries, one step")]),
    *_SUM_SIZED.studies(
        _sum_bytes,
        "bytes",
        curves=[_SUM_SIZED.over("P", (2, 4, 8), "64 entries, 7 levels", n=64, s=7, dtype="float64")],
    ),
)

TOGETHER = (*MEANS, *SUMS)
