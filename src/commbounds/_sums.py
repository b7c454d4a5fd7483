"""Sums over the ranks, entry by entry, to twice the digits of float64, with what they may be off: `RankSums`."""

from dataclasses import dataclass

import numpy as np

from commbounds.array_types import Array, Floats

_UNIT = 2.0**-53
_BLOCK = 8192  # entries at a time: a few megabytes for a hundred ranks
LARGEST = 2.0**1000
"""Where magnitudes add up to more, `rank_sums` refuses."""


@dataclass(frozen=True)
class RankSums:
    """The sum s of every entry over the ranks, as an unevaluated pair of float64.

    Parameters
    ----------
    ranks : int
        How many terms every sum has.
    high, low : (n,) float64
        |high + low - s| <= 1.01 (P u)^2 sum of |x_p|, with u = 2^-53.
    sizes : (n,) float64
        At least the sum of |x_p|, and at most 1 + 2^-51 P times it.
    """

    ranks: int
    high: Floats
    low: Floats
    sizes: Floats

    @property
    def slack(self) -> Floats:
        """What `distance` may be off, besides 2^-52 of itself: 2 (P + 3)^2 u^2 sum of |x_p|.

        (P u)^2 of it comes with the sum. Of |times y| + |s| <= |d| + 2 sum of |x_p|, with d the distance, the two low
        parts below are at most u, `low` is at most P u sum of |x_p|, and their three additions lose 2 u of that.
        """
        return 2.0 * (self.ranks + 3.0) ** 2 * _UNIT**2 * self.sizes

    def distance(self, y: Array, times: int = 1) -> Floats:
        """The signed times * y - s, for an array y of n entries; 1 <= times < 2^26. NaN or infinite where y is."""
        wide = np.ascontiguousarray(y, dtype=np.float64)
        # 26 leading bits of the significand and the rest: times as much of either is exact
        leading = (wide.view(np.uint64) & np.uint64(0xFFFF_FFFF_F800_0000)).view(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            first, lost = _two_sum(times * leading, -self.high)
            second, lost_too = _two_sum(first, times * (wide - leading))
            return np.where(np.isfinite(wide), second + ((lost + lost_too) - self.low), wide)

    def wide(self) -> Floats:
        """The sums, rounded to float64."""
        return self.high + self.low


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Rounded a + b, and what rounding lost, exactly (Knuth); neither addition underflows."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def rank_sums(stack: Array) -> RankSums:
    """Sums over the first axis of a (P, n) array of any floating-point type, P >= 1.

    Returns
    -------
    RankSums
        With TwoSum every rounding of the sum is known exactly; what is lost are the roundings of *their* sum, which is
        at most P u times the sum of the magnitudes: the bound of compensated summation (Ogita, Rump, Oishi 2005).

    Raises
    ------
    ValueError
        An entry is NaN or infinite, or magnitudes add up to more than 2^1000.

    Notes
    -----
    About ten float64 operations an entry: a second for 64 ranks of a million entries.
    """
    P, n = stack.shape
    high, low, sizes = np.empty(n), np.empty(n), np.empty(n)
    for start in range(0, n, _BLOCK):
        at = slice(start, min(n, start + _BLOCK))
        total, lost, size = np.zeros(at.stop - start), np.zeros(at.stop - start), np.zeros(at.stop - start)
        with np.errstate(invalid="ignore", over="ignore"):
            for row in stack:
                x = row[at].astype(np.float64)
                size += np.abs(x)
                total, rounding = _two_sum(total, x)
                lost += rounding
        high[at], low[at], sizes[at] = total, lost, size
    wrong = np.flatnonzero(~(sizes <= LARGEST))
    if wrong.size:
        entry = int(wrong[0])
        column = stack[:, entry].astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(column))
        if bad.size:
            raise ValueError(f"inputs must be finite, got {column[bad[0]]} from rank {bad[0]} in entry {entry}")
        raise ValueError(
            f"magnitudes must add up to at most 2^1000, they add up to {sizes[entry]:.3g} in entry {entry}"
        )
    return RankSums(P, high, low, sizes * (1.0 + P * 2.0**-52))
