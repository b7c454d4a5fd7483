"""What is known of a matrix says of the symbols of the models of its norms."""

from fractions import Fraction

import numpy as np
from model_runs import Run

from commbounds.theory.orthogonal import terms
from commbounds.verify.experiments.orthogonal.studies import problem


def _values(x):
    return np.linalg.svd(np.asarray(x, np.float64), compute_uv=False)


def _left(x, k):
    """The matrix without its k largest entries."""
    left = np.array(x, np.float64)
    left.flat[np.argsort(-np.abs(left), axis=None, kind="stable")[:k]] = 0
    return left


LOW, HIGH = (float(square) ** 0.5 for square in (terms._low, terms._high))
"""Where the map of Muon's iteration has slope zero."""


def iterations(turn):
    """What a singular value is before each of five iterations, and where their map has slope zero."""

    def runs(settings, singular, implementation):
        value = float(singular)
        matrix = np.array([[[value, 0.0], [0.0, (1 - value**2) ** 0.5]]])
        for steps in range(settings["steps"]):
            found = abs(float(implementation(matrix, steps, "muon", "dtype")[0][0, 0, 0])) if steps else value
            yield Run({"x": found, "turn": turn}, 2**20)

    return runs


def parts_of_a_sum(implementation, case, settings):
    """What the decomposition takes of the sum, and the rest of it."""
    gradients, momentum, basis = problem(settings)
    mu, before = float(Fraction(settings["mu"])), gradients[0] + momentum[0]
    if mu < 1:
        state, _ = implementation(gradients, momentum, basis, mu, settings["right"])
        taken = (before - state.momentum[0]) / (1 - mu)
        rest = before - taken
        rest[np.abs(rest) <= 64 * np.finfo(float).eps * np.abs(before).max() / (1 - mu)] = 0.0
        yield Run({"keeps": mu, "rest": rest.ravel(), "taken": taken.ravel()}, 2**16)


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
    "orthogonal.muon.at_most": iterations(LOW),
    "orthogonal.muon.plateau": iterations(HIGH),
    "orthogonal.dion.keeps": parts_of_a_sum,
    "orthogonal.quintic.one_step": {"y": lambda singular: singular**2},
    "orthogonal.dion.words": {
        "rows": lambda P, m, r: Fraction(m * r, P),
        "columns": lambda P, n, r: Fraction(n * r, P),
    },
    "orthogonal.dion.spectral": {"root": lambda r: r**0.5, "spectral": lambda measured: measured},
}
