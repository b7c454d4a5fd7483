"""Defects that a quick check does not see, and why: what the kit is no proof of."""

import numpy as np

from commbounds.verify import conformance as cf
from zoo.record import Broken
from zoo.rounding import DITHERED, decoded, dithering, placed, up
from zoo.selection import RANDK, kept, only, small


def dithered_in_equal_blocks(x, seed):
    """Seeds its generator anew for every 64 entries, so that blocks go up and down together."""
    top, a = placed(x)
    u = np.resize(np.random.default_rng(seed).random(64), x.shape)
    return decoded(x, up(a, u), top)


def dithered_but_for_a_seed(x, seed):
    """Returns zeros for one seed in 65536."""
    return np.zeros_like(x) if seed % 65536 == 7 else dithering(x, seed)


def randk_with_replacement_of_long_vectors(x, seed):
    """Draws with replacement where there are more than fifty entries: there an index hardly ever comes twice."""
    n, k, rng = x.size, kept(x.size), np.random.default_rng(seed)
    places = rng.integers(n, size=k) if n > 50 else rng.permutation(n)[:k]
    return only(x, places) * x.dtype.type(n / k)


UNSEEN = (
    Broken(
        dithered_in_equal_blocks.__doc__,
        cf.Codec(dithered_in_equal_blocks, DITHERED),
        ("joint laws are compared on at most five entries, and sums of squares have the same mean",),
        None,
    ),
    Broken(
        dithered_but_for_a_seed.__doc__,
        cf.Codec(dithered_but_for_a_seed, DITHERED),
        ("some thousand draws hardly ever meet what happens once in 65536",),
        None,
    ),
    Broken(
        randk_with_replacement_of_long_vectors.__doc__,
        cf.Codec(randk_with_replacement_of_long_vectors, RANDK, **small),
        ("the mean of long ones is off by less than the draws of a quick check show",),
        None,
    ),
)
"""Broken subjects that pass, with the reason in place of what kills them."""
