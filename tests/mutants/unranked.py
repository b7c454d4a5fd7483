"""Broken sparsifiers that do not rank entries, each by one defect."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from commbounds.compressors import AdaptiveSparsification, HardThreshold, Identity, RandK
from commbounds.compressors.base import index_bits
from mutants.record import native
from mutants.sending import sparse

# --- Rand-K -----------------------------------------------------------------------------------------------------------


class _Broken(RandK):
    """Draws Floyd's integers from the generator, and hands the right unscaled message to `broken`."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        tops = np.arange(len(x) - self.k, len(x))
        return self.compress_with(x, rng.integers(0, tops + 1))

    def compress_with(self, x, draws):
        super().compress_with(x, draws)
        message = RandK(self.k, scaled=False).compress_with(x, draws)
        gain = len(x) / self.k if self.scaled else 1.0
        return self.broken(native(x), message, np.asarray(draws), gain)


def _scaled(x, indices, gain):
    """The message with the entries of `x` at `indices`, multiplied by `gain`."""
    message = sparse(x, indices)
    return replace(message, values=(message.values * gain).astype(message.dtype))


class RandKUnscaled(_Broken):
    """The factor n/k is missing; the law lacks it too."""

    def broken(self, x, message, draws, gain):
        return message

    def law(self, x):
        return RandK(self.k, scaled=False).law(x)


class RandKInverseScale(_Broken):
    """Multiplies with k/n in place of n/k."""

    def broken(self, x, message, draws, gain):
        return _scaled(x, message.indices, 1 / gain)


class RandKOneFewer(_Broken):
    """Keeps k - 1 entries where k > 1, scaled for k."""

    def broken(self, x, message, draws, gain):
        return _scaled(x, message.indices[: max(1, self.k - 1)], gain)


class RandKReplacement(_Broken):
    """Draws with replacement: an entry drawn twice is sent once."""

    def broken(self, x, message, draws, gain):
        return _scaled(x, np.unique(draws), gain)


class RandKWithoutLast(_Broken):
    """Floyd's draws come from one too few: the last entry is kept only where another was drawn twice."""

    def broken(self, x, message, draws, gain):
        tops = np.arange(x.size - self.k, x.size)
        fewer = RandK(self.k, scaled=False).compress_with(x, np.maximum(np.minimum(draws, tops - 1), 0))
        return _scaled(x, fewer.indices, gain)


class RandKFixed(RandK):
    """Ignores its generator: always the same subset."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        return super().compress(x, np.random.default_rng(0))


class RandKWindow(RandK):
    """Keeps k neighbours from a random start, around the end: each entry with probability k/n, but never any subset."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        n = len(x)
        indices = np.sort((rng.integers(n) + np.arange(self.k)) % n)
        return _scaled(native(x), indices, n / self.k if self.scaled else 1.0)


class RandKModulo(RandK):
    """Reduces a few random bits modulo the number of choices: small indices are drawn more often."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        n = len(x)
        return self.compress_with(x, rng.integers(0, 8 * -(-n // 8), self.k) % (np.arange(n - self.k, n) + 1))


# --- hard threshold ---------------------------------------------------------------------------------------------------


def _reached(c, x, kept):
    indices = np.flatnonzero(kept)
    message = sparse(x, indices)
    return replace(message, position_bits=message.position_bits + index_bits(len(x) + 1))


class HardThresholdStrict(HardThreshold):
    """Keeps |x_i| > threshold, not >=."""

    def compress(self, x, rng=None):
        super().compress(x)
        return _reached(self, x, np.abs(x) > float(self.threshold))


class HardThresholdSigned(HardThreshold):
    """Compares values, not magnitudes."""

    def compress(self, x, rng=None):
        super().compress(x)
        return _reached(self, x, np.asarray(x) >= float(self.threshold))

    def law(self, x):
        return [(Fraction(1), tuple(Fraction(v) if v >= self.threshold else Fraction(0) for v in x))]


class HardThresholdSoft(HardThreshold):
    """Shrinks what it keeps by the threshold: soft thresholding."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        shrunk = message.values - np.sign(message.values) * message.dtype.type(float(self.threshold))
        return replace(message, values=shrunk.astype(message.dtype))


class HardThresholdRelative(HardThreshold):
    """Takes the threshold relative to the largest entry."""

    def compress(self, x, rng=None):
        super().compress(x)
        return _reached(self, x, np.abs(x) >= min(1.0, float(self.threshold)) * np.abs(x).max())


class HardThresholdUncounted(HardThreshold):
    """Does not send how many entries it keeps."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return replace(message, position_bits=message.position_bits - index_bits(len(x) + 1))


# --- one random entry, and all of them --------------------------------------------------------------------------------


class _Drawn(AdaptiveSparsification):
    def compress(self, x, rng=None):
        super().compress(x, rng)
        return self.compress_with(x, rng.random())


class AdaptiveSquares(_Drawn):
    """Draws entry i with probability x_i^2 / ||x||_2^2: the wrong norm."""

    def compress_with(self, x, u):
        original = super().compress_with(x, u)
        top = float(np.abs(x).max()) or 1.0
        chosen = super().compress_with((np.asarray(x, dtype=np.float64) / top) ** 2, u)
        return replace(original, indices=chosen.indices, values=native(x)[chosen.indices])


class AdaptiveUniform(_Drawn):
    """Draws every entry with the same probability."""

    def compress_with(self, x, u):
        original = super().compress_with(x, u)
        index = np.array([int(u * len(x))], np.int32)
        return replace(original, indices=index, values=native(x)[index])

    def law(self, x):
        zero = (Fraction(0),) * len(x)
        return [(Fraction(1, len(x)), (*zero[:i], Fraction(v), *zero[i + 1 :])) for i, v in enumerate(x)]


class AdaptiveScaled(_Drawn):
    """Sends the norm ||x||_1 with the entry's sign, as the unbiased variant does."""

    def compress_with(self, x, u):
        message = super().compress_with(x, u)
        with np.errstate(over="ignore"):
            values = (np.sign(message.values) * np.abs(np.asarray(x, np.float64)).sum()).astype(message.dtype)
        return replace(message, values=values)


class AdaptiveFixed(AdaptiveSparsification):
    """Ignores its generator."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        return super().compress(x, np.random.default_rng(0))


class AdaptiveUncounted(_Drawn):
    """Does not count the index."""

    def compress_with(self, x, u):
        return replace(super().compress_with(x, u), position_bits=0)


class IdentityHalf(Identity):
    """Sends half-precision values, and counts them so."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        with np.errstate(over="ignore"):
            return replace(message, values=message.values.astype(np.float16))

    def decompress(self, message):
        return message.values.astype(message.dtype)


class IdentityAlias(Identity):
    """Sends the input itself, not a copy."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return replace(message, values=x) if isinstance(x, np.ndarray) else message


class IdentityCounts64(Identity):
    """Counts 64 bits a value, whatever the dtype."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return replace(message, dtype=np.dtype(np.float64))


class IdentityFlushed(Identity):
    """Flushes subnormal values to zero."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        tiny = np.finfo(message.dtype).tiny
        return replace(message, values=np.where(np.abs(message.values) < tiny, 0, message.values).astype(message.dtype))
