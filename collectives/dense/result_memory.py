"""Memory for large results: that of the last one, once nobody refers to it any more.

The first touch of fresh memory takes longer than an all-reduce into memory that was written before.
"""

import math
from collections import deque

import numpy as np
from numpy.typing import DTypeLike

from commbounds.array_types import Array, Bytes

LEAST = 1 << 22
"""Bytes of a result whose memory is kept, at least; below, fresh memory costs little."""
MOST = 1 << 28
"""And at most: more than this never stays with the process."""


_KEPT: deque[Bytes] = deque(maxlen=1)  # whose methods are atomic: a loan may end in any thread


class _Loan:
    """Memory of the arrays that refer to it; without any, it is the next result's."""

    def __init__(self, block: Bytes) -> None:
        self._block = block
        self.__array_interface__ = block.__array_interface__

    def __del__(self) -> None:
        _KEPT.append(self._block)


def uninitialised(shape: tuple[int, ...], dtype: DTypeLike) -> Array:
    """An array to be filled, as from ``np.empty``; a large one in memory that was written before, if there is some.

    Parameters
    ----------
    shape : tuple of int
        Its shape.
    dtype : dtype
        Of a fixed size.

    Notes
    -----
    From `LEAST` up to `MOST` bytes, the memory of the last array made here is used again if that one is of the same
    size and neither it nor any view of it is left. At most one block is kept.
    """
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    if not LEAST <= size <= MOST:
        return np.empty(shape, kind)
    try:
        block = _KEPT.pop()
    except IndexError:
        block = np.empty(size, np.uint8)
    if block.size != size:
        block = np.empty(size, np.uint8)
    array: Array = np.asarray(_Loan(block)).view(kind).reshape(shape)
    return array
