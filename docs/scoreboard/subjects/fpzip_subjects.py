"""fpzip: lossless, and with 16 and 20 bits of every number kept."""

import fpzip
import numpy as np

from commbounds.verify import conformance as cf


def kept(bits):
    """Compressed with so many bits of every number, 0 for all, and decompressed."""

    def roundtrip(x, seed):
        return fpzip.decompress(fpzip.compress(np.ascontiguousarray(x), precision=bits)).reshape(x.shape)

    return roundtrip


def same(x):
    """The input."""
    return x


NORMAL = {"magnitudes": (1e-30, 1e30), "effort": 0.2}
subjects = [
    *(
        cf.Codec(kept(0), [cf.Matches(same, operations=0)], name=f"lossless, {dtype}", dtype=dtype, effort=0.2)
        for dtype in ("float32", "float64")
    ),
    *(
        cf.Codec(kept(bits), [cf.RelativeError(2.0 ** (9 - bits)), cf.Idempotent()], name=f"{bits} bits", **NORMAL)
        for bits in (16, 20)
    ),
]
