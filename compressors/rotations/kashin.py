"""Kashin's representation of a vector in an overcomplete basis of rows of a Hadamard matrix, by clipping and again."""

import math

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array
from commbounds.compressors.base import checked_array, checked_count, checked_flag, checked_real, is_finite
from commbounds.compressors.rotations.hadamard import checked_signs, checked_size, padded_size, transformed

MOST_ROUNDS = 1000


def kashin(
    x: ArrayLike,
    signs: ArrayLike,
    rounds: int = 3,
    eta: float = 0.9,
    delta: float = 1.0,
    *,
    length: int | None = None,
    exact: bool = True,
) -> Array:
    """Coefficients a with ``U a = x``, of which none is much larger than the others (Lyubarskii and Vershynin 2010).

    U x* = D H x*/sqrt(N), cut to the first n entries, is a tight frame of N vectors, H the Walsh-Hadamard matrix. From
    r = x and the level M = ||x||/sqrt(delta N), every round clips ``U^T r`` to [-M, M], adds it to a, takes its image
    from r, and multiplies M by eta.

    Parameters
    ----------
    x : (n,) float32 or float64
        Finite.
    signs : (n,) int
        -1 or 1 each: the diagonal D.
    rounds : int
        In [1, 1000].
    eta, delta : float
        In (0, 1) and (0, 1]; for the guarantee, constants of the frame: ``||U a|| <= eta ||a||`` wherever at most
        delta N entries of a are not zero.
    length : int or None
        N, a power of two that is at least n; None for the least one.
    exact : bool
        Whether the last round does not clip, so that ``U a = x``. Else ``||x - U a|| <= eta^rounds ||x||``.

    Returns
    -------
    (N,) float64

    Raises
    ------
    TypeError
        Another dtype or type.
    ValueError
        Another shape; NaN or an infinity; numbers outside their ranges; a level that overflows.

    Notes
    -----
    With delta = n/N, three rounds and ``exact`` what Google's tensor encoding does by default, which clips at
    ||x||/sqrt(n); its documentation says the root of the length of a, N.

    Examples
    --------
    >>> import numpy as np
    >>> kashin(np.array([3.0, 1.0]), [1, 1], length=4)
    array([2., 1., 2., 1.])
    """
    array = checked_array(x)
    n = array.size
    checked_size(n)
    given = checked_signs(signs, n)
    checked_count("rounds", rounds, 1, MOST_ROUNDS)
    eta, delta = checked_real("eta", eta), checked_real("delta", delta)
    if not 0.0 < eta < 1.0:
        raise ValueError(f"eta must be in (0, 1), got {eta}")
    if not 0.0 < delta <= 1.0:
        raise ValueError(f"delta must be in (0, 1], got {delta}")
    checked_flag("exact", exact)
    size = padded_size(n) if length is None else checked_count("length", length, n)
    if size != padded_size(size):
        raise ValueError(f"length must be a power of two, got {size}")
    checked_size(size)
    top = float(np.abs(array).max())
    if top == 0.0:
        return np.zeros(size)
    exponent, root = math.frexp(top)[1], math.sqrt(size)
    residual = np.ldexp(array.astype(np.float64), -exponent)
    level = math.sqrt(float(np.square(residual).sum())) / math.sqrt(delta * size)
    found = np.zeros(size)
    for number in range(rounds):
        part = np.zeros(size)
        part[:n] = residual * given
        part = transformed(part) / root
        if number < rounds - 1 or not exact:
            part = np.clip(part, -level, level)
        found += part
        residual = residual - transformed(part)[:n] * given / root
        level *= eta
    with np.errstate(over="ignore"):
        found = np.ldexp(found, exponent)
    if not is_finite(found):
        raise ValueError("x must be small enough for its coefficients to fit in float64, and is not: scale x down")
    return found


def from_kashin(coefficients: ArrayLike, signs: ArrayLike) -> Array:
    """``U a``: the vector of the coefficients a.

    Parameters
    ----------
    coefficients : (N,) float32 or float64
        Finite, N a power of two.
    signs : (n,) int
        -1 or 1 each, n <= N.

    Returns
    -------
    (n,) float64

    Raises
    ------
    TypeError
        Another dtype.
    ValueError
        Another length; NaN or an infinity; more signs than coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from_kashin(np.array([2.0, 1.0, 2.0, 1.0]), [1, 1])
    array([3., 1.])
    """
    array = checked_array(coefficients, name="coefficients")
    size = array.size
    checked_size(size)
    if size != padded_size(size):
        raise ValueError(f"coefficients must be as many as a power of two, got {size}")
    given = checked_signs(signs, np.size(signs))
    if not 1 <= given.size <= size:
        raise ValueError(f"signs must be 1 to {size}, got {given.size}")
    exponent = math.frexp(float(np.abs(array).max()))[1]
    near = np.ldexp(array.astype(np.float64), -exponent)
    with np.errstate(over="ignore"):
        found: Array = np.ldexp(transformed(near)[: given.size] * given / math.sqrt(size), exponent)
    return found
