"""The compressors of FedLab: QSGD and top-k."""

import math

import torch
from fedlab.contrib.compressor.quantization import QSGDCompressor
from fedlab.contrib.compressor.topk import TopkCompressor

from commbounds.verify import conformance as cf

BITS = 2


def qsgd(x, seed):
    """Quantised with two bits, and back."""
    torch.manual_seed(seed)
    compressor = QSGDCompressor(BITS)
    return compressor.decompress(compressor.compress(x))


def topk(x, seed):
    """The quarter that is largest."""
    compressor = TopkCompressor(0.25)
    values, indices = compressor.compress(x)
    return compressor.decompress(values, indices, x.shape)


def quarter(n):
    """Entries that are kept."""
    return math.ceil(n / 4)


DRAWN = {"global generators untouched": "it draws from torch's global generator, which is seeded for every call"}
ORDINARY = {"effort": 0.2, "magnitudes": (1e-6, 1e6)}
subjects = [
    cf.Codec(
        cf.on_torch(qsgd),
        [cf.Unbiased()],
        name="QSGD, some entry is not zero",
        admits=lambda x: bool(x.any()),
        waivers=DRAWN,
        **ORDINARY,
    ),
    cf.Codec(cf.on_torch(qsgd), [], name="QSGD", waivers=DRAWN, **ORDINARY),
    cf.Codec(
        cf.on_torch(topk),
        [cf.Contraction(lambda n: quarter(n) / n), cf.Support(quarter), cf.Idempotent()],
        name="top-k",
        effort=0.2,
    ),
]
