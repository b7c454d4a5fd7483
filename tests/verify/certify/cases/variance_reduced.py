"""Refuted claims of variance_reduced at their smallest counterexamples: what the cases there are made with."""

from fractions import Fraction

import numpy as np

CASES = {
    "variance_reduced.onebit.contracts": ({"scale": "norm"}, lambda at: np.eye(at["r"] ** 2)[:1]),
    "variance_reduced.onebit.thirty_two": ({"dtype": "float32"}, None),
    "variance_reduced.lamb.frozen": (
        lambda at: {
            "P": 1,
            "T": at["T"],
            "b": Fraction(at["u"], at["v"]),
            "bound": Fraction(4),
            "side": "above",
            "clipped": True,
            "seed": 1,
        },
        None,
    ),
    "variance_reduced.lamb.frozen_any": (
        lambda at: {
            "P": 1,
            "T": at["T"],
            "b": Fraction(at["u"], at["v"]),
            "bound": Fraction(1),
            "side": "above",
            "clipped": True,
            "seed": 1,
        },
        None,
    ),
    "variance_reduced.lamb.reduces": (
        {"P": 1, "layers": (4, 4), "scale": "norm", "part": 0, "alike": False},
        None,
    ),
    "variance_reduced.lamb.ceiling": (
        lambda at: {
            "P": 1,
            "layers": (8,),
            "T": 1,
            "beta": "1/2",
            "second": "1/2",
            "theta": Fraction(at["u"], at["v"]),
            "least": "0",
            "most": Fraction(at["a"], at["s"]),
            "loss": 0,
            "gradients": "large",
            "scale": "norm",
            "seed": 1,
            "masked": False,
        },
        None,
    ),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
