"""Numbers of narrow formats, held in float64: rounded to nearest, or to either neighbour by a uniform number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:  # sympy, which comes with it, is not needed to compute
    from commbounds.theory.precision.formats import Format

Floats = NDArray[np.float64]


def rounded_to(
    values: ArrayLike, known: Format, uniforms: ArrayLike | None = None, *, saturates: bool = False
) -> Floats:
    """`values` rounded to a format.

    Parameters
    ----------
    values : array of float64
        Any, infinities and NaN too.
    known : Format
        Of at most 53 digits.
    uniforms : array of float64 in [0, 1), or None
        Where given, a value between the neighbours a < b becomes b if its uniform is below (value - a)/(b - a): the
        mean is the value. Else it becomes the nearest, of two the one whose last digit is even.
    saturates : bool
        Whether what is beyond the largest number becomes that; else infinity, or NaN where the format has none.

    Returns
    -------
    array of float64
        Numbers of the format, infinity or NaN. A zero keeps its sign.

    Notes
    -----
    One rounding, also to bfloat16 and to eight bits, where ml_dtypes rounds float64 to float32 first.

    Examples
    --------
    >>> from commbounds.theory.precision.formats import FORMATS
    >>> rounded_to([1.0625, 1.1, 500.0], FORMATS["float8_e4m3fn"]).tolist()
    [1.0, 1.125, nan]
    >>> rounded_to([1.0625, 1.1], FORMATS["float8_e4m3fn"], [0.49, 0.9]).tolist()
    [1.125, 1.0]
    """
    x = np.asarray(values, np.float64)
    return _rounded(x, np.zeros_like(x), known, None if uniforms is None else np.asarray(uniforms), saturates)


def added_in(
    left: ArrayLike, right: ArrayLike, known: Format, uniforms: ArrayLike | None = None, *, saturates: bool = False
) -> Floats:
    """The sum of two numbers of a format, rounded to it once; parameters as for `rounded_to`.

    Notes
    -----
    To nearest: float64 rounds the sum first, which changes nothing where it has twice the digits and two more. By
    uniforms: what float64 loses of the sum is kept (Knuth's two-sum), so that the probabilities are those of the exact
    sum to 2^-53.
    """
    a, b = np.asarray(left, np.float64), np.asarray(right, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        total = a + b
        if uniforms is None:
            return _rounded(total, np.zeros_like(total), known, None, saturates)
        virtual = total - a
        lost = (a - (total - virtual)) + (b - virtual)
    return _rounded(total, lost, known, np.asarray(uniforms), saturates)


def _rounded(x: Floats, lost: Floats, known: Format, uniforms: NDArray[np.float64] | None, saturates: bool) -> Floats:
    """The sum x + lost, |lost| at most half a unit in the last place of x, rounded; without uniforms `lost` is zero."""
    finite = np.isfinite(x)
    # x = f 2^e, 1/2 <= |f| < 1: neighbours are 2^(e - digits) apart, and never closer than the smallest number
    lowest = known.smallest.denominator.bit_length() - 1
    fraction, exponent = np.frexp(np.where(finite, x, 1.0))
    # what is a little below a power of two has the neighbours of the numbers below
    exponent = exponent - ((np.abs(fraction) == 0.5) & (fraction * lost < 0))
    exponent = np.maximum(exponent - known.digits, -lowest)
    scaled = np.ldexp(np.where(finite, x, 0.0), -exponent)
    if uniforms is None:
        whole = np.rint(scaled)
    else:
        below = np.floor(scaled)
        share = (scaled - below) + np.ldexp(np.where(finite, lost, 0.0), -exponent)
        below, share = np.where(share < 0, below - 1, below), np.where(share < 0, share + 1, share)
        whole = below + (uniforms < share)
    largest = float(known.largest)
    with np.errstate(over="ignore"):
        result = np.copysign(np.ldexp(whole, exponent), np.where(whole == 0, x, whole))
    beyond = np.abs(result) > largest
    limit = largest if saturates else np.inf if known.overflow == "infinity" else np.nan
    return np.where(finite, np.where(beyond, np.copysign(limit, x), result), x)
