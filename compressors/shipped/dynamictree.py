"""Eight bits with a decimal exponent of varying length, times the largest entry of a block (bitsandbytes)."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from commbounds.array_types import Array, Bytes
from commbounds.compressors.base import checked_array, checked_count


def _codebook() -> tuple[Fraction, ...]:
    # decade i of seven has 2^i values on either side: the middles of as many equal parts of [1/10, 1], times 10^(i - 6)
    middles = [
        Fraction(10) ** (i - 6) * (Fraction(1, 10) + Fraction(9, 10) * Fraction(2 * j + 1, 2 ** (i + 1)))
        for i in range(7)
        for j in range(2**i)
    ]
    return tuple(sorted([*(-v for v in middles), Fraction(0), *middles, Fraction(1)]))


DYNAMIC_TREE = _codebook()
"""The 256 values of the codes 0 to 255, ascending: 0, 1, and 127 magnitudes with both signs; -1 is none of them."""
_VALUES = np.array([float(v) for v in DYNAMIC_TREE])


def _not_above(value: Fraction) -> float:
    """The largest float64 that is not above: numbers are on the same side of it as of the value."""
    nearest = float(value)
    return nearest if nearest <= value else float(np.nextafter(nearest, -1.0))


_BORDERS = np.array([_not_above((a + b) / 2) for a, b in pairwise(DYNAMIC_TREE)])


@dataclass(frozen=True, eq=False)
class Mapped:
    """Codes, the scale of every block, and the vector that they stand for.

    Parameters
    ----------
    codes : (n,) uint8
        Places in `DYNAMIC_TREE`.
    scales : (ceil(n / block),) dtype of x
        The largest magnitude of every block.
    values : (n,) dtype of x
        What a receiver makes of them.
    """

    codes: Bytes
    scales: Array
    values: Array

    @property
    def bits(self) -> int:
        """Exact size on the wire: a byte an entry, and every scale at its dtype."""
        return 8 * (self.codes.size + self.scales.size * self.scales.itemsize)


def dynamic_tree(x: ArrayLike, block: int = 4096) -> Mapped:
    """Every entry over the largest of its block, as the nearest of 256 values between -0.993 and 1.

    The values are those of bitsandbytes' signed dynamic map (Dettmers 2015, arXiv:1511.04561; Dettmers et al. 2021,
    arXiv:2110.02861): seven decades, the i-th with 2^i middles of equal parts, on either side; and 0, and 1.

    Parameters
    ----------
    x : (n,) float32 or float64
        Finite.
    block : int
        Entries that share a scale; at least 1.

    Returns
    -------
    Mapped
        The smaller of two values where an entry lies between; a block of zeros has the scale zero.

    Raises
    ------
    TypeError, ValueError
        `x` is neither float32 nor float64, not a vector, empty or not finite; `block` is no positive integer.

    Notes
    -----
    No entry is off by more than 9/1280 of its block's largest, attained by a largest entry that is negative: -1 is not
    among the values. A largest entry that is positive is exact, as zeros are. Quotients are rounded to float64, and so
    are values and their products with the scale, before these are rounded to the dtype.

    Examples
    --------
    >>> import numpy as np
    >>> dynamic_tree(np.array([2.0, -2.0, 0.0])).values
    array([ 2.       , -1.9859375,  0.       ])
    """
    array, size = checked_array(x), checked_count("block", block)
    starts = np.arange(0, array.size, size)
    scales = np.maximum.reduceat(np.abs(array), starts)
    of_entries = np.repeat(scales, np.diff(np.append(starts, array.size))).astype(np.float64)
    # the largest becomes one, and zeros of a block of zeros stay
    codes = np.searchsorted(_BORDERS, array / np.where(of_entries > 0, of_entries, 1.0), side="left").astype(np.uint8)
    return Mapped(codes, scales, (_VALUES[codes] * of_entries).astype(array.dtype))
