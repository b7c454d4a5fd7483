"""Flower's stochastic quantisation for secure aggregation."""

import numpy as np
from flwr.common.secure_aggregation.quantization import dequantize, quantize

from commbounds.verify import conformance as cf

CLIP, LEVELS = 3.0, 1 << 16


def quantised(x, seed):
    """Clipped to [-3, 3], to 2^16 steps and back."""
    np.random.seed(seed)  # noqa: NPY002  what quantize draws from
    return dequantize(quantize([x], CLIP, LEVELS), CLIP, LEVELS)[0]


WAIVERS = {"global generators untouched": "it draws from numpy's global generator, which is seeded for every call"}
subjects = [
    cf.Codec(
        quantised,
        [cf.Unbiased(), cf.AbsoluteError(2 * CLIP / LEVELS)],
        name="stochastic quantisation",
        dtype="float64",
        magnitudes=(1e-3, CLIP),
        waivers=WAIVERS,
        effort=0.2,
    )
]
