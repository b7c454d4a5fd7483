"""What the implementations of `rotations` are run with at the smallest counterexamples."""

import numpy as np

_DITHERED = {"step": 1.0, "overloaded": False, "own": False, "reach": None, "d": 4}
_KASHIN = {"seed": 0, "frame_constant": 1.0, "clip_share": 1.0}
_LDLQ = {"limited": False, "in_range": True}


CASES = {
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
        {**_KASHIN, "n": 11, "length": 16, "clip_rounds": 2, "clip_rate": 0.9, "exact_round": True},
        None,
    ),
    "rotations.kashin.residual_default": (
        lambda at: {
            **_KASHIN, "n": 2 ** at["j"], "length": 2 ** at["j"], "clip_rate": at["u"] / at["v"], "exact_round": False,
        },
        lambda at: np.ones(2 ** at["j"]),
    ),
    "rotations.ldlq.limited": (
        {**_LDLQ, "number": 2, "n": 2, "limited": True},
        lambda at: np.array([0.0, at["u"] / at["v"]]),
    ),
    "rotations.ldlq.nearest": ({**_LDLQ, "number": 5, "n": 3}, lambda at: np.full(3, at["u"] / at["v"])),
}  # fmt: skip
HYPER_PARAMETERS = {
    "rotations.drive.contraction_uniform": {"scale": "biased"},
    "rotations.eden": {"width": 1},
    "rotations.rotateddithering": {"levels": 1},
}
WORST_OUTCOME = {"rotations.drive.idempotence", "rotations.eden.idempotence"}
LAW_ALONE = {"rotations.rotateddithering.idempotence"}
