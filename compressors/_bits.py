"""Where the set bits of a 64-bit word are.

Kernels take the lowest bit off a word with ``rest = word & (word - ONE)``; then ``PLACE[(word ^ rest) % PRIME]`` is its
place. Constants only: a kernel's on-disk cache does not notice an edit to a kernel that it calls in another file.
"""

from __future__ import annotations

import numpy as np

ONE = np.uint64(1)
PRIME = np.uint64(67)
"""The powers 2^0 .. 2^63 leave distinct remainders modulo 67."""
PLACE = np.zeros(67, np.int64)
PLACE[[2**j % 67 for j in range(64)]] = range(64)
"""The exponent of a power of two, by its remainder modulo `PRIME`."""
