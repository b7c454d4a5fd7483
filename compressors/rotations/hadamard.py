"""The randomised Hadamard transform: random signs, then the Walsh-Hadamard matrix, unnormalised."""

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from commbounds.array_types import Array
from commbounds.compressors._blocks import quiet
from commbounds.compressors._random import fill_uniforms
from commbounds.compressors.base import MAX_ENTRIES, as_numbers, checked_count, is_finite

Signs = NDArray[np.int8]

_PLUS, _MINUS = np.int8(1), np.int8(-1)
MOST_ENTRIES = 2**24
"""Entries of a vector that is rotated: the transform is done at once, in float64."""


@njit(cache=True, nogil=True)
def _walsh_hadamard(y):  # type: ignore[no-untyped-def]
    # in place: pairs at distance 1, 2, 4, ... become their sum and their difference
    half = 1
    while half < y.size:
        for start in range(0, y.size, 2 * half):
            for i in range(start, start + half):
                a, b = y[i], y[i + half]
                y[i] = a + b
                y[i + half] = a - b
        half *= 2


def padded_size(n: int) -> int:
    """The least power of two that is at least `n` >= 1."""
    return int(1 << (checked_count("n", n) - 1).bit_length())


def transformed(y: Array) -> Array:
    """``H y`` of a fresh float64 or int64 array whose length is a power of two; it is overwritten."""
    with quiet():  # sums may overflow, which is looked for afterwards
        _walsh_hadamard(y)
    return y


def forward(x: Array, signs: Signs) -> Array:
    """``H D x`` in float64, `x` padded with zeros."""
    d = 1 << (x.size - 1).bit_length()
    if d == x.size:
        return transformed(np.multiply(x, signs, dtype=np.float64))
    y = np.zeros(d)
    np.multiply(x, signs, out=y[: x.size])
    return transformed(y)


def backward(y: Array, signs: Signs) -> Array:
    """The first entries of ``D H y``; `y` is overwritten."""
    return transformed(y)[: signs.size] * signs


def drawn_signs(key: np.uint64, n: int) -> Signs:
    """Signs of the counter-based generator: +1 where draw i of `key` is below 1/2, else -1."""
    uniforms = np.empty(n)
    fill_uniforms(key, 0, uniforms)
    return np.where(uniforms < 0.5, _PLUS, _MINUS)


def checked_signs(signs: ArrayLike, n: int) -> Signs:
    """`signs` as (n,) int8, each -1 or 1, or an error that names the rule."""
    found = as_numbers(signs, "signs", kinds="iu")
    if found.shape != (n,):
        raise ValueError(f"signs must have the shape of x, {(n,)}, got {found.shape}")
    if not (np.abs(found) == 1).all():
        raise ValueError(f"signs must be -1 or 1, got {found.min()} to {found.max()}")
    return found.astype(np.int8)


def checked_size(n: int) -> None:
    """Refuse vectors that are too long to be rotated."""
    if n > MOST_ENTRIES:
        raise ValueError(f"x must have at most 2**24 entries, got {n}")


def randomised_hadamard(x: ArrayLike, signs: ArrayLike, *, inverse: bool = False) -> Array:
    """``H D x``: the entries of x with random signs, in the Walsh-Hadamard basis, not normalised.

    H is Sylvester's matrix, H_ij = (-1)^(number of ones of i AND j); D the diagonal of the signs. H D / sqrt(d) is
    orthogonal, so that ``D H (H D x) = d x``.

    Parameters
    ----------
    x : (n,) float32, float64 or int64
        Finite, not empty; at most 2^24 entries. Padded with zeros to the next power of two, d.
    signs : (n,) int
        -1 or 1 each; n = d for the inverse.
    inverse : bool
        Whether ``D H x`` is meant, of x whose length is a power of two.

    Returns
    -------
    (d,) float64 or int64
        Of integers exactly, while |x_1| + ... + |x_n| < 2^63; else in float64, exactly where all sums of entries fit:
        sums and differences of entries at distance 1, then of those at distance 2, 4, and so on. What is then beyond
        float64 is infinite or NaN.

    Raises
    ------
    TypeError
        Another dtype.
    ValueError
        Another shape; NaN or an infinity; other signs; integers whose sum of magnitudes is too large.

    Examples
    --------
    >>> import numpy as np
    >>> randomised_hadamard(np.array([3, 1, 0]), [1, -1, 1])
    array([2, 4, 2, 4])
    """
    array = as_numbers(x, "x")
    if array.dtype not in (np.float32, np.float64, np.int64):
        raise TypeError(f"x must be float32, float64 or int64, got {array.dtype}")
    if array.ndim != 1 or not 1 <= array.size <= min(MOST_ENTRIES, MAX_ENTRIES):
        raise ValueError(f"x must be a vector of 1 to 2**24 entries, got shape {array.shape}")
    if not isinstance(inverse, bool | np.bool_):
        raise TypeError(f"inverse must be True or False, got {inverse!r}")
    n, d = array.size, padded_size(array.size)
    if inverse and n != d:
        raise ValueError(f"x must have a power of two of entries to be transformed back, got {n}")
    wide = array.astype(np.int64 if array.dtype == np.int64 else np.float64)
    if wide.dtype == np.int64:
        if sum(abs(int(v)) for v in wide.tolist()) >= 2**63:
            raise ValueError("x must have a sum of magnitudes below 2**63")
    elif not is_finite(wide):
        raise ValueError("x must be finite, got NaN or infinity")
    given = checked_signs(signs, n)
    y = np.zeros(d, wide.dtype)
    y[:n] = wide if inverse else wide * given
    transformed(y)
    return y * given if inverse else y
