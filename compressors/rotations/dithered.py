"""Subtractive dithering of a rotated vector: rounded with an offset that the receiver takes off again."""

import math

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors.base import as_numbers, checked_array, checked_count, checked_real, is_finite
from commbounds.compressors.rotations.hadamard import backward, checked_signs, checked_size, forward, padded_size

LARGEST_CODE = 2**52
"""Codes are whole numbers in float64."""


def dithered_hadamard(
    x: ArrayLike, signs: ArrayLike, offsets: ArrayLike, step: float, reach: int | None = None
) -> tuple[Array, Array]:
    """Codes of ``y = H D x/sqrt(d)``, rounded with offsets to multiples of a step; and what is read of them.

    ``k_j = floor(y_j/step + u_j + 1/2)``, read as ``step (k_j - u_j)`` and rotated back (Schuchman 1964; with one
    offset for all entries after a randomised Hadamard transform, Feng et al. 2026). All in float64, from left to right.

    Parameters
    ----------
    x : (n,) float32 or float64
        Finite; padded with zeros to d, the next power of two.
    signs : (n,) int
        -1 or 1 each.
    offsets : float or (d,) array
        u in [-1/2, 1/2): one for all rotated entries, or one for each.
    step : float
        Positive.
    reach : int or None
        Codes are clipped to -reach .. reach; None for no limit.

    Returns
    -------
    codes : (d,) float64
        Whole numbers.
    estimate : (n,) float64

    Raises
    ------
    TypeError
        Another dtype or type.
    ValueError
        Another shape; NaN or an infinity; offsets outside [-1/2, 1/2); a step that is not positive; codes of 2^52 or
        more; an estimate beyond float64.

    Notes
    -----
    Without clipping, an error of step (k_j - u_j) - y_j is uniform on an interval of one step, whatever y_j is: its
    mean is 0 and its mean square step^2/12.

    Examples
    --------
    >>> import numpy as np
    >>> codes, estimate = dithered_hadamard(np.array([3.0, 1.0, 0.0, 0.0]), [1, 1, 1, 1], 0.25, 1.0)
    >>> codes
    array([2., 1., 2., 1.])
    >>> estimate
    array([2.5, 1. , 0. , 0. ])
    """
    array = checked_array(x)
    checked_size(array.size)
    given, d = checked_signs(signs, array.size), padded_size(array.size)
    u = as_numbers(offsets, "offsets", np.float64)
    if u.shape not in ((), (d,)):
        raise ValueError(f"offsets must be one number or have shape ({d},), got {u.shape}")
    if not ((u >= -0.5) & (u < 0.5)).all():
        raise ValueError(f"offsets must be in [-1/2, 1/2), got {u.min()} to {u.max()}")
    width = checked_real("step", step)
    if not 0.0 < width < math.inf:
        raise ValueError(f"step must be positive and finite, got {width}")
    limit = None if reach is None else checked_count("reach", reach, 0, LARGEST_CODE)
    with np.errstate(over="ignore", invalid="ignore"):
        y = forward(array.astype(np.float64), given) / math.sqrt(d)
        at = y / width
    if not (np.abs(at) < LARGEST_CODE).all():
        raise ValueError(f"step must be above 2**-52 of every rotated entry, got {width}")
    codes = np.floor(at + u + 0.5)
    if limit is not None:
        codes = np.clip(codes, -limit, limit)
    with np.errstate(over="ignore"):
        estimate = backward(width * (codes - u), given) / math.sqrt(d)
    if not is_finite(estimate):
        raise ValueError("x must be small enough for its estimate to fit in float64, and is not: scale x down")
    return codes, estimate
