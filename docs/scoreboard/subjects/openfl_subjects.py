"""The compression pipelines of OpenFL: sparse ternary, k-means with and without sparsity, EDEN."""

import numpy as np
import torch
from openfl.pipelines import EdenPipeline, KCPipeline, STCPipeline

from commbounds.verify import conformance as cf

torch.set_num_threads(1)


def same(x):
    """What goes in."""
    return x


def through(pipeline, draws=False):
    """Forward, and backward."""

    def roundtrip(x, seed):
        if draws:
            np.random.seed(seed)  # noqa: NPY002  what the rotation is drawn from
        data, metadata = pipeline.forward(x.copy())
        return np.asarray(pipeline.backward(data, metadata), dtype=x.dtype).reshape(x.shape)

    return roundtrip


def kept(n):
    """Entries of a tenth, rounded up."""
    return int(np.ceil(n * 0.1))


def ternary(x):
    """Zero, and both signs of the mean of the magnitudes that are kept."""
    largest = np.sort(np.abs(x.astype(np.float64)))[-kept(x.size) :]
    mean = float(largest.mean())
    return [-mean, 0.0, mean]


ORDINARY = {"effort": 0.2, "magnitudes": (1e-3, 1e3)}
few = {"admits": lambda x: x.size < 6}
DRAWN = {"global generators untouched": "it draws from numpy's global generator, which is seeded for every call"}
subjects = [
    cf.Codec(
        through(STCPipeline(p_sparsity=0.1)),
        [cf.Support(kept), cf.Codebook(ternary, operations=64)],
        name="STC",
        admits=lambda x: np.unique(np.abs(x)).size == x.size and x.all(),
        **ORDINARY,
    ),
    cf.Codec(
        through(KCPipeline(n_clusters=6)),
        [cf.Matches(same, operations=1)],
        name="KC, fewer entries than clusters",
        **few,
        **ORDINARY,
    ),
    cf.Codec(
        through(EdenPipeline(n_bits=4, dim_threshold=1), draws=True),
        [cf.Contraction(0.0)],
        name="EDEN, 4 bits",
        waivers=DRAWN,
        **ORDINARY,
    ),
]
