"""ARC-Top-K: all-reduce-compatible Top-K: the claims bound to their implementations."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.collectives.arctopk.allreduce import ArcResult, arctopk_allreduce
from commbounds.collectives.dense.allreduce import recursive_doubling_allreduce, ring_allreduce
from commbounds.collectives.sparse.topk_allgather import topk_allgather
from commbounds.collectives.traffic import Traffic
from commbounds.verify import inputs
from commbounds.verify.experiments.arctopk.errors import ERRORS
from commbounds.verify.family import Family, FamilyStudy, Rounded
from commbounds.verify.space import RANKS, Of, Space, nothing, rationals
from commbounds.verify.study import Case, Curve, Outcome, Stream, Study, Unmeasured, studies

Arc = Callable[..., tuple[ArcResult, Traffic]]
_ARC = "arctopk_allreduce"


def _family(subject: str, space: Space, facts: Callable[..., dict[str, Any]] | None = None, **options: Any) -> Family:
    return Family("arctopk", subject, space, facts, **options)


def _whole_numbers(P: int, m: int, n: int, data: str, seed: int) -> Array:
    """Of all stacks of -1, 0 and 2 the one with this number, or small integers whose means are in binary exactly."""
    if data == "numbered":
        return np.array([(-1.0, 0.0, 2.0)[seed // 3**i % 3] for i in range(P * m * n)]).reshape(P, m, n)
    odd_part = P // (P & -P)
    return odd_part * np.random.default_rng([seed, P]).integers(-4, 5, (P, m, n)).astype(np.float64)


def _sketch(n: int, rank: int, data: str, seed: int) -> dict[str, Array]:
    drawn = np.random.default_rng([seed, n]).integers(-3, 4, (n, rank)).astype(np.float64)
    return {"sketch": np.ones((n, rank)) if data == "numbered" else drawn}


def _commutation(implementation: Arc, x: Array, K: int, rank: int, sketch: Array) -> Fraction:
    """Largest difference between the average of what ranks keep, and what is kept of the average; exact on integers."""
    result = implementation(x, K, rank, sketch=sketch)[0]
    whole = arctopk_allreduce(x.mean(axis=0, keepdims=True), K, rank, sketch=sketch)[0]
    kept = np.zeros_like(x)
    for p, rows in enumerate(result.rows):
        kept[p, rows] = x[p, rows]
    gaps = [np.abs(result.mean - whole.mean).max(), np.abs(kept.mean(axis=0) - whole.mean[0]).max()]
    return Fraction(float(max(gaps)))


_KEPT = (1, Of("(m + 1) // 2", lambda m: (m + 1) // 2), Of("m", lambda m: m))
_INTEGERS = Space(
    _whole_numbers,
    {"P": RANKS, "m": (4, 1, 2, 3, 5), "n": (1, 2, 3), "data": ("integers",), "K": _KEPT, "rank": (1, 4)},
)
_COMMUTING = _family(_ARC, _INTEGERS, _sketch, arrays=2)
_NUMBERED = _COMMUTING.every(P=[2], m=[3], n=[1], data=["numbered"], K=(1, 2), seed=range(3**6))


def _lost(m: int, height: float) -> Array:
    """A row of that height on one rank, and its negative on the other."""
    stack = np.ones((2, m, 1))
    stack[0, 0], stack[1, 0] = height, -height
    return stack


def _local(implementation: Arc, x: Array) -> Rounded:
    lost = x.copy()
    for p, rows in enumerate(implementation(x, 1, 1, sketch=[[1.0]])[0].rows):
        lost[p, rows] = 0.0
    ratio = float(np.square(lost).sum() / np.square(x).sum())
    return Rounded(ratio, 4 * x.size * float(np.finfo(np.float64).eps))


_HEIGHTS = (10.0, 1e4)
_CANCELLING = _family(
    _ARC, Space(_lost, {"m": (2, 3, 8, 50), "height": _HEIGHTS}), lambda: {"k": 1}, exact=False, searched=False
)


def _local_points(_seed: int) -> list[tuple[float, list[Case]]]:
    space = _CANCELLING.space
    return [(float(m), [_CANCELLING.case(space.at(m=m, height=h)) for h in _HEIGHTS]) for m in space.axes["m"]]


# --- numbers of rows -------------------------------------------------------------------------------------------------


def _rows_error(implementation: Callable[..., int], x: Array, m: int, mu: Fraction, rule: str) -> Fraction:
    """Error on orthogonal rows of norm one: those that are not kept, exactly."""
    mean = arctopk_allreduce(x[None], implementation(m, mu, rule), 1, np.random.default_rng(m))[0].mean[0]
    return Fraction(float(np.square(mean - x).sum())) / m


_SHARES = sorted({Fraction(a, b) for b in (2, 3, 5, 10, 100) for a in (1, 2, 29, 70) if a <= b})
_ROWS = _family(
    "row_count",
    Space(lambda m: np.eye(m), {"m": (1, 2), "mu": rationals("1/5"), "rule": ("floor", "ceil")}),
    searched=False,
)
_COUNTED: dict[str, Any] = {
    "grid": _ROWS.every(m=lambda level: range(1, 13 + 8 * level), mu=_SHARES, rule=("floor", "ceil")),
    "corpus": None,
    "enumerated": "numbers of rows and shares; rational arithmetic",
}
_WHOLE = {5: "1/5", 10: "3/10", 100: "29/100", 7: "1"}


def _rows_curve(rule: str) -> Curve:
    return _ROWS.over("m", (1, 2, 4, 5, 9, 14, 20, 25), "mu = 1/5, orthogonal rows", rule=rule)


# --- agreement -------------------------------------------------------------------------------------------------------


def _gradients(P: int, m: int, n: int, data: str, seed: int) -> Array:
    rng = np.random.default_rng([seed, P])
    if data == "2^24, 1, -2^24":
        # in float32, (2^24 + 1) - 2^24 = 0 and (2^24 - 2^24) + 1 = 1: the first row scores 0 or 1, the second 1/4
        return np.array([[[2.0**24], [0.5]], [[1.0], [0.0]], [[-(2.0**24)], [0.0]]], np.float32)
    if data == "few values":
        return rng.choice((*inputs.SMALL, 2.0**24, -(2.0**24)), (P, m, n)).astype(np.float32)
    stack = rng.standard_normal((P, m, n)).astype(np.float32)
    stack[-1] -= (1 - 1e-6) * stack.sum(axis=0)
    return stack


def _masks(implementation: Arc, x: Array, P: int, m: int, K: int, rank: int, sums: str, seed: int) -> Outcome:
    rows = implementation(x, K, rank, np.random.default_rng(seed), agree=sums == "one order")[0].rows
    return Outcome(int((rows != rows[0]).any(axis=1).sum()), {}, active=P > 1 and m > K)


_MASKS = _family(
    _ARC,
    Space(
        _gradients,
        {
            "P": RANKS,
            "m": (16, 6, 3),
            "n": (3, 1, 2),
            "data": ("cancelling", "few values"),
            "K": (Of("m // 4, at least 1", lambda m: max(1, m // 4)), 1, Of("m - 1", lambda m: m - 1)),
            "rank": (2, 1, 3),
            "sums": ("one order", "own orders"),
        },
    ),
    exact=False,
    arrays=2,
)
_THREE_SKETCHES = _MASKS.every(
    P=[3], m=[2], n=[1], data=["2^24, 1, -2^24"], K=[1], rank=[1], sums=["own orders"], seed=[0]
)

# --- words -----------------------------------------------------------------------------------------------------------


_ALLREDUCES = {"ring": ring_allreduce, "doubling": recursive_doubling_allreduce}


def _traffic(implementation: Arc, stack: Array, K: int, rank: int, allreduce: str) -> Traffic:
    return implementation(stack, K, rank, np.random.default_rng(0), allreduce=_ALLREDUCES[allreduce])[1]


def _words(implementation: Arc, P: int, m: int, n: int, K: int, rank: int, allreduce: str) -> int:
    return int(_traffic(implementation, np.ones((P, m, n), np.float32), K, rank, allreduce).critical_path)


def _against_gather(implementation: Arc, P: int, m: int, n: int, K: int, rank: int, allreduce: str) -> Fraction:
    stack = np.random.default_rng(m).standard_normal((P, m, n))
    mine = _traffic(implementation, stack, K, rank, allreduce).received.max()
    theirs = topk_allgather(stack.reshape(P, -1), K * n)[1].received.max()
    return Fraction(int(theirs), int(mine))


_SHAPES = {1: (4, 3, 1), 3: (8, 6, 2), 5: (16, 12, 4), 24: (24, 24, 3)}
"""Rows, columns and rank by the number of rows that are kept; P times as many rows and columns besides."""
_SIZED = _family(
    _ARC,
    Space(nothing, {"P": RANKS, "m": (32,), "n": (32,), "K": (6,), "rank": (4,), "allreduce": tuple(_ALLREDUCES)}),
    lambda K, rank: {"k": K, "r": rank},
    searched=False,
)
_SIZES = _SIZED.every(
    P=(*range(1, 10), 12, 16),
    allreduce=_ALLREDUCES,
    K=_SHAPES,
    rank=lambda K: _SHAPES[K][2:],
    m=lambda P, K: sorted({_SHAPES[K][0], P * _SHAPES[K][0]}),
    n=lambda K, m: [_SHAPES[K][1] * m // _SHAPES[K][0]],
)


def _of_words(
    name: str, measure: Callable[..., int | Fraction], ranks: str, allreduce: str = "ring"
) -> tuple[FamilyStudy, ...]:
    return _SIZED.studies(
        measure,
        name,
        grid=_SIZES,
        corpus=None,
        enumerated=f"P = {ranks} and more, several sizes; words counted as they move",
        curves=[_SIZED.over("P", (2, 4, 8, 16), "32 x 32, 6 rows kept, rank 4", allreduce=allreduce)],
    )


# --- high probability ------------------------------------------------------------------------------------------------


def _only_drawn(_arc: Arc, _case: Case) -> Unmeasured:
    return Unmeasured("a probability over sketches of a hundred columns and more: draws alone tell")


def _failures(arc: Arc) -> list[Stream]:
    """Random rows; and one row among many that are just too small to do, which sketches of a few columns mistake."""
    eps = 0.5
    nearly = math.sqrt(0.95 * (1 - eps) / (1 + eps))
    streams = []
    for m, columns, made in ((8, 3, False), (20, 2, False), (40, 16, True), (60, 8, True)):
        rows = np.random.default_rng(m).standard_normal((m, columns))
        if made:
            rows *= nearly / np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
            rows[m // 2] /= nearly
        streams.append(_failure_stream(arc, rows, 1 if made else m // 4, eps, 0.1))
    return streams


def _failure_stream(arc: Arc, rows: Array, K: int, eps: float, delta: float) -> Stream:
    rank = math.ceil(4 * math.log(2 * len(rows) / delta) / (eps**2 - eps**3))
    best = float(np.sort(np.square(rows).sum(axis=1))[-K:].sum())
    # the ranks' own gradients are large and cancel, so that every rank counts
    stack, total = np.stack([rows, rows + 8.0, rows - 8.0]), float(np.square(rows).sum())

    def draw(rng: np.random.Generator, count: int) -> Floats:
        lost = [np.square(arc(stack, K, rank, rng)[0].mean[0] - rows).sum() for _ in range(count)]
        return (total - np.array(lost) < (1 - eps) / (1 + eps) * best) / delta - 1.0

    return Stream(f"m = {len(rows)}, K = {K}, rank {rank}", draw, -1.0, 1 / delta - 1, two_sided=False, cost=40)


EXPERIMENTS: dict[str, Study] = studies(
    *_COMMUTING.studies(
        _commutation,
        "allreduce.commutes",
        grid=lambda level: itertools.chain(_NUMBERED(level), _COMMUTING.grid(level)),
        enumerated="two ranks, three rows of -1, 0 and 2, and every pair of values of the space; exact arithmetic",
    ),
    *ERRORS,
    Study("arctopk.allreduce.high_probability", _ARC, _only_drawn, streams=_failures),
    *_CANCELLING.studies(
        _local, "allreduce.local_contraction", curves=[Curve("m", "two ranks, one row kept", _local_points)]
    ),
    *_ROWS.studies(_rows_error, "rows.floor", curves=[_rows_curve("floor")], **_COUNTED),
    *_ROWS.studies(
        _rows_error,
        "rows.ceiling",
        extremal=_ROWS.every(m=_WHOLE, mu=lambda m: rationals(_WHOLE[m]), rule=["ceil"]),
        curves=[_rows_curve("ceil")],
        **_COUNTED,
    ),
    *_MASKS.studies(_masks, "allreduce.masks"),
    *_MASKS.studies(_masks, "allreduce.masks_of_own_orders", extremal=_THREE_SKETCHES),
    *_of_words("allreduce.words", _words, "1 .. 9"),
    *_of_words("allreduce.words_doubling", _words, "1, 2, 4, 8", "doubling"),
    *_of_words("allreduce.words_against_gather", _against_gather, "2 .. 9"),
)
