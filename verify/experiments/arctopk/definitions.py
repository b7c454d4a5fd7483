"""ARC-Top-K beside its definition: the spaces of its cases."""

from dataclasses import replace
from typing import Any

import numpy as np

from commbounds.collectives import COLLECTIVES
from commbounds.collectives.arctopk.law import kept_of_orthogonal_rows, kept_of_planar_rows, sectors
from commbounds.verify.data import stack_of
from commbounds.verify.definition import Definition, Given, called, chosen
from commbounds.verify.definitions import arctopk
from commbounds.verify.differences import Said
from commbounds.verify.space import RANKS, Of, Space, rationals, sizes

DATA = ("eighths", "ties", "normal", "far apart")
HIDING = ("zeros", "one rank", "alike", "cancelling", "overflow", "NaN")
"""Data whose rows, or their order, are the same whatever is done to them."""
FEW = (Of("min(2, m)", lambda m: min(2, m)), Of("min(3, m)", lambda m: min(3, m)))
SKETCHES = ("one entry a column", "eighths", "drawn", "normal")


def _gradients(data: str, P: int, m: int, n: int, dtype: str, seed: int) -> Any:
    """Matrices of all ranks; rows "far apart" have squares beyond the range of a float64, or are zero."""
    kind = "eighths" if data == "far apart" else "normal" if data in ("near ties", "overflow", "NaN") else data
    stack = stack_of(kind, P, m * n, dtype, seed).reshape(P, m, n)
    rng = np.random.default_rng([seed, 2])
    if data == "far apart":
        far = (0, 700, -700, 600) if dtype == "float64" else (0, 60, -60, 40)
        stack = np.ldexp(stack, rng.choice(far, (1, m, 1))).astype(dtype)
        stack[:, :1] *= m < 3  # a row of zeros, of both signs, among others
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
    .hidden_by(data=HIDING, n=(3, 4, 7, 8, 9, 17, 33, 65), m=(9, 17, 33, 65), K=FEW, rank=(5, 8))
    .search(P=(1, 12), m=(1, 20), n=(1, 9))
)

_EVERY = {"P": RANKS, "sketch_format": (None, "float32", "bfloat16"), "agree": (None, False)}
ARCS = ARCS.including(*ARCS.every(**_EVERY, m=(5,), n=(2,), K=(3,), rank=(2,), drawn=("eighths",)))
ARCS = ARCS.including(*ARCS.every(P=(1, 2, 3), m=(5, 16), K=(1, 2, 3, 4), data=("alike", "ties")))
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
    """Rows longer than what is added in one go, one off on either side; a sketch of one column too many."""
    wide = [
        _arc(2, 3, n, 1, 4, "ties", "float32", "eighths", None, None, None, n) for n in (63, 64, 65, 255, 256, 257, 600)
    ]
    wide.append(Given({"gradients": np.ones((1, 1, 1))}, {"K": 1, "rank": 2**16 + 1}, {"seed": 1}))
    over = np.array([[1e3, 1e3], [0.0, 0.0], [1.0, 1.0]])  # of the second row one column's sum is infinite, or both are
    for largest in ([1.0, 1.7e308], [1.7e308, 1.0], [1.7e308, 1.7e308]):
        over[1] = largest
        wide += [Given({"gradients": np.stack([over] * 2)}, {"K": K, "rank": 2}, {"sketch": np.eye(2)}) for K in (1, 2)]
    return wide


def _counts(m: int, share: Any, rule: str | None, seed: int) -> Given:
    return Given({}, {"m": m, "share": share, **({} if rule is None else {"rule": rule})})


COUNTS = Space(
    _counts,
    {
        "m": (1, 2, 3, 5, 7, 9, 10, 16, 30, 33, 100, 1000),
        "share": (*rationals("1/5", "1/10", "2/3", "29/100"), 0.1, 0.2, 0.3, 0.5, 0.07, 0.29, 1.0, 1, 1e-9, 0, 1.5, -1),
        "rule": (None, "ceil", "floor"),
    },
    combined=(("m", "share", "rule"),),
).search(m=(1, 400))


