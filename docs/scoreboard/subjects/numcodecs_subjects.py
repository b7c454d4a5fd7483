"""The lossy codecs of numcodecs: decimal digits, bits of the mantissa, scale and offset."""

import numcodecs
import numpy as np

from commbounds.verify import conformance as cf


def through(codec):
    """Encoded and decoded."""

    def roundtrip(x, seed):
        return np.asarray(codec.decode(codec.encode(x))).view(x.dtype).reshape(x.shape)

    return roundtrip


def nearest_mantissa(bits):
    """Half a unit of the last bit kept."""
    return lambda x: np.abs(x.astype(np.float64)) * 2.0 ** -(bits + 1)


subjects = [
    cf.Codec(
        through(numcodecs.Quantize(digits=2, dtype="f4")),
        [cf.AbsoluteError(0.005), cf.SignSymmetric(), cf.Idempotent()],
        name="Quantize(digits=2)",
        magnitudes=(1e-6, 1e4),
        effort=0.2,
    ),
    cf.Codec(
        through(numcodecs.Quantize(digits=2, dtype="f4")), [], name="Quantize(digits=2), all of float32", effort=0.2
    ),
    cf.Codec(
        through(numcodecs.BitRound(keepbits=7)),
        [cf.AbsoluteError(nearest_mantissa(7)), cf.SignSymmetric(), cf.Idempotent()],
        name="BitRound(keepbits=7)",
        magnitudes=(1e-30, 1e38),
        effort=0.2,
    ),
    cf.Codec(through(numcodecs.BitRound(keepbits=7)), [], name="BitRound(keepbits=7), all of float32", effort=0.2),
    cf.Codec(
        through(numcodecs.FixedScaleOffset(offset=0, scale=10, dtype="f4", astype="i2")),
        [cf.AbsoluteError(0.05), cf.SignSymmetric()],
        name="FixedScaleOffset(0, 10), int16",
        magnitudes=(1e-6, 3276),
        effort=0.2,
    ),
]
