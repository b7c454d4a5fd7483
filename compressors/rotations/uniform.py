"""DRIVE with any rotation: the signs of the rotated entries, and a scale."""

import math

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors.base import as_numbers, checked_array, checked_choice, is_finite
from commbounds.compressors.rotations.signs import SCALES, brought_near_one

MOST_ROWS = 2**12


def rotated_signs(x: ArrayLike, rotation: ArrayLike, scale: str = "unbiased") -> Array:
    """``R^T sign(R x)`` times a scale: what DRIVE estimates with the rotation R (Vargaftik et al. 2021).

    Parameters
    ----------
    x : (n,) float32 or float64
        Finite.
    rotation : (n, n) float
        Orthogonal up to 2^-26, entry by entry of R R^T.
    scale : {"unbiased", "biased"}
        ||x||^2/||R x||_1, or ||R x||_1/n.

    Returns
    -------
    (n,) float64
        Zero for the zero vector.

    Raises
    ------
    TypeError
        Another dtype or type.
    ValueError
        Another shape; NaN or an infinity; rows that are not orthonormal; another scale.

    Notes
    -----
    Over uniformly distributed rotations it is unbiased with the first scale. The expected error over ||x||^2 is then
    4/pi - 1 for two entries and 6 sqrt 2 ln(1 + sqrt 2)/pi - 2 for three; with the second scale (1 - 2/pi)(1 - 1/n).

    Examples
    --------
    >>> import numpy as np
    >>> rotated_signs(np.array([3.0, 1.0]), np.eye(2)).tolist()
    [2.5, 2.5]
    """
    array = checked_array(x, finite=False)
    checked_choice("scale", scale, SCALES)
    R = as_numbers(rotation, "rotation", np.float64, kinds="f")
    n = array.size
    if n > MOST_ROWS:
        raise ValueError(f"x must have at most 2**12 entries, got {n}")
    if R.shape != (n, n):
        raise ValueError(f"rotation must have shape {(n, n)}, got {R.shape}")
    if not np.abs(R).max() <= 2.0 or not np.abs(R @ R.T - np.eye(n)).max() <= 2.0**-26:
        raise ValueError("rotation must have orthonormal rows, up to 2**-26, and has not")
    near, exponent = brought_near_one(array)
    y = R @ near
    norm1 = float(np.abs(y).sum())
    if norm1 == 0.0:
        return np.zeros(n)
    size = float(np.square(near).sum()) / norm1 if scale == "unbiased" else norm1 / n
    with np.errstate(over="ignore"):
        found: Array = np.ldexp(size * (R.T @ np.where(y >= 0.0, 1.0, -1.0)), exponent)
    if not is_finite(found) or not math.isfinite(size):
        raise ValueError("x must be small enough for its estimate to fit in float64, and is not: scale x down")
    return found
