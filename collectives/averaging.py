"""The average of the workers' compressed vectors: what a parameter server, or an all-gather, ends with.

Sums that leave the dtype's range become infinite or NaN, even where their mean would not: divide beforehand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.compressors.base import Compressor, checked_array, checked_flag, checked_kind, checked_rng


def mean_of_compressed(
    stack: ArrayLike, compressor: Compressor, rng: np.random.Generator | None = None, *, shared: bool = False
) -> NDArray[Any]:
    """The mean over workers of ``compressor(x_i)``.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The workers' vectors; finite, P >= 1.
    compressor : Compressor
        A compressor of vectors.
    rng : numpy.random.Generator or None
        Required by randomised compressors.
    shared : bool
        Whether all workers use the same randomness, as from a shared seed; else each draws its own.

    Returns
    -------
    (n,) dtype of stack
        Summed in rank order in float64, rounded once.

    Raises
    ------
    TypeError, ValueError
        As the compressor raises; `stack` is not (P, n).
    """
    array = checked_array(stack, 2, name="stack")
    checked_kind("compressor", compressor, Compressor)
    checked_flag("shared", shared)
    total = np.zeros(array.shape[1])
    if not (shared and compressor.randomised):
        for x in array:  # one worker draws after the other: independent
            total += compressor(x, rng if compressor.randomised else None)
    else:
        common = np.random.default_rng(checked_rng(rng).integers(0, 2**63))
        state = common.bit_generator.state
        for x in array:
            common.bit_generator.state = state
            total += compressor(x, common)
    return (total / len(array)).astype(array.dtype)
