"""Refuted claims of feedback at their smallest counterexamples: what the cases there are made with."""

from refutation_cases import rows

CASES = {
    "feedback.plain.convergence": (lambda at: {"start": 1.0, "gamma": 1 / at["v"], "steps": 1}, None),
    # q = 4/5 is rounded, and with it what is sent; the error is -2, but for that
    "feedback.econtrol.any_weight": ({"q": -0.8, "eta": 1.0, "steps": 1}, lambda _: [[2.0], [0.0], [3.0]]),
    "feedback.cgd.first_step": ({"q": 0.5, "L": 2.0, "mu": 1.0}, rows([1], [1])),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