def _counted(implementation: Any, given: Given) -> Said:
    """A number of rows; or what is kept on average, by the functions that studies measure with."""
    if "rows" not in given.inputs:
        return called("rows")(implementation, given)
    rows, settings = given.inputs["rows"], (given.parameters["K"], given.parameters["rank"])
    if rows.ndim == 1:
        kept, off = kept_of_orthogonal_rows(rows, *settings)
        return {"kept": [kept], "known": bool(0 <= off <= 1e-7 * rows.sum()), "sectors": None}
    kept, off = kept_of_planar_rows(rows, *settings)
    z = (rows[:, 0] + 1j * rows[:, 1]) ** 2
    middles, widths = sectors(np.abs(z), z, 1.0)
    cut = None
    if settings[1] == 1 and "exponent" not in given.parameters and z.any():
        scores = np.abs(z) + np.real(z * np.exp(-1j * middles[:, None]))
        best = np.argsort(-scores, axis=1, kind="stable")[:, : settings[0]]
        cut = [float(np.abs(z)[best].sum(axis=1) @ widths) / (2 * np.pi)]
    return {"kept": [kept], "known": bool(0 <= off <= 1e-7 * np.square(rows).sum()), "sectors": cut}


def _kept() -> list[Given]:
    """Rows in a plane: some parallel, some of equal norms; and orthogonal ones, of any number; of all sizes."""
    rng = np.random.default_rng(1)
    slanted = np.array([0.3, 0.7])
    planes = [
        rng.standard_normal((m, 2)) for m in (1, 2, 3, 5)
    ] + [
        np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]),
        np.array([[1.0, 0.0], [2.0, 0.0], [0.5, 1.0]]),
        np.outer([1.0, 2.0, 0.7, -1.3], slanted),
        np.outer([1.1, 0.3, 1.7], [0.1, 0.9]),
        *(np.outer([3.0, 2.0, 1.3, 0.7][::step], [0.1 * i, 1.1]) for i in range(1, 8) for step in (1, -1)),
        np.array([[1.0, 0.5], [-0.5, 1.0], [0.0, 0.0]]),
        np.zeros((2, 2)),
    ]  # fmt: skip
    found = [
        Given({"rows": rows}, {"K": K, "rank": 1})
        for rows in planes
        for K in sorted({1, len(rows) // 2 or 1, len(rows)})
    ]
    pairs = [rng.standard_normal((2, 2)) for _ in range(3)] + [planes[4][:2], planes[5][1:], planes[6][:2]]
    found += [Given({"rows": rows}, {"K": 1, "rank": rank}) for rows in pairs for rank in (1, 2, 3, 5, 8)]
    # parallel rows, and zeros, which are never kept
    found.append(Given({"rows": np.concatenate([planes[5][:2], np.zeros((2, 2))])}, {"K": 1, "rank": 2}))
    squares = [
        np.array(w) for w in ([1.0], [1.0, 2.0], [3.0, 1.0, 0.5], [1.0, 1.0, 1.0, 4.0], [2.0, 0.0, 1.0, 0.0], [0.0])
    ]
    found += [Given({"rows": w}, {"K": K, "rank": 2}) for w in squares for K in range(1, len(w) + 1)]
    found.append(Given({"rows": squares[0]}, {"K": 1, "rank": 1}))
    for e in (450, -450):
        found += [Given({"rows": np.ldexp(planes[2], e)}, {"K": 2, "rank": 1, "exponent": e})]
        found += [Given({"rows": np.ldexp(squares[2], 2 * e)}, {"K": 1, "rank": 2, "exponent": e})]
    return found


DEFINITIONS = {
    "arctopk_allreduce": Definition(ARCS, _run, arctopk.arctopk, examples=_wide),
    "row_count": Definition(COUNTS, _counted, arctopk.counted_rows, examples=_kept),
}
