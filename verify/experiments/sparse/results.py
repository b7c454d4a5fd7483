"""Studies of what sparse all-reduces return: mass, and what gTopk's update is."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from commbounds.collectives import Traffic
from commbounds.verify.experiments.sparse.cases import (
    SMALL_STACKS,
    by_hand,
    drawn,
    every_small_stack,
    over_ranks,
    study,
    trial,
)
from commbounds.verify.study import Case, Study

_Measure = Callable[[Case, Any, Traffic], Any]

# --- mass --------------------------------------------------------------------------------------------------------


def _whole_numbers(case: Case) -> bool:
    assert case.x is not None
    return bool(np.all(case.x == np.round(case.x)))


def _mass_defect(case: Case, result: Any, _traffic: Traffic) -> Fraction | float:
    """Summed exactly and rounded once; a Fraction where all is in whole numbers."""
    assert case.x is not None
    columns = np.vstack([case.x, -result.update[None], -result.residual]).T
    largest = max(abs(math.fsum(column)) for column in columns.tolist())
    return Fraction(largest) if _whole_numbers(case) else largest


def _mass_slack(case: Case) -> float:
    # At an index the ranks bring P pieces. Whatever the order, an addition makes one piece of two, so that there are at
    # most P of them (with the zero that an update starts from), each off by at most eps/2 of the magnitudes' sum A,
    # or of that with the errors before it: P eps A covers all, and the rounding of the defect itself.
    assert case.x is not None
    if _whole_numbers(case):
        return 0.0
    return len(case.x) * float(np.finfo(np.float64).eps) * float(np.abs(case.x).sum(axis=0).max())


def _mass(claim: str, subject: str, *choices: dict[str, Any], shown: bool = False) -> Study:
    name, run = f"sparse.{claim}", trial(_mass_defect, slack=_mass_slack)
    return study(
        name,
        subject,
        run,
        grid=every_small_stack(*choices),
        corpus=by_hand(*choices),
        cases=drawn(*choices),
        enumerated=SMALL_STACKS,
        curves=over_ranks(256, 16, **choices[0]) if shown else (),
    )


_TEAMS: tuple[dict[str, Any], ...] = (
    {},
    {"teams": 2},
    {"teams": 2, "synchronise": "b-sag"},
    {"teams": 3, "synchronise": "b-sag", "sag_entries": None},
    {"teams": 4},
)

_MASS = (
    _mass("topka.mass", "topk_allgather", {}),
    _mass("topkdsa.mass", "topk_dsa", {}),
    _mass("gaussiank.mass", "gaussiank_allreduce", {"adapt": "vgg"}),
    _mass("gtopk.code_mass", "gtopk_allreduce", {"putback": "published"}, shown=True),
    _mass("gtopk.mass", "gtopk_allreduce", {"putback": "conserving"}),
    _mass("spardl.mass", "spardl_allreduce", *_TEAMS),
)

# --- what gTopk's update is --------------------------------------------------------------------------------------


def _strongest(entries: dict[int, Fraction], k: int) -> dict[int, Fraction]:
    return {i: entries[i] for i in sorted(entries, key=lambda i: (-abs(entries[i]), i))[:k]}


def _sum(rows: list[dict[int, Fraction]]) -> dict[int, Fraction]:
    indices = sorted({i for row in rows for i in row})
    return {i: sum((row.get(i, Fraction(0)) for row in rows), Fraction(0)) for i in indices}


def _misplaced(of_selections: bool) -> _Measure:
    """Entries in which the update differs from the top-k of the sum, of the vectors or of their top-k."""

    def measure(case: Case, result: Any, _traffic: Traffic) -> int:
        assert case.x is not None
        k = case.settings["k"]
        rows = [{i: Fraction(v) for i, v in enumerate(x.tolist())} for x in case.x]
        right = _strongest(_sum([_strongest(row, k) for row in rows] if of_selections else rows), k)
        return sum(Fraction(v) != right.get(i, 0) for i, v in enumerate(result.update.tolist()))

    return measure


def _update_study(claim: str, of_selections: bool, most_ranks: int = 32) -> Study:
    name, run = f"sparse.gtopk.{claim}", trial(_misplaced(of_selections))
    return study(
        name,
        "gtopk_allreduce",
        run,
        grid=every_small_stack({}),
        cases=drawn(ranks=min(4, most_ranks), largest=8),
        corpus=by_hand({}),
        enumerated=SMALL_STACKS,
        curves=over_ranks(64, 8) if most_ranks > 2 else (),
    )


_UPDATES = (
    _update_study("true_topk", of_selections=False),
    _update_study("topk_of_selections", of_selections=True),
    _update_study("two_ranks", of_selections=True, most_ranks=2),
)

RESULTS = (*_MASS, *_UPDATES)
