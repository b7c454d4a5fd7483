"""What low-rank compression leaves says of the symbols of its models."""

import numpy as np
from model_runs import Run


def projection(run):
    """Two parts of a matrix, as vectors: what is sent, and the rest."""
    x = np.asarray(run.x, np.float64)
    if x.any() and np.isfinite(x).all() and 1e-3 < np.abs(x).max() < 1e3:
        sent = np.asarray(run.c(x, np.random.default_rng(0)))
        if np.linalg.norm(x - sent) < 1e-6 * np.linalg.norm(x):
            return  # rounding alone
        yield Run({"sent": sent.ravel(), "error": (x - sent).ravel()}, 64 * x.size)


def singular_values(run):
    """Two singular values, and the square of a quotient of two normal numbers that a sketch draws."""
    x = np.asarray(run.x, np.float64)
    a, b = np.linalg.svd(x, compute_uv=False).tolist()
    if a > b > 1e-6 * a and 1e-3 < a < 1e3:
        for sketch in np.random.default_rng(0).standard_normal((3, 2)):
            yield Run({"a": a, "b": b, "c": b / a, "t2": float(sketch[1] / sketch[0]) ** 2, "absdet": a * b}, 256)


RHO = {"rho": lambda m, n, r: (1 - r / min(m, n)) ** 0.5}

RUNS = {
    "lowrank.powersgd.determinant": singular_values,
    "lowrank.powersgd.nonexpansive": projection,
    "lowrank.powersgd_ef14.steps": RHO,
    "lowrank.powersgd_ef14.residual": RHO,
}
