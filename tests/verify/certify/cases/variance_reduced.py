"""Refuted claims of variance_reduced at their smallest counterexamples: what the cases there are made with."""

from fractions import Fraction

import numpy as np

_LOCAL = {
    "P": 2, "n": 6, "stepsize": Fraction(1, 2), "adam_decay": Fraction(1), "decayed": True, "silent": True,
    "flat": True, "scale": "norm", "seed": 1,
}  # fmt: skip
_RUN = {
    "P": 1, "layers": (8,), "momentum_factor": Fraction(1, 2), "second_factor": Fraction(1, 2),
    "factor_least": Fraction(1, 20), "factor_most": Fraction(4), "loss": 0, "scale": "norm", "seed": 1, "masked": False,
}  # fmt: skip


def first_entry():
    """The whole number by which the study of silent entries multiplies its size, for two entries and the seed 1."""
    return int(np.random.default_rng(1).integers(1, 9, 2)[0])


CASES = {
    "variance_reduced.onebit.contracts": ({"scale": "norm"}, lambda at: np.eye(at["n"])[:1]),
    "variance_reduced.onebit.silent_momentum": (
        lambda at: {
            "P": 2, "n": at["n"], "quiet": 1, "scale": "mean", "onebit_steps": 2, "fixed": True, "seed": 1,
            "beta": Fraction(1, 2), "made_up": True, "size": 8 * at["n"] ** 2,
        },
        None,
    ),
    "variance_reduced.onebit.thirty_two": ({"dtype": "float32"}, None),
    "variance_reduced.zeroone.kept_power": ({**_LOCAL, "decayed": False}, None),
    "variance_reduced.zeroone.decoupled": ({**_LOCAL, "momentum_factor": Fraction(3, 4)}, None),
    "variance_reduced.zeroone.decay_once": (
        lambda at: {**_LOCAL, "momentum_factor": Fraction(1, int(at["v"])), "stepsize": Fraction(1, int(at["g"]))},
        None,
    ),
    "variance_reduced.zeroone.bounded_move": (
        lambda at: {
            "P": 1, "n": 2, "size": Fraction(int(at["a"]), first_entry()), "scale": "norm", "seed": 1,
            "momentum_factor": Fraction(1, int(at["v"])), "adam_epsilon": Fraction(1, int(at["e"])),
        },
        None,
    ),
    "variance_reduced.zeroone.printed_gap": (
        lambda at: {
            "P": 1, "n": 2, "dtype": "float32",
            "zeroone_steps": 1 + at["refresh"] * 2 ** (at["refresh"] // at["kappa"]),
        },
        None,
    ),
    "variance_reduced.lamb.fused_share": ({"n": 2, "layer": 1, "scale": "norm"}, None),
    "variance_reduced.lamb.frozen": (
        {"P": 1, "bound": Fraction(4), "side": "above", "clipped": True, "seed": 1},
        None,
    ),
    "variance_reduced.lamb.frozen_any": (
        {"P": 1, "bound": Fraction(1), "side": "above", "clipped": True, "seed": 1},
        None,
    ),
    "variance_reduced.lamb.reduces": ({"P": 1, "layers": (4, 4), "scale": "norm", "part": 0}, None),
    "variance_reduced.lamb.moving_factor": (
        {**_RUN, "momentum_factor": Fraction(0), "gradients": "given"},
        lambda at: [[2.0] * 2 + [0.0] * 6, [7.0] * 2 + [9.0] * 6],
    ),
    "variance_reduced.lamb.bounded_step": (
        lambda at: {
            "P": 1, "layers": (8,), "size": Fraction(int(at["a"])), "momentum_factor": Fraction(0), "loss": 0,
            "flat": True, "trusted": True, "seed": 1,
        },
        lambda at: [[1.0] * 8, [1.0] * 8, [float(at["a"])] * 8],
    ),
    "variance_reduced.lamb.ceiling": (
        lambda at: {
            **_RUN, "factor_least": Fraction(0), "gradients": "large",
            "factor_most": Fraction(int(at["a"]), int(at["s"])),
        },
        None,
    ),
}  # fmt: skip
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
