"""ARC-Top-K: all-reduce-compatible Top-K: the claims bound to their implementations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.collectives.arctopk.allreduce import arctopk_allreduce
from commbounds.collectives.dense.allreduce import recursive_doubling_allreduce, ring_allreduce
from commbounds.collectives.sparse.topk_allgather import topk_allgather
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.arctopk.errors import ERRORS, known
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Stream, Study, Unmeasured, studies

Array = NDArray[Any]
_A, _ARC = "arctopk.allreduce.", "arctopk_allreduce"


def _commutation(arc: Any, case: Case) -> Outcome:
    """Largest difference between the average of what ranks keep, and what is kept of the average; exact on integers."""
    s, stack = case.settings, case.array
    sketch = np.array(s["sketch"], np.float64)
    result = arc(stack, s["K"], 1, sketch=sketch)[0]
    whole = arctopk_allreduce(stack.mean(axis=0, keepdims=True), s["K"], 1, sketch=sketch)[0]
    kept = np.zeros_like(stack)
    for p, rows in enumerate(result.rows):
        kept[p, rows] = stack[p, rows]
    gaps = [np.abs(result.mean - whole.mean).max(), np.abs(kept.mean(axis=0) - whole.mean[0]).max()]
    return Outcome(Fraction(float(max(gaps))), {})


def _integer_stacks(level: int) -> Iterator[Case]:
    """Small integers: all of two ranks and three rows, and at random; times P where it is odd: so are their means."""
    values = (-1, 0, 2)
    for flat in itertools.product(values, repeat=6):
        stack = np.array(flat, np.float64).reshape(2, 3, 1)
        for K in (1, 2):
            yield Case({"P": 2, "m": 3, "n": 1, "K": K, "sketch": ((1,),)}, stack)
    rng = np.random.default_rng(3)
    for _ in range(200 * (1 + level)):
        P, m, n = int(rng.choice((1, 2, 3, 5, 8))), int(rng.integers(1, 5)), int(rng.integers(1, 4))
        stack = (P if P % 2 else 1) * rng.integers(-4, 5, (P, m, n)).astype(np.float64)
        sketch = tuple(tuple(row) for row in rng.integers(-3, 4, (n, 1)).tolist())
        yield Case({"P": P, "m": m, "n": n, "K": int(rng.integers(1, m + 1)), "sketch": sketch}, stack)


def _local(arc: Any, case: Case) -> Outcome:
    s, stack = case.settings, case.array
    result = arc(stack, s["K"], 1, sketch=[[1.0]])[0]
    lost = stack.copy()
    for p, rows in enumerate(result.rows):
        lost[p, rows] = 0.0
    ratio = float(np.square(lost).sum() / np.square(stack).sum())
    return Outcome(ratio, {"m": s["m"], "k": s["K"]}, 4 * stack.size * float(np.finfo(np.float64).eps))


def _cancelling(_budget: Budget) -> Iterator[Case]:
    for m in (2, 3, 8, 50):
        for height in (10.0, 1e4):
            stack = np.ones((2, m, 1))
            stack[0, 0], stack[1, 0] = height, -height
            yield Case({"P": 2, "m": m, "K": 1, "family": f"a row of {height:g} and its negative"}, stack)


def _local_curve(arc: Any, _seed: int) -> list[Series]:
    sizes, worst = [2, 3, 8, 50], []
    for m in sizes:
        worst.append(max(_local(arc, c).measured for c in _cancelling(_NONE) if c.settings["m"] == m))
    bound = [float(claims()[_A + "local_contraction"].bound(m=m, k=1)) for m in sizes]
    return [Series("two ranks, one row kept", "m", [float(m) for m in sizes], bound, worst)]


_NONE = Budget(0, (), 0, 0, 0)


def _rows_error(row_count: Any, case: Case) -> Outcome:
    """Error on orthogonal rows of norm one: those that are not kept, exactly."""
    m, share, rows = case.settings["m"], Fraction(case.settings["mu"]), case.array
    K = row_count(m, share, case.settings["rule"])
    mean = arctopk_allreduce(rows[None], K, 1, np.random.default_rng(m))[0].mean[0]
    return Outcome(Fraction(float(np.square(mean - rows).sum())) / m, {"mu": share})


def _rows_case(m: int, share: str, rule: str) -> Case:
    return Case({"m": m, "mu": share, "rule": rule}, np.eye(m))


def _shares(level: int) -> Iterator[Case]:
    for m in range(1, 13 + 8 * level):
        for share in sorted({Fraction(a, b) for b in (2, 3, 5, 10, 100) for a in (1, 2, 29, 70) if a <= b}):
            yield _rows_case(m, str(share), "floor")
            yield _rows_case(m, str(share), "ceil")


def _whole_shares(_budget: Budget) -> Iterator[Case]:
    for m, share in ((5, "1/5"), (10, "3/10"), (100, "29/100"), (7, "1")):
        yield _rows_case(m, share, "ceil")


def _rows_curve(rule: str) -> Any:
    def curves(row_count: Any, _seed: int) -> list[Series]:
        sizes = [1, 2, 4, 5, 9, 14, 20, 25]
        trials = [_rows_error(row_count, _rows_case(m, "1/5", rule)) for m in sizes]
        worst = [float(o.measured) for o in trials]
        bound = float(claims()["arctopk.rows.ceiling"].bound(mu=Fraction(1, 5)))
        return [Series("mu = 1/5, orthogonal rows", "m", [float(m) for m in sizes], [bound] * len(sizes), worst)]

    return curves


# --- agreement -------------------------------------------------------------------------------------------------------


_ORDERS = {"one order": True, "own orders": False}
"""How ranks add the sketches up -> the argument that says so."""


def _masks(arc: Any, case: Case) -> Outcome:
    s = case.settings
    rows = arc(case.array, s["K"], s["rank"], np.random.default_rng(s["seed"]), agree=_ORDERS[s["sums"]])[0].rows
    return Outcome(int((rows != rows[0]).any(axis=1).sum()), {}, active=s["P"] > 1 and s["K"] < s["m"])


def _stacks(budget: Budget) -> Iterator[Case]:
    """Gradients that nearly cancel, in float32."""
    for P in (1, 2, 3, 5, 8):
        for seed, sums in itertools.product(range(4 * (1 + budget.level)), _ORDERS):
            rng = np.random.default_rng([seed, P])
            stack = rng.standard_normal((P, 16, 3)).astype(np.float32)
            stack[-1] -= (1 - 1e-6) * stack.sum(axis=0)
            settings = {"P": P, "m": 16, "n": 3, "K": 4, "rank": 2, "seed": seed, "sums": sums}
            yield Case({**settings, "family": "cancelling"}, stack)


def _three_sketches(_budget: Budget) -> Iterator[Case]:
    # in float32, (2^24 + 1) - 2^24 = 0 and (2^24 - 2^24) + 1 = 1: the first row scores 0 or 1, the second 1/4
    stack = np.array([[[2.0**24], [0.5]], [[1.0], [0.0]], [[-(2.0**24)], [0.0]]], np.float32)
    settings = {"P": 3, "m": 2, "n": 1, "K": 1, "rank": 1, "seed": 0, "sums": "own orders"}
    yield Case({**settings, "family": "2^24, 1, -2^24"}, stack)


def _generated_stacks() -> st.SearchStrategy[Case]:
    @st.composite
    def cases(draw: st.DrawFn) -> Case:
        P, m, n = draw(inputs.integers(1, 5)), draw(inputs.integers(1, 6)), draw(inputs.integers(1, 3))
        entries = draw(
            st.lists(inputs.sampled_from((*inputs.SMALL, 2.0**24, -(2.0**24))), min_size=P * m * n, max_size=P * m * n)
        )
        settings = {"P": P, "m": m, "n": n, "K": draw(inputs.integers(1, m)), "rank": draw(inputs.integers(1, 3))}
        settings |= {"seed": draw(inputs.integers(0, 99)), "sums": draw(inputs.sampled_from(tuple(_ORDERS)))}
        return Case(settings, np.array(entries, np.float32).reshape(P, m, n))

    return cases()


# --- words -----------------------------------------------------------------------------------------------------------


_ALLREDUCES = {"ring": ring_allreduce, "doubling": recursive_doubling_allreduce}


def _sizes(level: int) -> Iterator[Case]:
    for P in (*range(1, 9), 12, 16)[: 8 + 2 * level]:
        for (m, n, K, rank), allreduce in itertools.product(
            ((4, 3, 1, 1), (8, 6, 3, 2), (16, 12, 5, 4), (24, 24, 24, 3)), _ALLREDUCES
        ):
            yield Case({"P": P, "m": P * m, "n": P * n, "K": K, "rank": rank, "allreduce": allreduce})
            yield Case({"P": P, "m": m, "n": n, "K": K, "rank": rank, "allreduce": allreduce})


def _symbols(case: Case) -> dict[str, int]:
    s = case.settings
    return {"P": s["P"], "m": s["m"], "n": s["n"], "k": s["K"], "r": s["rank"]}


def _words(arc: Any, case: Case) -> Outcome:
    s = case.settings
    stack = np.ones((s["P"], s["m"], s["n"]), np.float32)
    added = {"allreduce": _ALLREDUCES[s["allreduce"]]}
    result = arc(stack, s["K"], s["rank"], np.random.default_rng(0), **added)
    return Outcome(result[1].critical_path, _symbols(case))


def _against_gather(arc: Any, case: Case) -> Outcome:
    s = case.settings
    stack = np.random.default_rng(s["m"]).standard_normal((s["P"], s["m"], s["n"]))
    added = {"allreduce": _ALLREDUCES[s["allreduce"]]}
    mine = arc(stack, s["K"], s["rank"], np.random.default_rng(0), **added)[1].received.max()
    theirs = topk_allgather(stack.reshape(s["P"], -1), s["K"] * s["n"])[1].received.max()
    return Outcome(Fraction(int(theirs), int(mine)), _symbols(case))


def _words_curves(name: str, trial: Any, allreduce: str = "ring") -> Any:
    def curves(arc: Any, _seed: int) -> list[Series]:
        ranks, settings = [2, 4, 8, 16], {"m": 32, "n": 32, "K": 6, "rank": 4, "allreduce": allreduce}
        outcomes = [trial(arc, Case({**settings, "P": P})) for P in ranks]
        bound = [float(claims()[name].bound(**o.values)) for o in outcomes]
        measured = [float(o.measured) for o in outcomes]
        return [Series("32 x 32, 6 rows kept, rank 4", "P", [float(P) for P in ranks], bound, measured)]

    return curves


# --- high probability ------------------------------------------------------------------------------------------------


def _only_drawn(_arc: Any, _case: Case) -> Unmeasured:
    return Unmeasured("a probability over sketches of a hundred columns and more: draws alone tell")


def _failures(arc: Any) -> list[Stream]:
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


def _failure_stream(arc: Any, rows: Array, K: int, eps: float, delta: float) -> Stream:
    rank = math.ceil(4 * math.log(2 * len(rows) / delta) / (eps**2 - eps**3))
    best = float(np.sort(np.square(rows).sum(axis=1))[-K:].sum())
    # the ranks' own gradients are large and cancel, so that every rank counts
    stack, total = np.stack([rows, rows + 8.0, rows - 8.0]), float(np.square(rows).sum())

    def draw(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        lost = [np.square(arc(stack, K, rank, rng)[0].mean[0] - rows).sum() for _ in range(count)]
        return (total - np.array(lost) < (1 - eps) / (1 + eps) * best) / delta - 1.0

    return Stream(f"m = {len(rows)}, K = {K}, rank {rank}", draw, -1.0, 1 / delta - 1, two_sided=False, cost=40)


EXPERIMENTS: dict[str, Study] = studies(
    Study(
        _A + "commutes",
        _ARC,
        _commutation,
        grid=_integer_stacks,
        enumerated="two ranks, three rows of small integers, and integer stacks at random; exact arithmetic",
    ),
    *ERRORS,
    Study(_A + "high_probability", _ARC, _only_drawn, streams=_failures),
    Study(_A + "local_contraction", _ARC, _local, corpus=_cancelling, curves=_local_curve),
    Study(
        "arctopk.rows.floor",
        "row_count",
        _rows_error,
        grid=_shares,
        enumerated="numbers of rows and shares; rational arithmetic",
        curves=_rows_curve("floor"),
    ),
    Study(
        "arctopk.rows.ceiling",
        "row_count",
        _rows_error,
        grid=_shares,
        enumerated="numbers of rows and shares; rational arithmetic",
        extremal=_whole_shares,
        curves=_rows_curve("ceil"),
    ),
    Study(_A + "masks", _ARC, _masks, corpus=_stacks, cases=_generated_stacks),
    Study(
        _A + "masks_of_own_orders",
        _ARC,
        _masks,
        corpus=_stacks,
        extremal=_three_sketches,
        cases=_generated_stacks,
    ),
    Study(
        _A + "words",
        _ARC,
        _words,
        known=known,
        grid=_sizes,
        enumerated="P = 1 .. 8 and more, several sizes; words counted as they move",
        curves=_words_curves(_A + "words", _words),
    ),
    Study(
        _A + "words_doubling",
        _ARC,
        _words,
        known=known,
        grid=_sizes,
        enumerated="P = 1, 2, 4, 8 and more, several sizes; words counted as they move",
        curves=_words_curves(_A + "words_doubling", _words, "doubling"),
    ),
    Study(
        _A + "words_against_gather",
        _ARC,
        _against_gather,
        known=known,
        grid=_sizes,
        enumerated="P = 2 .. 8 and more, several sizes; words counted as they move",
        curves=_words_curves(_A + "words_against_gather", _against_gather),
    ),
)
