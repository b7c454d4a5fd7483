"""Where vectors are cut into blocks of nearly equal size."""

import numpy as np

from commbounds.array_types import Integers
from commbounds.compressors.base import checked_count


def even_cuts(n: int, blocks: int) -> Integers:
    """(blocks + 1,): where blocks begin, from 0 to n, as of `numpy.array_split`: the first n mod blocks are longer."""
    n, blocks = checked_count("n", n, 0), checked_count("blocks", blocks)
    size, longer = divmod(n, blocks)
    at = np.arange(blocks + 1, dtype=np.int64)
    return at * size + np.minimum(at, longer)
