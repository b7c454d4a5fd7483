"""The compressors of FedML's `fedml.utils.compression`, which is loaded by itself: the package needs servers."""

import importlib.util
import math
from importlib.metadata import distribution

import torch

from commbounds.verify import conformance as cf

FILE = distribution("fedml").locate_file("fedml/utils/compression.py")
SPEC = importlib.util.spec_from_file_location("fedml_compression", FILE)
fedml = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fedml)

LEVEL, S, RATIO = 2, 3, 0.25


def topk(x, seed):
    """The quarter that is largest."""
    compressor = fedml.TopKCompressor()
    _, indices, values = compressor.compress(compressor.flatten(x, "x"), "x", ratio=RATIO)
    return compressor.decompress_new(values, indices, "x")


def qsgd(x, seed, biased=False):
    """Quantised to levels of a third of the norm."""
    torch.manual_seed(seed)
    return fedml.QSGDCompressor().compress(x, quantize_level=LEVEL, is_biased=biased)


def qsgd_scaled(x, seed):
    """The same as by default: scaled down to contract."""
    return qsgd(x, seed, biased=True)


def floors(x, seed):
    """The naive quantiser: the level below."""
    return fedml.QuantizationCompressor().compress(x, quantize_level=LEVEL)


class Feedback:
    """Top-k with error feedback, as its trainers call it: on a copy, as it adds to what it is given."""

    def __init__(self, seed):
        self.compressor = fedml.EFTopKCompressor()

    def __call__(self, x):
        self.compressor.flatten(x, "x")
        _, indices, values = self.compressor.compress(x.clone(), "x", ratio=RATIO)
        return self.compressor.decompress_new(values, indices, "x")

    @property
    def residual(self):
        """What is held back."""
        return self.compressor.residuals["x"]


def kept(n):
    """Entries that are kept."""
    return max(1, int(n * RATIO))


def omega(n):
    """QSGD's variance."""
    return min(n / S**2, math.sqrt(n) / S)


DRAWN = {"global generators untouched": "it draws from torch's global generator, which is seeded for every call"}
ORDINARY = {"effort": 0.2, "magnitudes": (1e-6, 1e6)}
NONZERO = {"admits": lambda x: bool(x.any()), **ORDINARY}
subjects = [
    cf.Codec(
        cf.on_torch(topk),
        [cf.Contraction(lambda n: kept(n) / n), cf.Support(kept), cf.Idempotent()],
        name="top-k",
        effort=0.2,
    ),
    cf.Stateful(cf.on_torch(Feedback), [cf.Telescopes(), cf.MemoryBounded()], name="top-k, feedback", **ORDINARY),
    cf.Codec(
        cf.on_torch(qsgd),
        [cf.Unbiased(), cf.Variance(omega)],
        name="QSGD, some entry is not zero",
        waivers=DRAWN,
        **NONZERO,
    ),
    cf.Codec(
        cf.on_torch(qsgd_scaled),
        [cf.Contraction(lambda n: 1 / (1 + omega(n)))],
        name="QSGD scaled, some entry is not zero",
        waivers=DRAWN,
        **NONZERO,
    ),
    cf.Codec(cf.on_torch(qsgd), [], name="QSGD", waivers=DRAWN, **ORDINARY),
    cf.Codec(cf.on_torch(floors), [cf.SignSymmetric()], name="quantize, some entry is not zero", **NONZERO),
    cf.Codec(cf.on_torch(floors), [], name="quantize", **ORDINARY),
]
