"""ARC-Top-K beside its definition: the spaces of its cases."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.collectives import COLLECTIVES
from commbounds.verify.data import stack_of
from commbounds.verify.definition import Definition, Given, called, chosen
from commbounds.verify.definitions import arctopk
from commbounds.verify.differences import Near, Said
from commbounds.verify.space import RANKS, Of, Space, sizes

DATA = ("eighths", "ties", "normal", "far apart")
HIDING = ("zeros", "one rank", "alike", "cancelling", "overflow", "NaN")
"""Data whose rows, or their order, are the same whatever is done to them."""
SKETCHES = ("one entry a column", "eighths", "drawn", "normal")


def _gradients(data: str, P: int, m: int, n: int, dtype: str, seed: int) -> Any:
    """Matrices of all ranks; rows "far apart" have squares beyond the range of a float64."""
    kind = "eighths" if data == "far apart" else "normal" if data in ("near ties", "overflow", "NaN") else data
    stack = stack_of(kind, P, m * n, dtype, seed).reshape(P, m, n)
    rng = np.random.default_rng([seed, 2])
    if data == "far apart":
        far = (0, 700, -700, 600) if dtype == "float64" else (0, 60, -60, 40)
        stack = np.ldexp(stack, rng.choice(far, (1, m, 1))).astype(dtype)
    if data == "near ties":  # rows tie, but for the rounding of their sums over the ranks
        entries = np.tile(rng.standard_normal((P, 1)), m * n)
        stack = rng.permuted(entries, axis=0).reshape(P, m, n).astype(dtype)
    if data == "overflow":
        stack[:, int(rng.integers(m))] = np.finfo(dtype).max
    if data == "NaN":
        stack[tuple(rng.integers((P, m, n)))] = rng.choice((np.nan, np.inf))
    return stack


def _arc(
    P: int, m: int, n: int, K: int, rank: int, data: str, dtype: str, drawn: str, sketch_format: str | None,
    allreduce: str | None, agree: bool | None, seed: int,
) -> Given:  # fmt: skip
    rng = np.random.default_rng([seed, 3])
    parameters = chosen(K=K, rank=rank, sketch_format=sketch_format, allreduce=allreduce, agree=agree)
    if drawn == "drawn":
        randomness: dict[str, Any] = {"seed": seed}
    elif drawn == "one entry a column":
        V = np.zeros((n, rank))
        V[rng.integers(0, n, rank), np.arange(rank)] = rng.choice((1.0, -0.5, 4.0), rank)
        randomness = {"sketch": V}
    else:
        V = rng.integers(-16, 17, (n, rank)) / 8 if drawn == "eighths" else rng.standard_normal((n, rank))
        randomness = {"sketch": V}
    return Given({"gradients": _gradients(data, P, m, n, dtype, seed)}, parameters, randomness)


def _run(implementation: Any, given: Given) -> Said:
    parameters = dict(given.parameters)
    if "allreduce" in parameters:
        parameters["allreduce"] = COLLECTIVES[parameters["allreduce"]]
    return called("result", "traffic")(implementation, replace(given, parameters=parameters))


def _open(data: str, n: int, rank: int, drawn: str) -> bool:
    dyadic = drawn == "eighths" and data in ("eighths", "ties", "zeros", "NaN")
    exact = (drawn == "one entry a column" or dyadic or n == 1) and rank < 8
    return not exact and data in ("ties", "alike", "cancelling", "far apart", "overflow")


def _beyond(data: str, sketch_format: str | None) -> bool:
    return sketch_format in ("float32", "bfloat16") and data in ("far apart", "overflow")


ARCS = (
    Space(
        _arc,
        {
            "P": RANKS,
            "m": sizes(5, 16),
            "n": (1, 2, 5),
            "K": (1, Of("m", lambda m: m), Of("(m + 1) // 2", lambda m: (m + 1) // 2)),
            "rank": (1, 2, 3, 4, 9),
            "data": DATA,
            "dtype": ("float32", "float64"),
            "drawn": SKETCHES,
            "sketch_format": (None, "", "float64", "float32", "bfloat16"),
            "allreduce": (None, "recursive_doubling_allreduce", "rabenseifner_allreduce", "butterfly_allreduce"),
            "agree": (None, True, False),
        },
        options=("sketch_format", "allreduce", "agree"),
    )
    .without("Sums of products whose order is left open, where others decide.", _open)
    .without("A format whose range the numbers leave.", _beyond)
    .hidden_by(data=HIDING)
    .search(P=(1, 12), m=(1, 20), n=(1, 9))
)

_EVERY = {"P": RANKS, "sketch_format": (None, "float32", "bfloat16"), "agree": (None, False)}
ARCS = ARCS.including(*ARCS.every(**_EVERY, m=(5,), n=(2,), K=(3,), rank=(2,), drawn=("eighths",)))
"""Where products and their sums are exact every bit of a score is said, so that no rounding hides a format's."""


UNDECIDED = replace(ARCS, left_out=ARCS.left_out[1:]).including(
    *ARCS.every(
        P=RANKS,
        m=[20],
        n=[1],
        K=[8],
        rank=[1, 3],
        data=["near ties"],
        dtype=["float32", "float64"],
        drawn=["normal"],
        allreduce=ARCS.axes["allreduce"],
        agree=[False],
    )
)
"""With sums whose order is left open: ranks may disagree, and do."""


def _wide() -> list[Given]:
    """Rows longer than what is added in one go, one off on either side."""
    return [
        _arc(2, 3, n, 1, 4, "ties", "float32", "eighths", None, None, None, n) for n in (63, 64, 65, 255, 256, 257, 600)
    ]


def _counts(m: int, share: Any, rule: str | None, seed: int) -> Given:
    return Given({}, {"m": m, "share": share, **({} if rule is None else {"rule": rule})})


COUNTS = Space(
    _counts,
    {
        "m": (1, 2, 3, 5, 7, 9, 10, 16, 30, 33, 100, 1000),
        "share": (
            0.1,
            0.2,
            0.3,
            0.5,
            0.07,
            1.0,
            1,
            1e-9,
            Fraction(1, 5),
            Fraction(1, 10),
            Fraction(2, 3),
            0.0,
            1.5,
            -0.5,
        ),
        "rule": (None, "ceil", "floor"),
    },
).search(m=(1, 400))

DEFINITIONS = {
    "arctopk_allreduce": Definition(ARCS, _run, partial(arctopk.arctopk, near=Near), examples=_wide, arrays=2),
    "row_count": Definition(COUNTS, called("rows"), arctopk.counted_rows),
}
