"""Every other entry."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from commbounds.compressors import Sparse
from commbounds.compressors.base import checked_array, checked_exact
from commbounds.compressors.sparsifiers.message import Sparsifier


@dataclass(frozen=True)
class Evens(Sparsifier):
    """The entries at even positions, the others zero."""

    claims = ("stars.evens.no_expansion", "stars.evens.wire")

    def positions(self, n):
        """Which of `n` entries are sent, whatever they are: no bits say so."""
        return np.arange(0, n, 2, dtype=np.int32)

    def compress(self, x, rng=None):
        """The entries at even positions of `x`."""
        array = checked_array(x)
        return Sparse(array.shape, array.dtype, self.positions(array.size), array[::2].copy(), 0)

    def law(self, x):
        """The output, with probability one."""
        return [(Fraction(1), tuple(Fraction(0) if i % 2 else v for i, v in enumerate(checked_exact(x))))]
