"""The average of the workers' compressed vectors: what a parameter server, or an all-gather, ends with."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Floats
from commbounds.compressors.base import Compressor, checked_array, checked_flag, checked_kind, checked_rng


def mean_of_compressed(
    stack: ArrayLike, compressor: Compressor, rng: np.random.Generator | None = None, *, shared: bool = False
) -> Array:
    """The mean over workers of ``compressor(x_i)``.

    Parameters
    ----------
    stack : (P, n) float32 or float64
        The workers' vectors; finite, P >= 1.
    compressor : Compressor
        A compressor of vectors.
    rng : numpy.random.Generator or None
        Required by randomised compressors. Of one that is shared it draws the seed of all, an integer below 2^63.
    shared : bool
        Whether all workers use the same randomness, as from a shared seed; else each draws its own.

    Returns
    -------
    (n,) dtype of stack
        Summed in rank order in float64, rounded once; where the sum is beyond all floats, of the vectors over a power
        of two.

    Raises
    ------
    TypeError, ValueError
        As the compressor raises; `stack` is not (P, n).
    """
    array = checked_array(stack, 2, name="stack")
    checked_kind("compressor", compressor, Compressor)
    checked_flag("shared", shared)
    outputs = []
    if not (shared and compressor.randomised):
        for x in array:  # one worker draws after the other: independent
            outputs.append(compressor(x, rng if compressor.randomised else None))
    else:
        common = np.random.default_rng(checked_rng(rng).integers(0, 2**63))
        state = common.bit_generator.state
        for x in array:
            common.bit_generator.state = state
            outputs.append(compressor(x, common))
    with np.errstate(over="ignore", invalid="ignore"):
        mean = _in_order(outputs) / len(array)
    beyond, scale = ~np.isfinite(mean), 2.0 ** -len(array).bit_length()
    mean[beyond] = _in_order([output[beyond] * scale for output in outputs]) / (len(array) * scale)
    return mean.astype(array.dtype)


def _in_order(rows: Sequence[Array]) -> Floats:
    """The sum of `rows`, one after another, in float64."""
    total = np.zeros(rows[0].size)
    for row in rows:
        total += row
    return total
