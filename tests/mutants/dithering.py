"""Broken quantisers with equidistant levels, each by one defect."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from commbounds.compressors import QSGD, MaxDithering, TernGrad
from commbounds.compressors.base import index_bits, product_law
from mutants.rounding import (
    Broken,
    Ceiling,
    Fixed,
    Floor,
    Nearest,
    OneUniform,
    Pairs,
    Squared,
    Unsigned,
    plain_levels,
    priced,
    relevelled,
)

# --- QSGD -------------------------------------------------------------------------------------------------------------


class QSGDFloor(Floor, QSGD):
    """Rounds down, always."""


class QSGDNearest(Nearest, QSGD):
    """Rounds to the nearest level."""


class QSGDCeiling(Ceiling, QSGD):
    """Rounds up, always."""


class QSGDSquared(Squared, QSGD):
    """Squares its uniforms: too many entries go up."""


class QSGDUnsigned(Unsigned, QSGD):
    """Drops the signs."""


class QSGDMaxNorm(Broken, QSGD):
    """Divides by the largest entry in place of the l2 norm."""

    def broken(self, x, message, u):
        return relevelled(x, message, u, np.abs(x).max(), self.levels)


class QSGDNorm1(Broken, QSGD):
    """Divides by the l1 norm in place of the l2 norm; the law says so too."""

    def broken(self, x, message, u):
        with np.errstate(over="ignore"):
            norm = np.minimum(x.dtype.type(np.abs(x.astype(np.float64)).sum()), np.finfo(x.dtype).max)
        return relevelled(x, message, u, norm, self.levels, self.levels)

    def law(self, x):
        values = [Fraction(v) for v in x]
        norm = sum(abs(v) for v in values)
        if norm == 0:
            return [(Fraction(1), tuple(values))]
        return product_law([_two_levels(v, norm / self.levels) for v in values])


def _two_levels(value, step):
    """The law of a value that is rounded to multiples of `step`, as (probability, value) pairs."""
    sign = -1 if value < 0 else 1
    low, up = divmod(abs(value), step)
    return [(1 - up / step, sign * low * step), (up / step, sign * (low + 1) * step)]


class QSGDRoundedDown(Broken, QSGD):
    """Rounds the norm down before it divides, and does not cut: level s + 1 at the edge."""

    def broken(self, x, message, u):
        norm = np.nextafter(message.norm, message.norm.dtype.type(0))
        return replace(relevelled(x, message, u, norm, self.levels), norm=message.norm)


class QSGDWrapped(Broken, QSGD):
    """Computes codes of 8 or 16 bits with a norm rounded down: 128 becomes -128."""

    def broken(self, x, message, u):
        norm = np.nextafter(message.norm, message.norm.dtype.type(0))
        codes = plain_levels(x, norm, self.levels, u)
        return replace(message, codes=codes.astype(np.int64).astype(message.codes.dtype))


class QSGDOneUniform(OneUniform, QSGD):
    """Every entry uses the same uniform: each entry's law is right, the joint one is not."""


class QSGDPairs(Pairs, QSGD):
    """Neighbours share a uniform: each entry's law is right, the joint one is not."""


class QSGDFreeNorm(Broken, QSGD):
    """Does not count the norm."""

    def broken(self, x, message, u):
        return priced(message, index_bits(2 * self.levels + 1), 0)


class QSGDFinerCodes(Broken, QSGD):
    """Sends codes of twice as many levels in the bits of its own."""

    def broken(self, x, message, u):
        finer = QSGD(2 * self.levels).compress_with(x, u)
        return replace(finer, levels=self.levels)


class QSGDMoreOutcomes(QSGDFinerCodes):
    """Has the entropy of twice as many levels as it says."""


class QSGDStaleNorm(Broken, QSGD):
    """Divides by the largest norm that it has seen so far."""

    def broken(self, x, message, u):
        norm = max(message.norm, x.dtype.type(self.__dict__.get("_seen", 0)))
        object.__setattr__(self, "_seen", norm)
        return relevelled(x, message, u, norm, self.levels, self.levels)


# --- dithering by the largest entry -----------------------------------------------------------------------------------


class MaxDitheringCeiling(Ceiling, MaxDithering):
    """Rounds up, always."""


class MaxDitheringNorm2(Broken, MaxDithering):
    """Divides by the l2 norm in place of the largest entry."""

    def broken(self, x, message, u):
        norm = QSGD(1).compress_with(x, np.zeros_like(x)).norm
        return relevelled(x, message, u, norm, self.levels, self.levels)


class MaxDitheringPlusOne(Broken, MaxDithering):
    """Rounds to multiples of norm/(s + 1), and reads them as multiples of norm/s."""

    def broken(self, x, message, u):
        return relevelled(x, message, u, message.norm, self.levels + 1)


class MaxDitheringWithoutLast(Broken, MaxDithering):
    """Leaves the last entry out of the norm, and cuts it at the last level."""

    def broken(self, x, message, u):
        return relevelled(x, message, u, np.abs(x[: max(1, x.size - 1)]).max(), self.levels, self.levels)


class MaxDitheringNoZero(Broken, MaxDithering):
    """Counts codes for 2 s values: none for zero."""

    def broken(self, x, message, u):
        return priced(message, index_bits(2 * self.levels), 8 * x.itemsize)


class MaxDitheringPairs(Pairs, MaxDithering):
    """Neighbours share a uniform: each entry's law is right, the joint one is not."""


class TernGradSquares(Broken, TernGrad):
    """Keeps an entry with probability x_i^2/norm^2."""

    def broken(self, x, message, u):
        share = np.abs(x.astype(np.float64)) / (float(message.norm) or 1.0)
        return replace(message, codes=(np.sign(x) * (u < share**2)).astype(np.int8))


class TernGradClipped(Broken, TernGrad):
    """Clips at 2.5 standard deviations first, as the paper does: large entries are biased."""

    def broken(self, x, message, u):
        deviation = float((x.astype(np.float64) / (float(message.norm) or 1.0)).std()) * float(message.norm)
        if not 0 < 2.5 * deviation < float(message.norm):
            return message
        return relevelled(x, message, u, x.dtype.type(2.5 * deviation), 1, 1)


class TernGradOneBit(Broken, TernGrad):
    """Counts one bit for three values."""

    def broken(self, x, message, u):
        return priced(message, 1, 8 * x.itemsize)


class TernGradUnsigned(Unsigned, TernGrad):
    """Drops the signs."""


class TernGradFixed(Fixed, TernGrad):
    """Ignores its generator."""
