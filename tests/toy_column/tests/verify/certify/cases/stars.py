"""Refuted claims of stars at their smallest counterexamples: what the cases there are made with."""

CASES = {"stars.star.equal": (lambda at: {"P": at["spokes"] + 1}, lambda at: [[1.0] * at["n"]] * (at["spokes"] + 1))}
HYPER_PARAMETERS = {"stars.starsparity": {}}
