"""Refuted claims of rotations at their smallest counterexamples: what the cases there are made with."""

from commbounds.compressors import COMPRESSORS

CASES = {
    "rotations.rotated_mean.averages": ({"n": 2, "width": 1, "seeds": "private"}, None),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""

HYPER_PARAMETERS = {
    "rotations.drive": {"scale": "unbiased"},
    "rotations.hadamardsketch": lambda at: COMPRESSORS["HadamardSketch"](at.get("k", 1)),
}
"""Of the compressor at the point, by the beginning of the claim's name; or the compressor."""

KERNEL_ALONE = {
    "rotations.drive.wire_one",
}
"""About messages: run in float32 alone."""
