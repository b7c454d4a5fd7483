"""What is known of a matrix says of the symbols of the models of its norms."""

from fractions import Fraction

import numpy as np


def _values(x):
    return np.linalg.svd(np.asarray(x, np.float64), compute_uv=False)


def _left(x, k):
    """The matrix without its k largest entries."""
    left = np.array(x, np.float64)
    left.flat[np.argsort(-np.abs(left), axis=None, kind="stable")[:k]] = 0
    return left


PARTS = {
    "q": lambda m, n: min(m, n),
    "all": lambda x: float((np.asarray(x) ** 2).sum()),
    "share": lambda x, k: float((_left(x, k) ** 2).sum()),
}

RUNS = {
    "orthogonal.matrix_topk.spectral": {
        **PARTS,
        "whole": lambda x: float(_values(x)[0] ** 2),
        "left": lambda x, k: float(_values(_left(x, k))[0] ** 2),
    },
    "orthogonal.matrix_topk.nuclear": {
        **PARTS,
        "whole": lambda x: float(_values(x).sum() ** 2),
        "left": lambda x, k: float(_values(_left(x, k)).sum() ** 2),
    },
    "orthogonal.lowrank.nuclear": {
        "q": lambda m, n: min(m, n),
        "kept_sum": lambda x, r: float(_values(x)[:r].sum()),
        "rest_sum": lambda x, r: float(_values(x)[r:].sum()),
    },
    "orthogonal.lowrank.spectral": {
        "largest": lambda x: float(_values(x)[0]),
        "after": lambda x, r: float([*_values(x), 0.0][r]),
    },
    "orthogonal.quintic.one_step": {"y": lambda singular: singular**2},
    "orthogonal.dion.words": {
        "rows": lambda P, m, r: Fraction(m * r, P),
        "columns": lambda P, n, r: Fraction(n * r, P),
    },
    "orthogonal.dion.spectral": {"root": lambda r: r**0.5, "spectral": lambda measured: measured},
}
