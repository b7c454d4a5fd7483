"""Refuted claims of shipped at their smallest counterexamples: what the cases there are made with."""

from fractions import Fraction

import numpy as np

from commbounds.compressors import COMPRESSORS


def _atoms(spectrum, budget):
    """Settings of a diagonal matrix and a budget."""
    return {"spectrum": spectrum, "budget": Fraction(budget), "shape": "square", "scale": 1.0}


CASES = {
    "shipped": ({}, None),
    "shipped.dynamic_tree": ({"n": 1, "block": 1}, None),
    "shipped.dgc_steps": ({"P": 1, "dgcsteps": 2, "n": 1, "k": 1, "momentum": Fraction(1, 2), "masking": True}, None),
    "shipped.inceptionn.bound": (lambda at: {"binades": at["m"]}, None),
    "shipped.inceptionn.tags": ({}, lambda at: np.zeros(at["n"])),
    "shipped.spectral_atoms": (lambda at: _atoms((at["a"],), Fraction(at["u"], at["v"])), None),
    "shipped.spectral_atoms.met": (lambda at: _atoms((at["a"], at["b"]), Fraction(2)), None),
    "shipped.switched.variance": (
        lambda at: {"first": Fraction(1), "second": Fraction(1), "keeps": (Fraction(1), Fraction(1, at["v"]))},
        None,
    ),
    "shipped.signum_signs.follows": (lambda at: {"turning": Fraction(1, at["v"]), "before": 1}, None),
    "shipped.ef_signs": (lambda at: {"efrate": Fraction(1, 2 ** at["j"])}, None),
    "shipped.ridge_descent.stuck_any": (
        lambda at: {
            "ridgeslope": Fraction(1, 2), "ridgestep": Fraction(1, at["g"]), "ridgesteps": 1,
            "feedback": False, "tie": 0,
        },
        None,
    ),
    "shipped.ridge_descent.converges": (
        lambda at: {
            "ridgeslope": Fraction(at["u"], at["v"]), "ridgestep": Fraction(1, at["g"]), "ridgesteps": at["ridgesteps"],
            "feedback": False, "tie": 1,
        },
        None,
    ),
}  # fmt: skip
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""

HYPER_PARAMETERS = {
    "shipped.replacementrandk": lambda at: COMPRESSORS["ReplacementRandK"](at.get("k", 1)),
    "shipped.bernoullilazy": lambda at: COMPRESSORS["BernoulliLazy"](Fraction(1, at["v"])),
    "shipped.atomic.variance_any": lambda at: COMPRESSORS["Atomic"](Fraction(at["u"], at["v"])),
    "shipped.atomic.idempotence": {"budget": 1},
    "shipped.threelc": lambda at: COMPRESSORS["ThreeLC"](Fraction(at["u"], at["v"])),
    "shipped.threelc.unbiased": {"sparsity": 1},
    "shipped.uniformbuckets": {"buckets": 2},
    "shipped.quantilebuckets": {"buckets": 2},
    "shipped.uniformbuckets.ratio": {},
    "shipped.quantilebuckets.ratio": {},
    "shipped.qsgd": lambda at: COMPRESSORS["QSGD"](at["s"]),
    "shipped.topk": {"k": 1},
    "shipped": {},
}
"""Of the compressor at the point, by the beginning of the claim's name; or the compressor."""

KERNEL_ALONE = {
    "shipped.uniformbuckets.ratio",
    "shipped.quantilebuckets.ratio",
    "shipped.terngrad.code_bits",
    "shipped.qsgd.code_bits",
    "shipped.topk.code_bits",
}
"""About the ends of float32, which the exact law does not have, and about messages: run in float32 alone."""

WORST_OUTCOME = {
    "shipped.bernoullilazy.idempotence",
    "shipped.atomic.idempotence",
    "shipped.clippedterngrad.idempotence",
}
"""Of their kernels the most is read that compressing once more changes an outcome with, not the mean over outcomes."""
