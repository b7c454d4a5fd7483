"""Number formats that scales and zero points are stored in, with rounding to nearest, downwards and upwards."""

from typing import Any

import ml_dtypes
import numpy as np

from commbounds.array_types import Array

FORMATS: dict[str, np.dtype[Any]] = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
"""Format by name: 53, 24, 11 and 8 significant bits."""


def stored(values: Array, form: str, what: str) -> Array:
    """`values` rounded to the nearest number of the format, ties to even.

    Raises
    ------
    ValueError
        One is too large for the format; `what` names it.
    """
    if values.dtype == FORMATS[form]:
        rounded: Array = values.copy()
    else:
        with np.errstate(over="ignore"):
            rounded = (_without_tiny(values) if form == "float16" else values).astype(FORMATS[form])
    _refuse_overflow(rounded, form, what)
    return rounded


def _without_tiny(values: Array) -> Array:
    """`values`, of which those that float16 rounds to zero are zeros of their sign.

    NumPy raises the processor's underflow flag for each of them, which takes fifteen times as long as the rounding.
    """
    return np.where(np.abs(values) < 2.0**-25, np.copysign(values.dtype.type(0), values), values)


def stored_below(values: Array, form: str, what: str) -> Array:
    """`values` rounded to the largest number of the format that is not larger."""
    rounded = stored(values, form, what)
    above = rounded.astype(values.dtype) > values
    lower = np.nextafter(rounded, FORMATS[form].type(-np.inf))
    return _checked(np.where(above, lower, rounded), form, what)


def stored_above(values: Array, form: str, what: str) -> Array:
    """`values` rounded to the smallest number of the format that is not smaller."""
    rounded = stored(values, form, what)
    below = rounded.astype(values.dtype) < values
    upper = np.nextafter(rounded, FORMATS[form].type(np.inf))
    return _checked(np.where(below, upper, rounded), form, what)


def _checked(rounded: Array, form: str, what: str) -> Array:
    _refuse_overflow(rounded, form, what)
    return rounded


def _refuse_overflow(rounded: Array, form: str, what: str) -> None:
    if not np.isfinite(rounded.astype(np.float64, copy=False)).all():
        raise ValueError(f"x must fit {form}, got more: the {what} of a group is too large for {form}")
