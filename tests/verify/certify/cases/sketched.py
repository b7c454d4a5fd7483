"""What the implementations of `sketched` are run with at the smallest counterexamples."""

from itertools import count

import numpy as np

from commbounds.verify.experiments.sketched.hashings import drawn_hashes


def apart_and_together():
    """A seed with which two entries have one counter and one sign in one of two rows, and are apart in the other."""
    for seed in count():
        buckets, signs = drawn_hashes(2, 2, 2, seed)
        same = buckets[:, 0] == buckets[:, 1]
        if same.sum() == 1 and signs[same, 0] == signs[same, 1]:
            return seed


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
    "sketched.fetchsgd.zeroing": (
        lambda at: {
            "P": 1, "n": 2, "sketch_rows": 2, "sketch_cells": 2, "forget": "zero", "rho": 0,
            "hash_seed": apart_and_together(),
        },
        None,
    ),
}  # fmt: skip
