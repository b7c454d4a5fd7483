"""What broken sparsifiers send."""

import numpy as np

from commbounds.compressors import Sparse
from commbounds.compressors.base import index_bits
from mutants.record import native


def sparse(x, indices, bits_each=None):
    """The message with the entries of `x` at `indices`."""
    array, indices = native(x), np.asarray(indices, dtype=np.int32)
    position_bits = len(indices) * (index_bits(array.size) if bits_each is None else bits_each)
    return Sparse(array.shape, array.dtype, indices, array[indices], position_bits)


def largest(x, k):
    """Ascending indices of the k largest of `x`, ties to the lowest."""
    return np.sort(np.argsort(-np.asarray(x, dtype=np.float64), kind="stable")[:k])
