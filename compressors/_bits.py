"""Where the set bits of a 64-bit word are.

Kernels take the lowest bit off a word with ``word & (word - ONE)``. Numba's cache does not notice an edit here: kernels
that call this live in other files.
"""

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic, overload

ONE = np.uint64(1)


def lowest(word: np.uint64) -> int:
    """The place of the lowest set bit of `word`, which has one; compiled, an instruction of most processors."""
    return (int(word) & -int(word)).bit_length() - 1


@overload(lowest)
def _lowest(word):  # type: ignore[no-untyped-def]
    return lambda word: _trailing_zeros(word)


@intrinsic
def _trailing_zeros(_typing, word):  # type: ignore[no-untyped-def]
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate
