"""HQQ's quantiser without its optimisation: groups of 64 along rows, 4 and 8 bits, on the CPU, read in float32."""

import numpy as np
import torch
from hqq.core.quantize import Quantizer

from commbounds.verify import conformance as cf

GROUP = 64
torch.set_num_threads(1)


def in_bits(bits):
    """Quantised and read."""

    def roundtrip(x, seed):
        codes, about = Quantizer.quantize(x, nbits=bits, axis=1, group_size=GROUP, optimize=False, device="cpu")
        return Quantizer.dequantize(codes, {**about, "compute_dtype": torch.float32})

    return cf.on_torch(roundtrip)


def ranges(x):
    """Of the groups."""
    groups = x.astype(np.float64).reshape(-1, GROUP)
    return groups.max(axis=1) - groups.min(axis=1)


def half_step(bits):
    """Half of a step of the group's range, for every entry."""
    return lambda x: np.repeat(ranges(x) / (2**bits - 1) / 2, GROUP).reshape(x.shape)


def wide(x):
    """Whether no group has a range between 0 and a hundredth, where the scale is cut off at 20000."""
    found = ranges(x)
    return bool(((found == 0.0) | (found >= 0.015)).all())


OPTIONS = {"multiple_of": 2 * GROUP, "magnitudes": (1e-6, 1e3), "effort": 0.2}
subjects = [
    *(
        cf.Codec(
            in_bits(bits),
            [cf.AbsoluteError(half_step(bits))],
            name=f"{bits} bits, ranges from 0.015",
            admits=wide,
            **OPTIONS,
        )
        for bits in (4, 8)
    ),
    cf.Codec(in_bits(4), [cf.AbsoluteError(half_step(4))], name="4 bits", **OPTIONS),
]
