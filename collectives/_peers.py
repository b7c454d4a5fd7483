"""Checks on numbers of peers and rounds, and on who takes part in which round."""

from collections.abc import Callable, Collection, Mapping
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Mask
from commbounds.compressors.base import as_array, checked_real, shown

MOST = 2**31 - 1
"""Peers, rounds, steps: what is counted can be no more."""


def checked_count(value: Any, name: str, low: int = 1, high: int | None = None) -> int:
    """`value` as an int in [low, high], or in [low, `MOST`].

    Raises
    ------
    TypeError
        Not an integer.
    ValueError
        Out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {shown(value)}")
    if value < low or value > (MOST if high is None else high):
        rule = f"in [{low}, {high}]" if high is not None else f"at least {low}" if value < low else "below 2^31"
        raise ValueError(f"{name} must be {rule}, got {shown(value)}")
    return int(value)


def checked_rate(value: Any, name: str) -> float:
    """`value` as a probability.

    Raises
    ------
    TypeError
        No number.
    ValueError
        Outside [0, 1], or NaN.
    """
    rate = checked_real(name, value)
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"{name} must be a probability in [0, 1], got {shown(value)}")
    return rate


def checked_mask(mask: ArrayLike | None, shape: tuple[int, ...], name: str) -> Mask:
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
    array = as_array(mask, name)
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
        raise TypeError(f"rng must be a numpy Generator, which {why} needs, got {shown(rng)}")
    return rng


def checked_options(options: Any, function: Callable[..., Any], given: Collection[str] = ()) -> None:
    """See that `options` are keyword arguments of `function`, other than the data and those that are `given`.

    Raises
    ------
    TypeError
        It is no mapping, or `function` has no parameter of a name.
    """
    if not isinstance(options, Mapping):
        raise TypeError(f"options must be a mapping, got {shown(options)}")
    known = [name for name in list(signature(function).parameters)[1:] if name not in given]
    for name in options:
        if name not in known:
            raise TypeError(f"options must be among {', '.join(known)}, got {shown(name)}")


def checked_step_size(value: Any, name: str = "step_size") -> float:
    """`value` as a positive, finite float."""
    size = checked_real(name, value)
    if not 0.0 < size < float("inf"):
        raise ValueError(f"{name} must be positive and finite, got {value}")
    return size


def checked_entries(value: Any, name: str, count: int, what: str) -> None:
    """See that `value` is a sequence with one entry for each of `count` things.

    Raises
    ------
    TypeError
        No list, tuple or array.
    ValueError
        Of another length.
    """
    if not isinstance(value, list | tuple | np.ndarray) or getattr(value, "ndim", 1) == 0:
        raise TypeError(f"{name} must be a sequence with one entry for each of {count} {what}, got {shown(value)}")
    if len(value) != count:
        raise ValueError(f"{name} must hold one entry for each of {count} {what}, got {len(value)}")
