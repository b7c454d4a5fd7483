"""Refuted claims of sketched at their smallest counterexamples: what the cases there are made with."""

from itertools import count

import numpy as np

from commbounds.verify.experiments.sketched.hashings import drawn_hashes


def _apart(seed):
    """Whether two entries have counters of their own, of two."""
    first, second = drawn_hashes(2, 1, 2, seed)[0][0]
    return first != second


def _one_row_together(seed):
    """Whether two entries have one counter and one sign in one of two rows, and counters of their own in the other."""
    buckets, signs = drawn_hashes(2, 2, 2, seed)
    same = buckets[:, 0] == buckets[:, 1]
    return same.sum() == 1 and bool((signs[same, 0] == signs[same, 1]).all())


CASES = {
    "sketched.hashes": (lambda at: {"sketch_cells": at.get("sketch_cells", 2)}, None),
    "sketched.median.fourwise": (
        lambda at: {
            "n": at["n"], "k": 1, "sketch_rows": 3, "sketch_cells": 1, "hashing": "five", "middle": "mean",
            "tolerance": "1",
        },
        lambda at: np.full(at["n"], float(at["a"])),
    ),
    "sketched.median.lower": (
        {"n": 2, "k": 1, "sketch_rows": 2, "hashing": "independent", "middle": "lower", "tolerance": "1"},
        None,
    ),
    "sketched.recovery.contraction": (
        {"hashing": "independent", "middle": "mean", "tolerance": "1"},
        lambda at: np.ones(at["n"]),
    ),
    "sketched.fetchsgd.same_momentum": (
        lambda at: {
            "P": 1, "n": 2, "sketch_rows": 1, "sketch_cells": 2, "forget": "zero", "rho": 1,
            "seed": next(filter(_apart, count())),
        },
        None,
    ),
    "sketched.fetchsgd.zeroing": (
        lambda at: {
            "P": 1, "n": 2, "sketch_rows": 2, "sketch_cells": 2, "forget": "zero", "rho": 0,
            "seed": next(filter(_one_row_together, count())),
        },
        None,
    ),
}  # fmt: skip
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
