"""What steps of gradient descent say of the symbols of Moshpit SGD's models without noise."""

from fractions import Fraction

import numpy as np

from commbounds.verify.experiments.moshpit.sgd import _run


def noiseless(implementation, case, outcome):
    """Step by step: the first point, sums of slopes and of their squares before a step, and its slope."""
    K, objective = outcome.values["iterations"], case.settings["objective"]
    names = ("stepsize", "smoothness", "excess")
    known, total, squares = {name: outcome.values[name] for name in names}, Fraction(0), Fraction(0)
    (path, *_), _, _ = _run(implementation, case.settings, K)
    points = [Fraction(float(m[0])) for m in path.means]
    for k in range(1, K + 1):
        slope = Fraction(float(objective.gradient(np.array([float(points[k - 1])]))[0]))
        vectors = {"x": points[0], "u": total, "g": slope, "s": slope}
        values = {"value": objective.value(points[k - 1]), "next": objective.value(points[k])}
        more = {"iterations": k - 1, "Q": squares, "sum": squares}
        said = {**known, **more, **values, **{name: np.array([v], object) for name, v in vectors.items()}}
        if k > 1:
            yield said
        total, squares = total + slope, squares + slope**2


RUNS = {"moshpit.sgd.convex_noiseless": noiseless, "moshpit.sgd.nonconvex_noiseless": noiseless}
