"""What the implementations of `shipped` are run with at the smallest counterexamples."""

from fractions import Fraction

import numpy as np


def _atoms(spectrum, budget):
    """Settings of a diagonal matrix and a budget."""
    return {
        "spectrum": str(spectrum), "budget": str(budget), "atombudget": float(budget), "shape": "square",
        "topsingular": spectrum[0], "rank": len(spectrum),
    }  # fmt: skip


CASES = {
    "shipped.inceptionn.bound": (lambda at: {"binades": at["m"]}, None),
    "shipped.inceptionn.tags": ({}, lambda at: np.zeros(at["n"])),
    "shipped.spectral_atoms": (lambda at: _atoms((at["a"],), Fraction(at["u"], at["v"])), None),
    "shipped.spectral_atoms.met": (lambda at: _atoms((at["a"], at["b"]), Fraction(2)), None),
    "shipped.switched.variance": (
        lambda at: {"chances": str(Fraction(at["u"], at["v"])), "keeps": "1", "total": at["u"] / at["v"]},
        None,
    ),
    "shipped.signum_signs.follows": (lambda at: {"momentum": str(Fraction(1, at["v"])), "before": 1}, None),
    "shipped.ef_signs": (lambda at: {"rate": str(Fraction(1, 2 ** at["j"]))}, None),
    "shipped.ridge_descent.converges": (
        lambda at: {
            "slope": str(Fraction(at["u"], at["v"])), "step": str(Fraction(1, at["g"])), "steps": at["ridgesteps"],
            "feedback": False,
        },
        None,
    ),
}  # fmt: skip
