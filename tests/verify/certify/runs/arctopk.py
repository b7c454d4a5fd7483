"""What is known of selected rows says of the symbols of their models."""

import math
from fractions import Fraction

import numpy as np


def rows(implementation, x, sketch, K):
    """Rank by rank and entry by entry: what is added to a row's scores, and to what is kept of it."""
    stack, v = np.asarray(x), np.asarray(sketch, np.float64)[:, :1]
    P, chosen = len(stack), implementation(stack, K, 1, sketch=v)[0].rows
    for p, (i, j) in ((p, ij) for p in range(P) for ij in np.ndindex(stack.shape[1:])):
        selected, before = int(i in chosen[p]), float(stack[:p, i, j].sum())
        assert all((i in other) == selected for other in chosen)
        scores = float((stack[:, i, :j] @ v[:j, 0]).sum())
        said = {
            "P": P,
            "v": v[j, 0],
            "g": stack[p, i, j],
            "gs": before,
            "kept": selected * before,
            "selected": selected,
        }
        yield {**said, "scores": scores, "average_score": Fraction(scores) / P}


RUNS = {
    "arctopk.allreduce.commutes": rows,
    "arctopk.rows.ceiling": {"k": lambda mu, m: math.ceil(mu * m), "lost": lambda measured, m: measured * m},
}
