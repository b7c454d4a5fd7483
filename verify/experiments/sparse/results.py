"""Studies of what sparse all-reduces return: mass, and what gTopk's update is."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.experiments.sparse.cases import Ran, family_of, on_small_stacks, over_ranks
from commbounds.verify.experiments.sparse.words import TEAMS
from commbounds.verify.family import Family, FamilyStudy, Rounded
from commbounds.verify.study import Curve

# --- mass --------------------------------------------------------------------------------------------------------


def _mass_defect(found: Ran, x: Array) -> Fraction | Rounded:
    """Summed exactly and rounded once; a Fraction where all is in whole numbers."""
    columns = np.vstack([x, -found.result.update[None], -found.result.residual]).T
    largest = max(abs(math.fsum(column)) for column in columns.tolist())
    if np.array_equal(x, np.round(x)):
        return Fraction(largest)
    # At an index the ranks bring P pieces. Whatever the order, an addition makes one piece of two, so that there are at
    # most P of them (with the zero that an update starts from), each off by at most eps/2 of the magnitudes' sum A,
    # or of that with the errors before it: P eps A covers all, and the rounding of the defect itself.
    return Rounded(largest, len(x) * float(np.finfo(np.float64).eps) * float(np.abs(x).sum(axis=0).max()))


def _mass(claim: str, family: Family, curves: Sequence[Curve] = (), **enumerated: Any) -> tuple[FamilyStudy, ...]:
    return family.studies(_mass_defect, claim, curves=curves, **on_small_stacks(family, **enumerated))


_PUBLISHED = family_of("gtopk_allreduce", putback=("published",))

# --- what gTopk's update is --------------------------------------------------------------------------------------


def _strongest(entries: dict[int, Fraction], k: int) -> dict[int, Fraction]:
    return {i: entries[i] for i in sorted(entries, key=lambda i: (-abs(entries[i]), i))[:k]}


def _sum(rows: list[dict[int, Fraction]]) -> dict[int, Fraction]:
    indices = sorted({i for row in rows for i in row})
    return {i: sum((row.get(i, Fraction(0)) for row in rows), Fraction(0)) for i in indices}


def _misplaced(of_selections: bool, found: Ran, x: Array, k: int) -> int:
    """Entries in which the update differs from the top-k of the sum, of the vectors or of their top-k."""
    rows = [{i: Fraction(v) for i, v in enumerate(row.tolist())} for row in x]
    right = _strongest(_sum([_strongest(row, k) for row in rows] if of_selections else rows), k)
    return sum(Fraction(v) != right.get(i, 0) for i, v in enumerate(found.result.update.tolist()))


_GTOPK = family_of("gtopk_allreduce")
_PAIRS = replace(_GTOPK, space=_GTOPK.space.without("More than two ranks: of other claims.", lambda P: P > 2))
_UPDATES = {"curves": over_ranks(_GTOPK, 64, 8), **on_small_stacks(_GTOPK)}

RESULTS = (
    *_mass("topka.mass", family_of("topk_allgather")),
    *_mass("topkdsa.mass", family_of("topk_dsa")),
    *_mass("gaussiank.mass", family_of("gaussiank_allreduce")),
    *_mass("gtopk.code_mass", _PUBLISHED, over_ranks(_PUBLISHED, 256, 16)),
    *_mass("gtopk.mass", family_of("gtopk_allreduce", putback=("conserving",))),
    *_mass(
        "spardl.mass",
        TEAMS,
        synchronise=("r-sag", "b-sag"),
        teams=lambda synchronise: (1, 2, 4) if synchronise == "r-sag" else (2, 3),
    ),
    *_GTOPK.studies(partial(_misplaced, False), "gtopk.true_topk", **_UPDATES),
    *_GTOPK.studies(partial(_misplaced, True), "gtopk.topk_of_selections", **_UPDATES),
    *_PAIRS.studies(partial(_misplaced, True), "gtopk.two_ranks", **on_small_stacks(_PAIRS)),
)
