"""The column "error" of nccl-tests before commit 51af557, for float32 sums, as its `src/common.cu` computes it.

Inputs are 1/(1 + (entry + rank) mod 256). The column is the largest absolute difference from a float32 sum of all ranks
in their order, and an error is reported beyond 1e-5 (P - 1).
"""

import numpy as np

from commbounds.testing import replayed, schedule_order


def column(P, schedule, n=4096):
    """What is printed for P ranks whose sums are made by a schedule."""
    x = (1 / (1 + (np.arange(P)[:, None] + np.arange(n)) % 256)).astype(np.float32)
    expected = replayed(x, schedule_order("in_rank_order", P, n)).astype(float)
    return np.abs(replayed(x, schedule_order(schedule, P, n)) - expected).max()


for P in (16, 128):
    for schedule in ("ring", "double_binary_tree", "rabenseifner"):
        print(f"{P} ranks, {schedule}: {column(P, schedule):.1e}, reported beyond {1e-5 * (P - 1):.1e}")
