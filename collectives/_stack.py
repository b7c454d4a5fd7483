"""Checks on what the ranks bring to a collective."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors.base import FLOATS, as_array, is_finite, writable


def of_one_kind(stack: ArrayLike, name: str) -> Array:
    """`stack` as an array: what the ranks bring, a TypeError where a list has parts of several shapes or dtypes."""
    if isinstance(stack, list | tuple):
        kinds = {(part.shape, part.dtype) for part in (as_array(part, name) for part in stack)}
        if len(kinds) > 1:
            shown = sorted(f"{shape} {dtype}" for shape, dtype in kinds)
            raise TypeError(f"{name} must hold rows of one length and dtype, got {', '.join(shown)}")
    return as_array(stack, name)


def checked_stack(stack: ArrayLike, name: str = "stack", *, finite: bool = True) -> Array:
    """`stack` as a C-contiguous native (P, n) float array.

    Parameters
    ----------
    stack : (P, n) array_like of float32 or float64
        One row for every rank; P >= 1, n >= 1.
    name : str
        What errors call it.
    finite : bool
        Whether NaN and infinity are refused.

    Returns
    -------
    (P, n) float32 or float64
        The memory of `stack` itself where it already fits and is not both short and read-only.

    Raises
    ------
    TypeError
        Rows of different lengths or dtypes, masked entries, or a dtype that is neither float32 nor float64.
    ValueError
        Not two-dimensional, no rank, no entry, or a non-finite entry.
    """
    array = of_one_kind(stack, name)
    if array.ndim != 2:
        raise ValueError(f"{name} must be (P, n), one row for every rank, got shape {array.shape}")
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise ValueError(f"{name} must have at least one rank and one entry, got shape {array.shape}")
    native = array.dtype if array.dtype in FLOATS else array.dtype.newbyteorder("=")
    if native not in FLOATS:
        raise TypeError(
            f"{name} must be float32 or float64, got {array.dtype}: convert it first, for example .astype(np.float32)"
        )
    array = np.ascontiguousarray(array, dtype=native)
    if finite and not is_finite(array):
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return writable(array)


def checked_state(value: ArrayLike, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """`value` as a contiguous array of `shape` and `dtype`, finite.

    Raises
    ------
    TypeError
        Another dtype.
    ValueError
        Another shape, NaN or an infinity.
    """
    array = as_array(value, name)
    if array.dtype.newbyteorder("=") != dtype:
        raise TypeError(f"{name} must be {dtype}, as the stack, got {array.dtype}")
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    if not is_finite(array):
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return np.ascontiguousarray(array, dtype)
