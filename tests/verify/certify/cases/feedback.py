"""Refuted claims of feedback at their smallest counterexamples: what the cases there are made with."""

from refutation_cases import rows

from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.study import Case

CASES = {
    "feedback.plain.convergence": (lambda at: {"start": 1.0, "gamma": 1 / at["v"], "horizon": 1}, None),
    # q = 4/5 is rounded, and with it what is sent; the error is -2, but for that
    "feedback.econtrol.any_weight": (
        {"n": 1, "kept": -0.8, "eta": 1.0, "start": "drawn", "exact": False},
        lambda _: [[2.0], [0.0], [3.0]],
    ),
    # the rows are x = 1, the curvature mu, the centre, and no memory
    "feedback.cgd.first_step": (
        {"n": 1, "kept": 0.5, "curvatures": (2.0, 1.0), "start": "flat", "exact": False},
        rows([1], [1], [0], [0]),
    ),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""


def case_of(name, _values, settings, stack):
    """The case of the claim's space."""
    space = EXPERIMENTS[name].family.space
    return Case(space.at(**settings, **({"steps": 1} if "steps" in space.axes else {})), stack)
