"""Claims about what the ranks do with sketches together."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.compressors.sketched import count_sketch, unsketch
from commbounds.verify.experiments.sketched.hashings import drawn_hashes
from commbounds.verify.study import Case, Outcome, Study, over

Array = NDArray[Any]


def _steps(
    P: int, n: int, rows: int, cells: int, k: int, forget: str, steps: int = 3, rho: int = 0, seed: int = 1
) -> Case:
    """Integer gradients of some steps."""
    rng = np.random.default_rng([P, n, seed])
    given = {
        "P": P, "n": n, "sketch_rows": rows, "sketch_cells": cells, "k": k, "forget": forget, "rho": rho,
        "hash_seed": seed,
    }  # fmt: skip
    odd = P // (P & -P)  # so that means are exact
    return Case(given, odd * rng.integers(-4, 5, (steps, P, n)).astype(float))


def _hashed(case: Case) -> tuple[Array, Array]:
    s = case.settings
    return drawn_hashes(s["n"], s["sketch_rows"], s["sketch_cells"], s["hash_seed"])


def _total(array: Any) -> Fraction:
    """Sum of the magnitudes of multiples of a power of two."""
    return Fraction(float(np.abs(array).sum()))


def _known(_implementation: Any, case: Case) -> dict[str, Any]:
    """How many entries that one step recovers share a counter at most, whichever way is taken."""
    s = case.settings
    hashes = _hashed(case)
    most = 0
    for zeroed in (True, False):
        momentum = error = np.zeros((s["sketch_rows"], s["sketch_cells"]))
        for stack in case.array:
            momentum = s["rho"] * momentum + count_sketch(stack.mean(axis=0), *hashes, s["sketch_cells"])
            update = unsketch(error + momentum, *hashes, s["k"])
            kept, sent = np.flatnonzero(update), count_sketch(update, *hashes, s["sketch_cells"])
            most = max(most, *(int(np.bincount(row[kept], minlength=1).max()) for row in hashes[0]))
            error = np.where(sent != 0, 0, error + momentum) if zeroed else error + momentum - sent
            momentum = np.where(sent != 0, 0, momentum) if zeroed else momentum
    return {"most_together": most}


def _lost(step: Any, case: Case) -> Outcome:
    s = case.settings
    hashes = _hashed(case)
    momentum = error = np.zeros((s["sketch_rows"], s["sketch_cells"]))
    sent = np.zeros(s["n"])
    for stack in case.array:
        state, _ = step(stack, momentum, error, *hashes, s["k"], s["rho"], s["forget"])
        momentum, error = state.momentum, state.error
        sent = sent + state.update[-1]
    given = count_sketch(case.array.mean(axis=1).sum(axis=0), *hashes, s["sketch_cells"])
    return Outcome(_total(given - error - count_sketch(sent, *hashes, s["sketch_cells"])), {"k": s["k"]})


def _forgotten(step: Any, case: Case) -> Outcome:
    s = case.settings
    errors = {}
    for way in ("zero", "subtract"):
        momentum = error = np.zeros((s["sketch_rows"], s["sketch_cells"]))
        after = []
        for stack in case.array:
            state, _ = step(stack, momentum, error, *_hashed(case), s["k"], s["rho"], way)
            momentum, error = state.momentum, state.error
            after.append(error)
        errors[way] = np.array(after)
    values = {"k": s["k"], "sketch_rows": s["sketch_rows"]}
    return Outcome(_total(errors["zero"] - errors["subtract"]), values)


def _grown(step: Any, case: Case) -> Outcome:
    """The counter with the most entries that the last step recovers, of those that have any."""
    s = case.settings
    buckets, signs = _hashed(case)
    momentum = error = np.zeros((s["sketch_rows"], s["sketch_cells"]))
    for stack in case.array[:-1]:
        state, _ = step(stack, momentum, error, buckets, signs, s["k"], s["rho"], s["forget"])
        momentum, error = state.momentum, state.error
    before = error + s["rho"] * momentum
    before = before + count_sketch(case.array[-1].mean(axis=0), buckets, signs, s["sketch_cells"])
    estimates = before[0, buckets[0]]
    kept = np.argsort(-np.abs(estimates), kind="stable")[: s["k"]]
    counts = np.bincount(buckets[0, kept], minlength=s["sketch_cells"])
    cell = int(counts.argmax())
    state, _ = step(case.array[-1], momentum, error, buckets, signs, s["k"], s["rho"], s["forget"])
    values = {
        "recovered_in_cell": int(counts[cell]), "cell_before": _total(before[0, cell]), "sketch_rows": s["sketch_rows"],
    }  # fmt: skip
    return Outcome(_total(state.error[0, cell]), values)


def _runs(_level: int) -> Iterator[Case]:
    for P, n, rows, cells, forget in itertools.product((1, 2, 4), (1, 4, 7), (1, 3), (1, 2, 5), ("zero", "subtract")):
        for k in sorted({1, max(1, n // 2), n}):
            yield _steps(P, n, rows, cells, k, forget)
    yield _steps(2, 4, 3, 2, 1, "subtract", rho=1)
    yield _steps(2, 4, 1, 16, 2, "subtract", rho=1)
    for n, forget in itertools.product((2, 4, 7), ("zero", "subtract")):
        yield _steps(1, n, 1, 5, 1, forget, steps=4, rho=1)
    for P, rows, forget in itertools.product((3, 5), (1, 3), ("zero", "subtract")):
        yield _steps(P, 7, rows, 16, 2, forget, steps=9)


def _by_k(forget: str, rows: int) -> list[Case]:
    return [_steps(2, 7, rows, 4, k, forget) for k in range(1, 8)]


# --- words and exact entries -----------------------------------------------------------------------------------------


def _summed(P: int, n: int, rows: int, cells: int, k: int, candidates: int, seed: int = 2, top: int = 4) -> Case:
    rng = np.random.default_rng([P, n, seed])
    given = {
        "P": P, "n": n, "sketch_rows": rows, "sketch_cells": cells, "k": k, "sketch_candidates": candidates,
        "hash_seed": seed,
    }  # fmt: skip
    return Case(given, rng.integers(-top, top + 1, (P, n)).astype(float))


def _nonzero(_implementation: Any, case: Case) -> dict[str, Any]:
    return {"nonzero": bool(case.array.sum(axis=0).any())}


def _ran(collective: Any, case: Case) -> tuple[Any, Any]:
    s = case.settings
    found: tuple[Any, Any] = collective(case.array, *_hashed(case), s["sketch_cells"], s["k"], s["sketch_candidates"])
    return found


def _values(case: Case) -> dict[str, Any]:
    return {name: case.settings[name] for name in ("P", "n", "k", "sketch_rows", "sketch_cells", "sketch_candidates")}


def _one_round(collective: Any, case: Case) -> Outcome:
    s = case.settings
    _, traffic = collective(case.array, *_hashed(case), s["sketch_cells"], s["k"])
    return Outcome(int(traffic.sent.max()), _values(case))


def _two_rounds(collective: Any, case: Case) -> Outcome:
    _, traffic = case.once(_ran, collective)
    return Outcome(int(traffic.sent.max()), _values(case))


def _exact_error(collective: Any, case: Case) -> Outcome:
    found, _ = case.once(_ran, collective)
    total = case.array.sum(axis=0)
    gap = Fraction(float(np.square(found[-1] - total).sum()))
    return Outcome(gap / int(np.square(total).sum()), _values(case))


def _sizes(_level: int) -> Iterator[Case]:
    for P, (n, k, candidates), (rows, cells) in itertools.product(
        (1, 2, 3, 4), ((4, 1, 2), (8, 2, 4), (13, 3, 12), (12, 12, 12)), ((1, 4), (2, 6), (3, 4), (3, 5))
    ):
        yield _summed(P, n, rows, cells, k, candidates)
    yield _summed(5, 13, 3, 5, 3, 10)
    yield _summed(8, 12, 2, 8, 2, 8)


def _hidden(_budget: Any) -> Iterator[Case]:
    """One counter, and the first entry zero: it is named, and nothing is gained."""
    case = _summed(1, 2, 1, 1, 1, 1)
    yield Case(case.settings, np.array([[0.0, 1.0]]))


FEEDBACK = (
    *(
        Study(
            f"sketched.fetchsgd.{name}", "fetchsgd_step", trial, grid=_runs, known=_known,
            enumerated="up to four ranks, seven entries, three rows of five counters; 3 and 5 ranks over nine steps",
            curves=[over(axis, label, cases)],
        )
        for name, trial, axis, label, cases in (
            ("conserves", _lost, "k", "7 entries, 3 rows of 4", _by_k("subtract", 3)),
            ("zeroing", _lost, "k", "7 entries, 3 rows of 4", _by_k("zero", 3)),
            ("same", _forgotten, "k", "4 entries, a row of 16", [_steps(2, 4, 1, 16, k, "zero") for k in (1, 2, 3, 4)]),
            ("same_momentum", _forgotten, "k", "4 entries, a row of 16",
             [_steps(2, 4, 1, 16, k, "zero", rho=1) for k in (1, 2, 3, 4)]),
            ("growth", _grown, "recovered_in_cell", "one counter",
             [_steps(1, 7, 1, 1, k, "subtract", seed=4) for k in range(1, 8)]),
        )
    ),
    Study(
        "sketched.words.one_round", "sketched_sum", _one_round, grid=_sizes, enumerated="1 to 5 and 8 ranks",
        curves=[over("sketch_cells", "P = 4, 3 rows", [_summed(4, 64, 3, 4 * c, 1, 4) for c in range(1, 7)])],
    ),
    Study(
        "sketched.words.two_rounds", "sketched_topk", _two_rounds, grid=_sizes, enumerated="1 to 5 and 8 ranks",
        curves=[over("sketch_candidates", "P = 4, 3 rows of 8", [_summed(4, 64, 3, 8, 1, 4 * j) for j in range(1, 7)])],
    ),
    Study(
        "sketched.recovery.second_round", "sketched_topk", _exact_error, grid=_sizes, known=_nonzero, extremal=_hidden,
        enumerated="1 to 5 and 8 ranks",
        curves=[over("sketch_candidates", "P = 4, 3 rows of 8", [_summed(4, 64, 3, 8, 4, 4 * j) for j in range(1, 7)])],
    ),
)  # fmt: skip
