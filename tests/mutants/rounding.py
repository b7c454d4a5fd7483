"""Ways to round wrongly, as mixins: they go before the quantiser that they break."""

from dataclasses import dataclass, replace

import numpy as np

from commbounds.compressors import Coded
from mutants.record import native


class Broken:
    """Draws its uniforms from the generator, and hands the right message to `broken`."""

    def compress(self, x, rng=None):
        message = super().compress(x, rng)
        return self.compress_with(x, rng.random(len(x), dtype=message.dtype))

    def compress_with(self, x, uniforms):
        return self.broken(native(x), super().compress_with(x, uniforms), uniforms)

    def right(self, x, u):
        """The message of the right compressor."""
        return super().compress_with(x, u)

    def low(self, x):
        """The same where every entry takes its lower level."""
        return self.right(x, np.full_like(x, 1 - np.finfo(x.dtype).epsneg))


class Floor(Broken):
    def broken(self, x, message, u):
        return self.low(x)


class Ceiling(Broken):
    def broken(self, x, message, u):
        return self.right(x, np.zeros_like(x))


class Nearest(Broken):
    def broken(self, x, message, u):
        return self.right(x, np.full_like(x, 0.5))


class Squared(Broken):
    def broken(self, x, message, u):
        return self.right(x, u * u)


class UpAtEquality(Broken):
    """Uniforms are multiples of a step: u - step < p iff u <= p for p on their grid."""

    def broken(self, x, message, u):
        step = np.finfo(x.dtype).epsneg
        message = self.right(x, np.maximum(u - step, 0))
        low = self.low(x)
        always = (u == 0) & (x != 0) & (np.abs(low.codes) < low.levels)
        return replace(message, codes=np.where(always, moved(low, x, 1).codes, message.codes))


class Unsigned(Broken):
    def broken(self, x, message, u):
        return replace(message, codes=np.abs(message.codes))


class UpBy(Broken):
    """Goes up with a wrong probability, from the lower level of the right compressor."""

    def probability(self, x, low):
        raise NotImplementedError

    def broken(self, x, message, u):
        low = self.low(x)
        up = (u < self.probability(x, low)) & (np.abs(low.codes) < low.levels)
        return moved(low, x, up)


def moved(message, x, steps):
    """`message` with magnitudes of codes raised."""
    return replace(message, codes=(message.codes + np.where(x < 0, -1, 1) * steps).astype(message.codes.dtype))


class OneUniform:
    """Every entry uses the same uniform; `compress_with` is right."""

    def compress(self, x, rng=None):
        message = super().compress(x, rng)
        return self.compress_with(x, np.full(len(x), rng.random(dtype=message.dtype), message.dtype))


class Pairs:
    """Neighbours share a uniform; `compress_with` is right."""

    def compress(self, x, rng=None):
        message = super().compress(x, rng)
        uniforms = np.repeat(rng.random(-(-len(x) // 2), dtype=message.dtype), 2)
        return self.compress_with(x, uniforms[: len(x)])


class Fixed:
    """Ignores its generator."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        return super().compress(x, np.random.default_rng(0))


@dataclass(frozen=True, eq=False)
class Mispriced(Coded):
    """A coded message that counts its size in a wrong way."""

    per_entry: int = 0
    once: int = 0

    @property
    def bits(self):
        return self.codes.size * self.per_entry + self.once


def priced(message, per_entry, once):
    return Mispriced(
        message.shape, message.dtype, message.codes, message.levels, message.norm, per_entry=per_entry, once=once
    )


def plain_levels(x, norm, levels, u, top=np.inf):
    """Signed levels of stochastic rounding to multiples of norm / levels, in float64, cut at `top`."""
    if norm == 0:
        return np.zeros(x.size)
    a = levels * (np.abs(x.astype(np.float64)) / float(norm))
    level = np.minimum(np.floor(a) + (u < a - np.floor(a)), top)
    return np.where(x < 0, -level, level)


def relevelled(x, message, u, norm, levels, top=np.inf):
    """`message` with codes from `plain_levels`."""
    codes = plain_levels(x, norm, levels, u, top)
    return replace(message, norm=norm, codes=codes.astype(np.int32))
