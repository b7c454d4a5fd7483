"""A port of torchcomms' quantised reduce-scatter, held to what the book says of it.

The port here is the book's own `torchcomms_reduce_scatter`; put yours in its place. A rounding alone, as of a kernel,
is held to the same with `cf.word_law(rounded_by_words, x)`: exactly, over all of its words.
"""

import numpy as np

from commbounds.collectives import torchcomms_reduce_scatter
from commbounds.verify import conformance as cf


def reduce_scatter(stack, seed):
    """Every rank's part of the sum."""
    return list(torchcomms_reduce_scatter(stack, seed)[0])


def step(stack):
    """What entries may be off by: less than 2^-7 of what other ranks than the owner bring."""
    P, n = stack.shape
    others = np.abs(stack.astype(np.float64))
    others[np.arange(n) // (n // P), np.arange(n)] = 0.0
    return others.sum(axis=0) * 2.0**-7


subject = cf.ReduceScatter(
    reduce_scatter,
    [cf.AbsoluteError(step), cf.Unbiased(), cf.Variance(2.0**-16)],
    name="torchcomms, quantised",
    magnitudes=(1e-30, 1e30),
    effort=0.2,
)
