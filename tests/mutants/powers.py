"""Broken quantisers that round to powers, each by one defect."""

from dataclasses import replace

import numpy as np

from commbounds.compressors import NaturalCompression, NaturalDithering, NearestPower, StochasticPower
from commbounds.compressors.base import index_bits
from mutants.record import native
from mutants.rounding import Broken, Floor, Nearest, Unsigned, UpAtEquality, UpBy, moved, priced


def _log_share(x, base):
    """How far |x| has come from one power of the base to the next, on a logarithmic scale."""
    sizes = np.where(x == 0, 1.0, np.abs(x.astype(np.float64)))
    return np.log(sizes) / np.log(float(base)) % 1.0


class NaturalCompressionFloor(Floor, NaturalCompression):
    """Takes the power of two below."""


class NaturalCompressionNearest(Nearest, NaturalCompression):
    """Takes the nearest power of two."""


class NaturalCompressionUpAtEquality(UpAtEquality, NaturalCompression):
    """Goes up where u <= p in place of u < p: a power of two moves once in 2^24 times."""


class NaturalCompressionLog(UpBy, NaturalCompression):
    """Goes up with probability log2 of the fraction: unbiased in the exponent, not in the value."""

    def probability(self, x, low):
        return _log_share(x, 2.0)


class NaturalCompressionEightBits(Broken, NaturalCompression):
    """Counts the exponent alone: no sign."""

    def broken(self, x, message, u):
        return priced(message, index_bits(message.levels + 1), 0)


class NaturalCompressionFlushed(Broken, NaturalCompression):
    """Flushes what is below the smallest power of two to zero."""

    def broken(self, x, message, u):
        return replace(message, codes=np.where(np.abs(x) < np.finfo(x.dtype).tiny, 0, message.codes))


class NaturalCompressionBlockStart(Broken, NaturalCompression):
    """Rounds the first entry of every block but the first down: block boundary off by one."""

    def broken(self, x, message, u):
        first = (np.arange(x.size) % (1 << 16) == 0) & (np.arange(x.size) > 0)
        return replace(message, codes=np.where(first, self.low(x).codes, message.codes))


class NaturalCompressionSameBlocks(NaturalCompression):
    """Starts the counter anew in every block: all blocks use the same uniforms."""

    def compress(self, x, rng=None):
        message = super().compress(x, rng)
        block = rng.random(1 << 16, dtype=message.dtype)
        return self.compress_with(x, np.resize(block, len(x)))


class NaturalDitheringLinear(UpBy, NaturalDithering):
    """Rounds down to the power below, and goes up as if levels were norm/s apart."""

    def probability(self, x, low):
        return (self.levels * np.abs(x.astype(np.float64)) / (float(low.norm) or 1.0)) % 1.0


class NaturalDitheringNearest(Nearest, NaturalDithering):
    """Rounds to the nearest level."""


class NaturalDitheringDeeper(NaturalDithering):
    """Reads the levels as norm 2^-s, ..., norm/2: off by one."""

    def decompress(self, message):
        return super().decompress(replace(message, norm=message.norm / 2))


class NaturalDitheringFreeNorm(Broken, NaturalDithering):
    """Does not count the norm."""

    def broken(self, x, message, u):
        return priced(message, index_bits(2 * self.levels + 1), 0)


class NaturalDitheringMaxNorm(Broken, NaturalDithering):
    """Sends the largest entry for the norm: what was rounded against the l2 norm comes back too small."""

    def broken(self, x, message, u):
        return replace(message, norm=np.abs(x).max())


class StochasticPowerFloor(Floor, StochasticPower):
    """Takes the level below."""


class StochasticPowerLog(UpBy, StochasticPower):
    """Goes up with probability log_b of the fraction."""

    def probability(self, x, low):
        return _log_share(x, self.base)


class StochasticPowerUnsigned(Unsigned, StochasticPower):
    """Drops the signs."""


class StochasticPowerPositive(Broken, StochasticPower):
    """Counts codes for positive values alone."""

    def broken(self, x, message, u):
        return priced(message, index_bits(message.levels + 1), 0)


class StochasticPowerNextBase(StochasticPower):
    """Reads its codes as powers of twice the base."""

    def decompress(self, message):
        table = StochasticPower(2 * self.base)
        top = table.compress(np.ones(1, message.dtype), np.random.default_rng(0)).levels
        codes = np.clip(message.codes, -top, top)
        return table.decompress(replace(message, codes=codes.astype(message.codes.dtype), levels=top))


class NearestPowerFloor(NearestPower):
    """Takes the power of two below."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        above = np.abs(self.decompress(message)) > np.abs(native(x))
        return moved(message, native(x), -above.astype(int))


class NearestPowerTiesUp(NearestPower):
    """Half-way between two powers takes the upper one."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        half = (np.frexp(np.abs(native(x)))[0] == 0.75) & (np.abs(message.codes) < message.levels)
        return moved(message, native(x), half)


class NearestPowerLog(NearestPower):
    """Takes the power whose exponent is nearest."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        mantissa = np.frexp(np.abs(native(x)))[0]
        between = (mantissa > np.sqrt(0.5)) & (mantissa <= 0.75) & (np.abs(message.codes) < message.levels)
        return moved(message, native(x), between)


class NearestPowerUnsigned(NearestPower):
    """Drops the signs."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return replace(message, codes=np.abs(message.codes))


class NearestPowerEightBits(NearestPower):
    """Counts the exponent alone: no sign."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return priced(message, index_bits(message.levels + 1), 0)
