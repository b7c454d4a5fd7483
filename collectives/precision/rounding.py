"""Numbers of narrow formats, held in float64: rounded to nearest, or to either neighbour by a uniform number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Floats
from commbounds.compressors.base import as_numbers, shown

if TYPE_CHECKING:  # sympy, which comes with it, is not needed to compute
    from commbounds.theory.precision.formats import Format


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
    return _rounded(values, values, False, known, uniforms, saturates)


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
    return _rounded(left, right, True, known, uniforms, saturates)


def _rounded(
    left: ArrayLike, right: ArrayLike, adds: bool, known: Format, uniforms: ArrayLike | None, saturates: bool
) -> Floats:
    if not hasattr(known, "largest"):
        raise TypeError(f"known must be a Format, got {shown(known)}")
    a, b = as_numbers(left, "values", np.float64), as_numbers(right, "values", np.float64)
    numbers = a if uniforms is None else np.asarray(uniforms, np.float64)
    if not a.shape == b.shape == numbers.shape:
        a, b, numbers = np.broadcast_arrays(a, b, numbers)
    out = np.empty(a.shape)
    largest = float(known.largest)
    limit = largest if saturates else np.inf if known.overflow == "infinity" else np.nan
    lowest = known.smallest.denominator.bit_length() - 1
    given = a.ravel(), b.ravel(), adds, numbers.ravel(), uniforms is not None
    with np.errstate(over="ignore", invalid="ignore"):  # of scalars, in plain Python
        _rounded_sums(*given, known.digits, lowest, largest, limit, out.reshape(-1))
    return out


@njit(cache=True, nogil=True)
def _rounded_sums(a, b, adds, uniforms, draws, digits, lowest, largest, limit, out):  # type: ignore[no-untyped-def]
    for i in range(a.size):
        total, lost = a[i], 0.0
        if adds:
            total = a[i] + b[i]
            if draws:
                virtual = total - a[i]
                lost = (a[i] - (total - virtual)) + (b[i] - virtual)
        if not np.isfinite(total):
            out[i] = total
            continue
        # total = f 2^e, 1/2 <= |f| < 1: neighbours are 2^(e - digits) apart, and never closer than the smallest number
        fraction, exponent = math.frexp(total)
        # what is a little below a power of two has the neighbours of the numbers below
        if abs(fraction) == 0.5 and (lost < 0.0 < fraction or fraction < 0.0 < lost):
            exponent -= 1
        exponent = max(exponent - digits, -lowest)
        scaled = np.ldexp(total, -exponent)
        whole = np.rint(scaled)
        if draws:
            whole = np.floor(scaled)
            share = (scaled - whole) + np.ldexp(lost, -exponent)
            if share < 0.0:
                whole -= 1.0
                share += 1.0
            if uniforms[i] < share:
                whole += 1.0
        result = np.ldexp(whole, exponent)
        if abs(result) > largest:
            out[i] = math.copysign(limit, total)
        elif whole == 0.0:
            out[i] = math.copysign(0.0, total)
        else:
            out[i] = result
