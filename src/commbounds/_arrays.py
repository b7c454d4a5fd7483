"""Arrays that tests of all-reduces are given: of numpy, of torch, of whatever speaks DLPack; and their formats."""

import math
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from commbounds.array_types import Array, Mask
from commbounds.theory.precision.formats import FORMATS, Format, format_named

FLOATS = {name: np.dtype(getattr(ml_dtypes, name, name)) for name in FORMATS}
"""Name of a format -> its dtype."""
SAME_SIZE = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
"""Bytes of a number -> the dtype of its bits."""


def stacked(values: Any, name: str) -> Array:
    """One array of what may be a sequence of arrays."""
    if isinstance(values, list | tuple):
        rows = [array(value) for value in values]
        if not rows:
            raise ValueError(f"{name} must not be empty")
        shapes = {f"{row.shape} {row.dtype.name}" for row in rows}
        if len(shapes) > 1:
            raise ValueError(f"{name} must have one shape and one dtype, got {', '.join(sorted(shapes))}")
        return np.stack(rows)
    return array(values)


class Rows(NamedTuple):
    """Inputs, (P, n), and results of one rank or of all, (1 or P, n); the shape of one, and whether of all."""

    inputs: Array
    results: Array
    shape: tuple[int, ...]
    of_all: bool


def rows_of(actual: Any, inputs: Any, op: str = "sum") -> Rows:
    """The result of one rank, or of all, and what the ranks brought."""
    stack = stacked(inputs, "inputs")
    if stack.ndim < 1 or len(stack) < 1:
        raise ValueError("inputs must hold at least one rank")
    if op not in ("sum", "mean"):
        raise ValueError(f"op must be sum or mean, got {op!r}: what is known here is of sums alone")
    result, shape = stacked(actual, "actual"), stack.shape[1:]
    of_all = result.ndim == stack.ndim
    if result.shape != (stack.shape if of_all else shape):
        raise ValueError(
            f"actual must have the shape of one input, {shape}, or of all, {stack.shape}; got {result.shape}"
        )
    n = math.prod(shape)
    return Rows(stack.reshape(len(stack), n), result.reshape(len(stack) if of_all else 1, n), shape, of_all)


def place(entry: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Where an entry of a flat array is in one of that shape."""
    return tuple(int(i) for i in np.unravel_index(int(entry), shape))


def same_bits(row: Array, wanted: Array) -> Mask:
    """Where two arrays of one format have the same bits; a NaN is a NaN, and a zero a zero."""
    bits = SAME_SIZE[row.dtype.itemsize]
    same = np.ascontiguousarray(row).view(bits) == np.ascontiguousarray(wanted).view(bits)
    return np.asarray(same | ((row == 0) & (wanted == 0)) | ((row != row) & (wanted != wanted)))


def array(value: Any) -> Array:
    """A numpy array of the same numbers: of a torch tensor, of what speaks DLPack, or as numpy converts it."""
    if isinstance(value, np.ndarray):
        return value
    if type(value).__module__.partition(".")[0] == "torch":
        return _of_torch(value)
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value)
    return np.asarray(value)


def _of_torch(tensor: Any) -> Array:
    import torch

    plain = tensor.detach().cpu()
    name = str(plain.dtype).removeprefix("torch.")
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        bits = torch.int16 if plain.dtype.itemsize == 2 else torch.uint8
        return np.asarray(plain.contiguous().view(bits).numpy()).view(FLOATS[name])
    return np.asarray(plain.numpy())


def format_of(values: Array, name: str) -> Format:
    """The format of an array's numbers."""
    if values.dtype.name not in FORMATS:
        raise TypeError(f"{name} must be of one of {', '.join(FORMATS)}, got {values.dtype.name}")
    return FORMATS[values.dtype.name]


def named(name: str) -> Format:
    """The format of that name, for what is asked as dtype."""
    try:
        return format_named(name)
    except ValueError as error:
        raise ValueError(str(error).replace("the format", "dtype", 1)) from None
