"""Refuted claims of shipped_collectives at their smallest counterexamples: what the cases there are made with."""

import numpy as np

CASES = {
    "shipped_collectives.quickreduce.error_of_any": ({"n": 1, "saturates": True}, None),
    "shipped_collectives.quickreduce.finite": ({"P": 1, "n": 1, "width": 8, "saturates": False}, None),
    "shipped_collectives.flashinfer": ({"P": 2, "n": 2, "group": 2, "block": 4}, None),
    "shipped_collectives.torchft.half_a_step": (
        {"P": 2, "height": 1, "columns": 2, "native": False, "mean": False},
        lambda at: np.array([[127, at["a"] / 4], [127, at["a"] / 4 + 1]], np.float32),
    ),
    "shipped_collectives.torchft.never_more": ({"height": 2, "columns": 1}, lambda _: [[1.0, 1.0], [1.0, 1.0]]),
    "shipped_collectives.hook": ({"n": 1, "channel": None}, None),
    "shipped_collectives.nccl": ({"n": 1, "element": "e4m3"}, None),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
