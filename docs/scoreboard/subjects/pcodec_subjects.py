"""pcodec's standalone format: what is read is what was written, bit for bit."""

import numpy as np
from pcodec import ChunkConfig, standalone

from commbounds.verify import conformance as cf


def lossless(x, seed):
    """Compressed and decompressed."""
    return standalone.simple_decompress(standalone.simple_compress(np.ascontiguousarray(x), ChunkConfig()))


def same(x):
    """The input."""
    return x


subjects = [
    cf.Codec(lossless, [cf.Matches(same, operations=0)], name=f"{dtype}", dtype=dtype, effort=0.2)
    for dtype in ("float16", "float32", "float64")
]
