"""Checks on numbers of peers and rounds, and on who takes part in which round."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def checked_count(value: Any, name: str, low: int = 1, high: int | None = None) -> int:
    """`value` as an int in [low, high].

    Raises
    ------
    TypeError
        Not an integer.
    ValueError
        Out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < low or (high is not None and value > high):
        rule = f"at least {low}" if high is None else f"in [{low}, {high}]"
        raise ValueError(f"{name} must be {rule}, got {value}")
    return int(value)


def checked_rate(value: Any, name: str) -> float:
    """`value` as a probability.

    Raises
    ------
    ValueError
        Outside [0, 1], or NaN.
    """
    rate = float(value)
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"{name} must be a probability in [0, 1], got {value!r}")
    return rate


def checked_mask(mask: ArrayLike | None, shape: tuple[int, ...], name: str) -> NDArray[np.bool_]:
    """`mask` as a boolean array of `shape`; all true for None.

    Raises
    ------
    TypeError
        Not boolean.
    ValueError
        Another shape.
    """
    if mask is None:
        return np.ones(shape, np.bool_)
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise TypeError(f"{name} must be boolean, got {array.dtype}")
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    return np.ascontiguousarray(array)


def checked_rng(rng: Any, why: str) -> np.random.Generator:
    """`rng`, where one is needed.

    Raises
    ------
    TypeError
        Not a Generator.
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy Generator, which {why} needs, got {rng!r}")
    return rng
