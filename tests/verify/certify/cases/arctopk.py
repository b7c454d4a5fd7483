"""Refuted claims of arctopk at their smallest counterexamples: what the cases there are made with."""

from fractions import Fraction

import numpy as np

CASES = {
    "arctopk.rows.floor": ({"mu": Fraction(1, 2), "rule": "floor"}, lambda at: np.eye(at["m"])),
    "arctopk.allreduce.local_contraction": ({"P": 2, "K": 1, "family": "a row of 2 and its negative"}, None),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
