"""Refuted claims of moshpit at their smallest counterexamples: what the cases there are made with."""

import numpy as np
from refutation_cases import squared_distance

from commbounds.collectives import moshpit
from commbounds.verify.study import Outcome

CASES = {"moshpit.random_groups.as_recalled": ({"reading": "cut", "rule": "skip", "failure": 0, "sizes": ""}, None)}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""


def _one_dimension_less(at):
    (result, _), _ = moshpit(at["a"] * np.eye(2), np.array([[0], [1]]), 2, 1, slots="rank")
    return Outcome(squared_distance(result), {"N": 2, "M": 2, "dims": 1})


ALONE = {"moshpit.grid.key_of_d_digits": _one_dimension_less}
"""Outcomes that no study measures at so small a point: what the collective itself returns."""
