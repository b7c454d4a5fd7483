"""Refuted claims of rotations at their smallest counterexamples: what the cases there are made with."""

import numpy as np

from commbounds.compressors import COMPRESSORS

_DITHERED = {"step": 1.0, "overloaded": False, "own": False, "reach": None, "d": 4}
_KASHIN = {"seed": 0, "frame_constant": 1.0, "clip_share": 1.0}
_LDLQ = {"limited": False, "in_range": True}

CASES = {
    "rotations.rotated_mean.averages": ({"n": 2, "width": 1, "seeds": "private"}, None),
    "rotations.randomised_hadamard.uncorrelated": ({}, lambda at: np.array([at["a"], at["b"]])),
    "rotations.randomised_hadamard.two_sided": (
        lambda at: {"rows": 2 ** at["i"], "columns": 2 ** at["j"], "rank": 0},
        lambda at: np.ones((2 ** at["i"], 2 ** at["j"]), np.int64),
    ),
    "rotations.dithered_hadamard.unbiased_clipped": (
        lambda at: {**_DITHERED, "n": 4, "reach": at["u"], "overloaded": True},
        None,
    ),
    "rotations.dithered_hadamard.one_offset": (_DITHERED, lambda at: np.eye(at["n"])[0]),
    "rotations.kashin.range": (
        {**_KASHIN, "n": 11, "length": 16, "most": 16, "clip_rounds": 2, "clip_rate": 0.9, "exact_round": True},
        None,
    ),
    "rotations.kashin.residual_default": (
        lambda at: {
            **_KASHIN, "n": 2 ** at["j"], "length": 2 ** at["j"], "most": 2 ** at["j"],
            "clip_rate": at["u"] / at["v"], "exact_round": False,
        },
        lambda at: np.ones(2 ** at["j"]),
    ),
    "rotations.ldlq.limited": (
        {**_LDLQ, "hessian": 2, "limited": True},
        lambda at: np.array([0.0, at["u"] / at["v"]]),
    ),
    "rotations.ldlq.nearest": ({**_LDLQ, "hessian": 5, "limited": False}, lambda at: np.full(3, at["u"] / at["v"])),
}  # fmt: skip
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""

HYPER_PARAMETERS = {
    "rotations.drive": {"scale": "unbiased"},
    "rotations.drive.contraction_uniform": {"scale": "biased"},
    "rotations.eden": {"width": 1},
    "rotations.rotateddithering": {"levels": 1},
    "rotations.hadamardsketch": lambda at: COMPRESSORS["HadamardSketch"](at.get("k", 1)),
}
"""Of the compressor at the point, by the beginning of the claim's name; or the compressor."""

KERNEL_ALONE = {"rotations.drive.wire_one"}
"""About messages: run in float32 alone."""

WORST_OUTCOME = {"rotations.drive.idempotence", "rotations.eden.idempotence"}
"""Of their kernels the most is read that compressing once more changes an outcome with, not the mean over outcomes."""

LAW_ALONE = {"rotations.rotateddithering.idempotence"}
"""Of its kernel the outcomes are not enumerated."""
