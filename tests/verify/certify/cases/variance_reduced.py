"""Refuted claims of variance_reduced at their smallest counterexamples: what the cases there are made with."""

from fractions import Fraction

import numpy as np

_LOCAL = {
    "P": 2, "n": 6, "H": 1, "S": 1, "beta": "3/4", "gamma": "1/2", "decay": "1", "decayed": True, "silent": True,
    "flat": True, "scale": "norm", "seed": 1,
}  # fmt: skip


def first_entry():
    """The whole number by which the study of silent entries multiplies its size, for two entries and the seed 1."""
    return int(np.random.default_rng(1).integers(1, 9, 2)[0])


CASES = {
    "variance_reduced.onebit.contracts": ({"scale": "norm"}, lambda at: np.eye(at["r"] ** 2)[:1]),
    "variance_reduced.onebit.silent_momentum": (
        lambda at: {
            "P": 2, "n": at["n"], "quiet": 1, "scale": "mean", "steps": 2, "fixed": True, "seed": 1,
            "beta": Fraction(1, 2), "made_up": True, "size": 8 * at["n"] ** 2,
        },
        None,
    ),
    "variance_reduced.onebit.thirty_two": ({"dtype": "float32"}, None),
    "variance_reduced.zeroone.kept_power": (
        lambda at: {**_LOCAL, "decayed": False, "H": at["local_steps"], "beta": f"{at['u']}/{at['v']}"},
        None,
    ),
    "variance_reduced.zeroone.decoupled": (_LOCAL, None),
    "variance_reduced.zeroone.decay_once": (
        lambda at: {**_LOCAL, "S": at["averages"], "beta": f"1/{at['v']}", "gamma": f"1/{at['g']}"},
        None,
    ),
    "variance_reduced.zeroone.bounded_move": (
        lambda at: {
            "P": 1, "n": 2, "size": f"{at['a']}/{first_entry()}", "gamma": "1", "beta": f"1/{at['v']}",
            "epsilon": f"1/{at['e']}", "scale": "norm", "seed": 1,
        },
        None,
    ),
    "variance_reduced.zeroone.printed_gap": (
        lambda at: {
            "P": 1, "n": 2, "dtype": "float32", "steps": 1 + at["refresh"] * 2 ** (at["refresh"] // at["kappa"]),
        },
        None,
    ),
    "variance_reduced.lamb.fused_share": ({"n": 2, "layer": 1, "scale": "norm"}, None),
    "variance_reduced.lamb.frozen": (
        lambda at: {
            "P": 1, "T": at["T"], "b": Fraction(at["u"], at["v"]), "bound": Fraction(4), "side": "above",
            "clipped": True, "seed": 1,
        },
        None,
    ),
    "variance_reduced.lamb.frozen_any": (
        lambda at: {
            "P": 1, "T": at["T"], "b": Fraction(at["u"], at["v"]), "bound": Fraction(1), "side": "above",
            "clipped": True, "seed": 1,
        },
        None,
    ),
    "variance_reduced.lamb.reduces": (
        {"P": 1, "layers": (4, 4), "scale": "norm", "part": 0, "alike": False},
        None,
    ),
    "variance_reduced.lamb.ceiling": (
        lambda at: {
            "P": 1, "layers": (8,), "T": 1, "beta": "1/2", "second": "1/2", "theta": Fraction(at["u"], at["v"]),
            "least": "0", "most": Fraction(at["a"], at["s"]), "loss": 0, "gradients": "large", "scale": "norm",
            "seed": 1, "masked": False,
        },
        None,
    ),
}  # fmt: skip
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
