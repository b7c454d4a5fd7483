"""The compressions of hivemind, as its peers use them: ``compress``, then ``extract``."""

import numpy as np
import torch
from hivemind.compression import (
    Float16Compression,
    Quantile8BitQuantization,
    ScaledFloat16Compression,
    Uniform8BitQuantization,
)
from hivemind.compression.base import CompressionInfo

from commbounds.verify import conformance as cf


def through(compression, in_place=False):
    """What arrives of a tensor; in place it is a copy of the input that may be overwritten."""

    def roundtrip(x, seed):
        sent = x.clone() if in_place else x
        message = compression.compress(sent, CompressionInfo.from_tensor(x), allow_inplace=in_place)
        return compression.extract(message)

    return cf.on_torch(roundtrip)


def half_precision(x):
    """Half a unit in the last place of float16, whose entries end at 65504 and below at 2^-24."""
    kept = np.clip(x.astype(np.float64), -65504, 65504)
    return np.abs(x - kept) + np.maximum(np.abs(kept) * 2.0**-11, 2.0**-25)


def scaled_half_precision(x):
    """The same of (x - mean) / std: half a unit of float16, times std; and the rounding of mean and product."""
    wide = x.astype(np.float64)
    centred = np.abs(wide - wide.mean())
    spread = np.sqrt((centred**2).mean())
    rounding = (x.size + 8) * 2.0**-24 * (np.abs(wide).max() + spread)
    return np.maximum(centred * 2.0**-11, 2.0**-25 * max(spread, 2.0**-23)) + rounding


def quantile_step(x):
    """An entry becomes a mean of entries of its own bin: it cannot leave the range of the input."""
    return float(x.max()) - float(x.min())


ORDINARY = {"effort": 0.2, "magnitudes": (1e-6, 1e6)}
uniform, quantile = Uniform8BitQuantization(), Quantile8BitQuantization()
torch.set_num_threads(1)

subjects = [
    cf.Codec(
        through(Float16Compression()), [cf.AbsoluteError(half_precision), cf.Idempotent()], name="Float16", effort=0.2
    ),
    cf.Codec(
        through(Float16Compression(), in_place=True),
        [cf.Matches(through(Float16Compression()), operations=0)],
        name="Float16, in place",
        effort=0.2,
    ),
    cf.Codec(
        through(ScaledFloat16Compression()),
        [cf.AbsoluteError(scaled_half_precision)],
        name="ScaledFloat16, ordinary entries",
        **ORDINARY,
    ),
    cf.Codec(through(ScaledFloat16Compression()), [], name="ScaledFloat16, all of float32", effort=0.2),
    cf.Codec(through(uniform), [cf.SignSymmetric()], name="Uniform8Bit", **ORDINARY),
    cf.Codec(
        through(uniform, in_place=True),
        [cf.Matches(through(uniform))],
        name="Uniform8Bit, in place",
        admits=lambda x: x.size > 1 and np.ptp(x) > 0,
        **ORDINARY,
    ),
    cf.Codec(through(quantile), [cf.AbsoluteError(quantile_step)], name="Quantile8Bit", **ORDINARY),
]
