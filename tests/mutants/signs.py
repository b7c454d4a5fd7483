"""Broken sign compressors, each by one defect."""

from dataclasses import dataclass, replace

import numpy as np

from commbounds.compressors import ScaledSign, Sign, Signs
from commbounds.compressors.base import index_bits


def _with_sign_of_zero(message, x, zero):
    return replace(message, signs=np.where(np.asarray(x) == 0, zero, message.signs).astype(np.int8))


class SignZeroDropped(Sign):
    """The sign of zero is 0 whatever was asked for."""

    def compress(self, x, rng=None):
        return _with_sign_of_zero(super().compress(x), x, 0)

    def decompress(self, message):
        return super().decompress(replace(message, zero=0))  # which may hold such signs


class SignZeroPlus(Sign):
    """The sign of zero is 1 whatever was asked for."""

    def compress(self, x, rng=None):
        return _with_sign_of_zero(super().compress(x), x, 1)


class SignOfMinusZero(Sign):
    """Looks at the sign bit: -0 becomes -1."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        minus = (np.asarray(x) == 0) & np.signbit(np.asarray(x))
        return replace(message, signs=np.where(minus, -1, message.signs).astype(np.int8))


class SignAlwaysPlus(Sign):
    """Sends +1 for every entry."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return replace(message, signs=np.ones_like(message.signs))


@dataclass(frozen=True, eq=False)
class _TwoBits(Signs):
    @property
    def bits(self):
        return 2 * self.signs.size


class SignTwoBits(Sign):
    """Counts two bits an entry, whatever the values."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return _TwoBits(message.shape, message.dtype, message.signs, message.zero, message.scale)


class _Rescaled(ScaledSign):
    def _scale(self, x):
        raise NotImplementedError

    def compress(self, x, rng=None):
        message = super().compress(x)
        array = np.asarray(x, dtype=np.float64)
        top = float(np.abs(array).max())
        scale = self._scale(np.abs(array) / top) * top if top else 0.0
        with np.errstate(over="ignore"):
            return replace(message, scale=np.minimum(message.dtype.type(scale), np.finfo(message.dtype).max))


class ScaledSignMax(_Rescaled):
    """The scale is the largest magnitude."""

    def _scale(self, x):
        return x.max()


class ScaledSignRMS(_Rescaled):
    """The scale is the root mean square: the l2 norm for the l1 norm."""

    def _scale(self, x):
        return np.sqrt(np.mean(x**2))


class ScaledSignSum(_Rescaled):
    """The scale is the sum of the magnitudes: the division by n is missing."""

    def _scale(self, x):
        return x.sum()


class ScaledSignNonzero(_Rescaled):
    """The scale is the mean over the entries that are not zero."""

    def _scale(self, x):
        return x.sum() / np.count_nonzero(x)


class ScaledSignFree(ScaledSign):
    """Does not count the scale."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return _FreeScale(message.shape, message.dtype, message.signs, message.zero, message.scale)


@dataclass(frozen=True, eq=False)
class _FreeScale(Signs):
    @property
    def bits(self):
        return self.signs.size * index_bits(3 - self.zero)
