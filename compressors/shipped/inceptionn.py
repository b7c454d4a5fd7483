"""INCEPTIONN: entries in 32, 16 or 8 bits by their exponent, or none (Li et al. 2018), as GRACE has it."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from commbounds.array_types import Array
from commbounds.compressors.base import checked_array, checked_count, checked_real, of_python_numbers

MOST_BINADES = 28
"""Beyond, sixteen bits have no place for the leading one."""


@dataclass(frozen=True, eq=False)
class Truncated:
    """What is sent of every entry, and what a receiver makes of it.

    Parameters
    ----------
    classes : (n,) int8
        Bytes of an entry: 0, 1, 2, or 4 for one that is sent as it is.
    values : (n,) dtype of x
        What a receiver makes of them.
    """

    classes: NDArray[np.int8]
    values: Array

    @property
    def bits(self) -> int:
        """Exact size on the wire: a class in two bits, padded by one to four entries; 8, 16, or the dtype's bits."""
        whole = 8 * self.values.itemsize
        sizes = np.where(self.classes == 4, whole, 8 * self.classes.astype(np.int64))
        return 8 * (self.classes.size // 4 + 1) + int(sizes.sum())


@of_python_numbers
def truncation_binades(error_bound: float) -> int:
    """The binades below one that GRACE's INCEPTIONN keeps for an error bound: its decimal exponent, cut to an integer.

    Parameters
    ----------
    error_bound : float
        In (0, 2).

    Raises
    ------
    TypeError, ValueError
        `error_bound` is no number, or leaves (0, 2).

    Notes
    -----
    The logarithm is rounded before it is cut: 2e-9 has eight, not nine.

    Examples
    --------
    >>> truncation_binades(2e-10), truncation_binades(2e-9)
    (10, 8)
    """
    if not 0 < checked_real("error_bound", error_bound) < 2:
        raise ValueError(f"error_bound must be in (0, 2), got {error_bound}")
    return -int(math.log(float(error_bound) / 2, 10))


def inceptionn(x: ArrayLike, binades: int = 10) -> Truncated:
    """Every entry in as many bits as its exponent says, cut towards zero; what is below 2^-binades is dropped.

    An entry of [2^-m, 2^(1 - m)) is sent as it is for m < 1, as a whole number of 2^-14 in 16 bits for m up to
    floor(binades / 2), as one of 2^-6 in eight bits for m up to `binades`, and else not at all. A receiver finds m from
    the leading one: a number that is zero after the cut is read as 2^-15 or 2^-7.

    Parameters
    ----------
    x : (n,) float32 or float64
        Finite.
    binades : int
        In [0, 28]; ten as for GRACE's default, see `truncation_binades`.

    Returns
    -------
    Truncated
        Magnitudes of one and more are exact.

    Raises
    ------
    TypeError, ValueError
        `x` is neither float32 nor float64, not a vector, empty or not finite; `binades` leaves its range.

    Notes
    -----
    Off by less than max(2^-6, 2^-binades). An entry of 2^-binades comes out 2^(binades - 7) times as large for seven
    binades and more.

    Examples
    --------
    >>> import numpy as np
    >>> inceptionn(np.array([1.5, -0.75, 2.0**-10, 2.0**-11])).values
    array([ 1.5      , -0.75     ,  0.0078125,  0.       ])
    """
    array, most = checked_array(x), checked_count("binades", binades, 0, MOST_BINADES)
    _, exponents = np.frexp(array)
    below = np.where(array == 0, most + 1, 1 - exponents)  # m, beyond all for zeros
    classes = np.select([below < 1, below <= most // 2, below <= most], [4, 2, 1], 0).astype(np.int8)
    size, cut = np.abs(array.astype(np.float64)), np.zeros(array.size)
    for kind, places in ((2, 14), (1, 6)):
        held = classes == kind
        cut[held] = np.ldexp(np.maximum(np.floor(np.ldexp(size[held], places)), 0.5), -places)
    values = np.where(classes == 4, array, np.copysign(cut, array)).astype(array.dtype)
    values[classes == 0] = 0
    return Truncated(classes, values)
