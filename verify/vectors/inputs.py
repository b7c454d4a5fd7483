"""Inputs of test vectors: hostile vectors by name, ordinary ones from a counter, stacks of ranks, and their flags."""

from typing import Any

import numpy as np

from commbounds.array_types import Array, Mask
from commbounds.compressors._random import fill_uniforms

HOSTILE: dict[str, str] = {
    "ordinary": "Entries of mixed signs and sizes, none of them special.",
    "zeros": "All zero: nothing to keep, and a norm of zero to divide by.",
    "negative zeros": "Zeros of both signs: -0.0 is equal to 0.0 and has other bits.",
    "one entry": "A vector of one entry.",
    "one nonzero": "One entry carries the whole norm.",
    "ties": "Equal magnitudes of both signs: the order among equals is part of the contract.",
    "all negative": "No entry is positive: magnitudes, not values, are compared.",
    "halfway": "Half-way between two neighbouring integers, and between two powers of two.",
    "powers": "Powers of two: fixed points of rounding to them, and exact in every format.",
    "subnormals": "Below the smallest normal number: flushing them to zero shows.",
    "largest": "The largest finite numbers: squares, sums and ranges overflow.",
    "long": "33 entries of a counter: two chunks of a power of two and one entry over.",
}
"""Why each hostile vector is there, by its name."""
REFUSED = {
    "NaN": "A NaN is refused before anything is sent.",
    "infinity": "An infinity is refused before anything is sent.",
}
"""Vectors that every compressor refuses."""


def array(values: Any, dtype: str) -> Array:
    """`values` in `dtype`, which has to hold them exactly, or rounds them once."""
    return np.array(values, dtype=dtype)


def uniforms(key: int, n: int, dtype: str) -> Array:
    """Draws 0 .. n - 1 of the counter-based generator with this key, on the grid of the dtype in [0, 1)."""
    out = np.empty(n, dtype)
    fill_uniforms(np.uint64(key), 0, out)
    return out


def mask(key: int, shape: tuple[int, ...], share: float = 0.75) -> Mask:
    """True with about this share, from the counter-based generator."""
    drawn = uniforms(2000 + key, int(np.prod(shape)), "float64")
    return np.asarray(drawn.reshape(shape) < share)


def eighths(key: int, *shape: int) -> Array:
    """Multiples of 1/8 in [0, 4), from the counter-based generator: sums and differences of them are exact."""
    drawn = uniforms(3000 + key, int(np.prod(shape)), "float64")
    return np.asarray(np.floor(drawn.reshape(shape) * 32) / 8)


def ordinary(key: int, n: int, dtype: str) -> Array:
    """Entries in [-4, 4) of sizes that differ by powers of two up to 2^-7, from the counter-based generator.

    Multiplying by powers of two and subtracting 1/2 from a multiple of 2^-24 or 2^-53 is exact, so the bits are those
    of the generator on any machine.
    """
    small = np.ldexp(np.ones(n), -(np.arange(n) % 8)).astype(dtype)
    centred = uniforms(key, n, dtype) - np.dtype(dtype).type(0.5)
    return np.asarray(centred * np.dtype(dtype).type(8) * small)


def hostile(name: str, dtype: str) -> Array:
    """The vector of that name in `HOSTILE` or `REFUSED`."""
    about = np.finfo(np.dtype(dtype))
    step, top, tiny = about.smallest_subnormal, about.max, about.tiny
    made: dict[str, Any] = {
        "zeros": [0.0] * 5,
        "negative zeros": [-0.0, 0.0, -0.0, 0.0, -0.0],
        "one entry": [-2.5],
        "one nonzero": [0.0, 0.0, -0.375, 0.0, -0.0, 0.0],
        "ties": [1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0],
        "all negative": [-1.0, -3.0, -0.5, -2.0, -4.0],
        "halfway": [0.5, 1.5, -2.5, 3.5, -0.75, 1.25, 6.0, -12.0],
        "powers": [1.0, -0.5, 4.0, 0.125, -16.0, 2.0],
        "subnormals": [step, -2 * step, 3 * step, tiny / 2, -tiny, 0.0, -step],
        "largest": [top, -top / 2, top / 4, 1.0, 0.0],
        "NaN": [1.0, np.nan, 2.0],
        "infinity": [1.0, -np.inf, 2.0],
    }
    if name == "ordinary":
        return ordinary(1, 12, dtype)
    if name == "long":
        return ordinary(2, 33, dtype)
    return array(made[name], dtype)


def flags_of(x: Array) -> tuple[str, ...]:
    """What is on the edge in a vector, or in the rows of a stack together."""
    flat = np.asarray(x).reshape(-1)
    magnitudes = np.abs(flat)
    about = np.finfo(flat.dtype)
    seen = {
        "zero": not flat.any(),
        "negative zero": bool(((flat == 0) & np.signbit(flat)).any()),
        "n=1": np.shape(x)[-1] == 1,
        "ties": bool(magnitudes.any()) and np.unique(magnitudes[magnitudes > 0]).size < np.count_nonzero(magnitudes),
        "all negative": bool((flat < 0).all()),
        "subnormal": bool(((magnitudes > 0) & (magnitudes < about.tiny)).any()),
        "largest": bool((magnitudes == about.max).any()),
        "not finite": not np.isfinite(flat).all(),
    }
    return tuple(name for name, holds in seen.items() if holds)


def stack_flags(stack: Array) -> tuple[str, ...]:
    """What is on the edge in the ranks' vectors: the entries, and the number of ranks against that of entries."""
    P, n = stack.shape[0], stack.shape[-1]
    seen = {
        "P=1": P == 1,
        "odd P": P % 2 == 1 and P > 1,
        "P no power of two": P & (P - 1) != 0,
        "n<P": n < P,
        "P does not divide n": n % P != 0,
    }
    return (*flags_of(stack), *(name for name, holds in seen.items() if holds))
