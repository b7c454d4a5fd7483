"""Claims about what the ranks do with sketches together."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.sketched import count_sketch, unsketch
from commbounds.verify.experiments.sketched.hashings import drawn_hashes
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, Of, Space
from commbounds.verify.study import Outcome, over

Values = dict[str, Any]


def _hashed(n: int, sketch_rows: int, sketch_cells: int, seed: int) -> Values:
    buckets, signs = drawn_hashes(n, sketch_rows, sketch_cells, seed)
    return {"buckets": buckets, "signs": signs}


def _total(array: Any) -> Fraction:
    """Sum of the magnitudes of multiples of a power of two."""
    return Fraction(float(np.abs(array).sum()))


# --- steps -----------------------------------------------------------------------------------------------------------


def _gradients(P: int, n: int, steps: int, seed: int) -> Array:
    """Integer gradients of some steps, whose means are exact."""
    odd = P // (P & -P)
    return odd * np.random.default_rng([P, n, seed]).integers(-4, 5, (steps, P, n)).astype(float)


def _known(x: Array, n: int, sketch_rows: int, sketch_cells: int, k: int, rho: int, seed: int) -> Values:
    """The hashes; and how many entries that one step recovers share a counter at most, whichever way is taken."""
    hashed = _hashed(n, sketch_rows, sketch_cells, seed)
    hashes = hashed["buckets"], hashed["signs"]
    most = 0
    for zeroed in (True, False):
        momentum = error = np.zeros((sketch_rows, sketch_cells))
        for stack in x:
            momentum = rho * momentum + count_sketch(stack.mean(axis=0), *hashes, sketch_cells)
            update = unsketch(error + momentum, *hashes, k)
            kept, sent = np.flatnonzero(update), count_sketch(update, *hashes, sketch_cells)
            most = max(most, *(int(np.bincount(row[kept], minlength=1).max()) for row in hashes[0]))
            error = np.where(sent != 0, 0, error + momentum) if zeroed else error + momentum - sent
            momentum = np.where(sent != 0, 0, momentum) if zeroed else momentum
    return {**hashed, "most_together": most}


def _after(implementation: Any, stacks: Array, facts: Values, settings: Values, forget: str) -> Iterator[Any]:
    """The state after every step."""
    momentum = error = np.zeros((settings["sketch_rows"], settings["sketch_cells"]))
    for stack in stacks:
        state, _ = implementation(
            stack, momentum, error, facts["buckets"], facts["signs"], settings["k"], settings["rho"], forget
        )
        momentum, error = state.momentum, state.error
        yield state


def _lost(implementation: Any, x: Array, facts: Values, settings: Values, forget: str) -> Fraction:
    *_, (last, sent) = _running(_after(implementation, x, facts, settings, forget))
    hashes = facts["buckets"], facts["signs"], settings["sketch_cells"]
    given = count_sketch(x.mean(axis=1).sum(axis=0), *hashes)
    return _total(given - last.error - count_sketch(sent, *hashes))


def _running(states: Iterator[Any]) -> Iterator[tuple[Any, Array]]:
    """Every state with the sum of the updates so far."""
    sent: Any = 0.0
    for state in states:
        sent = sent + state.update[-1]
        yield state, sent


def _forgotten(implementation: Any, x: Array, facts: Values, settings: Values) -> Fraction:
    errors = {
        way: np.array([state.error for state in _after(implementation, x, facts, settings, way)])
        for way in ("zero", "subtract")
    }
    return _total(errors["zero"] - errors["subtract"])


def _grown(implementation: Any, x: Array, facts: Values, settings: Values, forget: str) -> Outcome:
    """The counter with the most entries that the last step recovers, of those that have any."""
    buckets, signs, cells = facts["buckets"], facts["signs"], settings["sketch_cells"]
    *_, before_last, last = _after(implementation, x, facts, settings, forget)
    before = before_last.error + settings["rho"] * before_last.momentum
    before = before + count_sketch(x[-1].mean(axis=0), buckets, signs, cells)
    kept = np.argsort(-np.abs(before[0, buckets[0]]), kind="stable")[: settings["k"]]
    counts = np.bincount(buckets[0, kept], minlength=cells)
    cell = int(counts.argmax())
    values = {"recovered_in_cell": int(counts[cell]), "cell_before": _total(before[0, cell])}
    return Outcome(_total(last.error[0, cell]), values)


_HALF = Of("half of n", lambda n: max(1, n // 2))
_TABLES: Values = {
    "P": RANKS,
    "n": (1, 2, 4, 7),
    "sketch_rows": (1, 3, 2),
    "sketch_cells": (1, 2, 5, 16),
    "k": (1, _HALF, Of("n", lambda n: n)),
    "forget": ("zero", "subtract"),
    "rho": (0, 1),
    "steps": (3, 4, 9),
}


def _steps(axes: Values, arrays: int, *combined: str) -> Family:
    space = Space(_gradients, axes, options=("sketch_cells", "k"), combined=(("n", "k", "sketch_cells", *combined),))
    return Family("sketched.fetchsgd", "fetchsgd_step", space, _known, arrays=arrays, searched=False)


_STEPS = _steps(_TABLES, 2, "sketch_rows", "forget")
_ONE_ROW = _steps({**_TABLES, "sketch_rows": (1,)}, 3, "forget", "rho")


def _by_k(label: str, counts: Any = range(1, 8), **fixed: Any) -> Any:
    return [_STEPS.over("k", counts, label, **{"P": 2, "n": 7, "seed": 1, **fixed})]


_ROW: Values = {"n": 4, "sketch_rows": 1, "sketch_cells": 16}
_BY_TOGETHER = [
    _STEPS.case(_STEPS.space.at(P=1, n=7, sketch_cells=1, forget="subtract", seed=4, k=k)) for k in range(1, 8)
]
_ONE = "4 entries, a row of 16"
STEPS = (
    *_STEPS.studies(
        _lost, "conserves", curves=_by_k("7 entries, 3 rows of 4", forget="subtract", sketch_rows=3, sketch_cells=4)
    ),
    *_STEPS.studies(
        _lost, "zeroing", curves=_by_k("7 entries, 3 rows of 4", forget="zero", sketch_rows=3, sketch_cells=4)
    ),
    *_ONE_ROW.studies(_forgotten, "same", curves=_by_k(_ONE, (1, 2, 3, 4), **_ROW)),
    *_ONE_ROW.studies(_forgotten, "same_momentum", curves=_by_k(_ONE, (1, 2, 3, 4), **_ROW, rho=1)),
    *_ONE_ROW.studies(_grown, "growth", curves=[over("recovered_in_cell", "one counter", _BY_TOGETHER)]),
)

# --- words and exact entries -----------------------------------------------------------------------------------------


def _integers(P: int, n: int, start: str, seed: int) -> Array:
    """Small integers; or the last entry of the last rank alone."""
    if start == "last":
        return np.asarray(np.eye(P * n)[-1].reshape(P, n))
    return np.random.default_rng([P, n, seed]).integers(-4, 5, (P, n)).astype(float)


def _of_sum(x: Array, n: int, sketch_rows: int, sketch_cells: int, seed: int) -> Values:
    return {**_hashed(n, sketch_rows, sketch_cells, seed), "nonzero": bool(x.sum(axis=0).any())}


def _ran(
    implementation: Any, x: Array, buckets: Array, signs: Array, sketch_cells: int, k: int, sketch_candidates: int
) -> Any:  # fmt: skip
    return implementation(x, buckets, signs, sketch_cells, k, sketch_candidates)


def _ran_once(implementation: Any, x: Array, buckets: Array, signs: Array, sketch_cells: int, k: int) -> Any:
    return implementation(x, buckets, signs, sketch_cells, k)


def _sent(found: Any) -> int:
    return int(found[1].sent.max())


def _exact_error(found: Any, x: Array) -> Fraction:
    total = x.sum(axis=0)
    return Fraction(float(np.square(found[0][-1] - total).sum())) / int(np.square(total).sum())


_P = Of("P", lambda P: P)
_TWICE = Of("2 P", lambda P: 2 * P)
_TWO_ROUNDS = Family(
    "sketched",
    "sketched_topk",
    Space(
        _integers,
        {
            "P": RANKS,
            "n": (Of("P + 4", lambda P: P + 4), _TWICE, Of("3 P + 1", lambda P: 3 * P + 1)),
            "sketch_rows": (1, 2, 3),
            "sketch_cells": (_P, 4, 5, _TWICE),
            "sketch_candidates": (_P, Of("n", lambda n: n), 2),
            "k": (1, Of("candidates", lambda sketch_candidates: sketch_candidates)),
            "start": ("drawn",),
        },
    ),
    _of_sum,
    _ran,
    searched=False,
)
_ONE_ROUND = replace(_TWO_ROUNDS, subject="sketched_sum", run=_ran_once)
_WIDE: Values = {"P": 4, "n": 64, "sketch_rows": 3, "seed": 2}
_FOURS = range(4, 28, 4)
_HIDDEN = _TWO_ROUNDS.every(P=[1], n=[2], sketch_cells=[1], sketch_candidates=[1], k=[1], start=["last"])


def _by_candidates(k: int) -> Any:
    label = "P = 4, 3 rows of 8"
    return [_TWO_ROUNDS.over("sketch_candidates", _FOURS, label, **_WIDE, sketch_cells=8, k=k)]


FEEDBACK = (
    *STEPS,
    *_ONE_ROUND.studies(
        _sent, "words.one_round", curves=[_ONE_ROUND.over("sketch_cells", _FOURS, "P = 4, 3 rows", **_WIDE)]
    ),
    *_TWO_ROUNDS.studies(_sent, "words.two_rounds", curves=_by_candidates(1)),
    *_TWO_ROUNDS.studies(_exact_error, "recovery.second_round", extremal=_HIDDEN, curves=_by_candidates(4)),
)
