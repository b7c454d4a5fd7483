"""Refuted claims of sparse at their smallest counterexamples: what the cases there are made with."""

import numpy as np
from refutation_cases import rows

CASES = {
    "sparse.topkdsa.lower_any_density": ({"switch": "model", "allgather": "ring"}, lambda at: np.eye(at["P"])),
    "sparse.topkdsa.upper_any_split": ({"switch": "model", "allgather": "ring"}, None),
    "sparse.spardl.k_entries": ({"teams": 1}, rows([1], [1])),
    "sparse.gtopk.code_mass": ({"putback": "published"}, None),
    "sparse.lower_bound.every_rank": ({"n": 2, "k": 1}, None),
    "sparse": ({}, None),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
