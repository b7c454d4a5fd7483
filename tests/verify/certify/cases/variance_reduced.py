"""Refuted claims of variance_reduced at their smallest counterexamples: what the cases there are made with."""

import numpy as np

CASES = {
    "variance_reduced.onebit.contracts": ({"scale": "norm"}, lambda at: np.eye(at["r"] ** 2)[:1]),
    "variance_reduced.onebit.thirty_two": ({"dtype": "float32"}, None),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
