"""Broken sparsifiers, each by one defect."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from commbounds.compressors import (
    AdaptiveSparsification,
    BlockTopK,
    ChunkTopK,
    HardThreshold,
    Identity,
    RandK,
    Sparse,
    TopK,
)
from commbounds.compressors.base import index_bits

# --- Top-K -----------------------------------------------------------------------------------------------------------


def _sparse(x, indices, bits_each=None):
    """The message with the entries of `x` at `indices`."""
    array, indices = native(x), np.asarray(indices, dtype=np.int32)
    position_bits = len(indices) * (index_bits(array.size) if bits_each is None else bits_each)
    return Sparse(array.shape, array.dtype, indices, array[indices], position_bits)


def native(x):
    """`x` in the machine's byte order."""
    array = np.asarray(x)
    return array.astype(array.dtype.newbyteorder("="))


def _largest(x, k):
    """Ascending indices of the k largest of `x`, ties to the lowest."""
    return np.sort(np.argsort(-np.asarray(x, dtype=np.float64), kind="stable")[:k])


class TopKOneFewer(TopK):
    """Keeps k - 1 entries where k > 1: off by one."""

    def compress(self, x, rng=None):
        super().compress(x)
        return TopK(max(1, self.k - 1)).compress(x)

    def law(self, x):
        return TopK(max(1, self.k - 1)).law(x)


class TopKSigned(TopK):
    """Compares values, not magnitudes."""

    def compress(self, x, rng=None):
        super().compress(x)
        return _sparse(x, _largest(x, self.k))


class TopKLastTie(TopK):
    """Ties go to the highest index."""

    def compress(self, x, rng=None):
        super().compress(x)
        message = super().compress(np.asarray(x)[::-1])
        return _sparse(x, len(x) - 1 - message.indices[::-1])


class TopKAllTies(TopK):
    """Keeps every entry that ties with the k-th largest: >= a threshold in place of a count."""

    def compress(self, x, rng=None):
        kept = np.abs(super().compress(x).values)
        return _sparse(x, np.flatnonzero(np.abs(x) >= kept.min()))


class TopKWideIndices(TopK):
    """Counts indices at 32 bits, whatever n."""

    def compress(self, x, rng=None):
        return replace(super().compress(x), position_bits=32 * self.k)


class TopKUnsigned(TopK):
    """Sends magnitudes: the signs are dropped."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return replace(message, values=np.abs(message.values))


class TopKSignLast(TopK):
    """Keeps the last of the k entries with the sign turned."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        values = message.values.copy()
        values[-1] = -values[-1]
        return replace(message, values=values)


class TopKStale(TopK):
    """Keeps the support of its first call for as long as n stays the same."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        known = self.__dict__.get("_support")
        if known is None or known[0] != len(x):
            object.__setattr__(self, "_support", (len(x), message.indices))
            return message
        return _sparse(x, known[1])


class TopKDestructive(TopK):
    """Zeroes in its input what it does not send."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        if isinstance(x, np.ndarray) and x.flags.writeable:
            x[...] = message.dense()
        return message


class TopKByMagnitude(TopK):
    """Sends its entries largest first: indices are not ascending."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        order = np.argsort(-np.abs(message.values), kind="stable")
        return replace(message, indices=message.indices[order], values=message.values[order])


class TopKDuplicate(TopK):
    """Sends the first of its entries twice, in place of the second."""

    def compress(self, x, rng=None):
        indices = super().compress(x).indices.copy()
        indices[1:2] = indices[0]
        return _sparse(x, indices)


# --- Rand-K ----------------------------------------------------------------------------------------------------------


class RandKUnscaled(RandK):
    """The factor n/k is missing."""

    def _message(self, array, k, chosen):
        return RandK(self.k, scaled=False)._message(array, k, chosen)

    def law(self, x):
        return RandK(self.k, scaled=False).law(x)


class RandKInverseScale(RandK):
    """Multiplies with k/n in place of n/k."""

    def _message(self, array, k, chosen):
        message = RandK(self.k, scaled=False)._message(array, k, chosen)
        scale = k / array.size if self.scaled else 1.0
        return replace(message, values=(message.values * scale).astype(array.dtype))


class RandKOneFewer(RandK):
    """Keeps k - 1 entries where k > 1, scaled for k."""

    def _message(self, array, k, chosen):
        message = super()._message(array, k, chosen)
        keep = max(1, k - 1)
        return _cut(message, message.indices[:keep], message.values[:keep])


def _cut(message, indices, values):
    return replace(message, indices=indices, values=values, position_bits=len(indices) * index_bits(message.shape[0]))


class RandKReplacement(RandK):
    """Draws with replacement: an entry drawn twice is sent once."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        n = len(x)
        return self.compress_with(x, np.array([rng.integers(0, n - self.k + j + 1) for j in range(self.k)]))

    def compress_with(self, x, draws):
        full = super().compress_with(x, draws)
        scale = full.shape[0] / self.k if self.scaled else 1.0
        indices = np.unique(draws).astype(np.int32)
        return _cut(full, indices, (native(x)[indices] * scale).astype(full.dtype))


class RandKWithoutLast(RandK):
    """Floyd's draws from one too few: the last entry is kept only where another was drawn twice."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        n = len(x)
        return self.compress_with(x, np.array([rng.integers(0, n - self.k + j + 1) for j in range(self.k)]))

    def compress_with(self, x, draws):
        top = np.arange(len(x) - self.k, len(x)) - 1
        return super().compress_with(x, np.maximum(np.minimum(draws, top), 0))


class RandKFixed(RandK):
    """Ignores its generator: always the same subset."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        return super().compress(x, np.random.default_rng(0))


class RandKWindow(RandK):
    """Keeps k neighbours from a random start, around the end: each entry with probability k/n, but never any subset."""

    def compress(self, x, rng=None):
        full = super().compress(x, rng)
        n = len(x)
        indices = np.sort((rng.integers(n) + np.arange(self.k)) % n).astype(np.int32)
        scale = n / self.k if self.scaled else 1.0
        return replace(full, indices=indices, values=(native(x)[indices] * scale).astype(full.dtype))


class RandKModulo(RandK):
    """Reduces 3 random bits modulo n: small indices are drawn more often."""

    def compress(self, x, rng=None):
        super().compress(x, rng)
        n = len(x)
        sizes = np.arange(n - self.k, n) + 1
        return self.compress_with(x, rng.integers(0, 8 * -(-n // 8), self.k) % sizes)


# --- Top-K by blocks and by chunks --------------------------------------------------------------------------------------


class _RankedBlocks(BlockTopK):
    def _score(self, part):
        raise NotImplementedError

    def compress(self, x, rng=None):
        message = super().compress(x)
        array = native(x)
        starts = range(0, array.size, self.block)
        top = float(np.abs(array).max()) or 1.0
        scores = np.array([self._score(np.abs(array[i : i + self.block].astype(np.float64)) / top) for i in starts])
        kept = _largest(scores, self.k)
        indices = (kept[:, None] * self.block + np.arange(self.block)).ravel()
        chosen = _sparse(array, indices[indices < array.size])
        return replace(chosen, position_bits=message.position_bits)


class BlockTopKNorm1(_RankedBlocks):
    """Ranks blocks by their l1 norm."""

    def _score(self, part):
        return part.sum()


class BlockTopKMax(_RankedBlocks):
    """Ranks blocks by their largest entry."""

    def _score(self, part):
        return part.max()


class BlockTopKMean(_RankedBlocks):
    """Ranks blocks by their mean square, which favours a short one."""

    def _score(self, part):
        return (part**2).mean()


class BlockTopKWithoutLast(_RankedBlocks):
    """Never keeps a short last block unless it must."""

    def _score(self, part):
        return (part**2).sum() if part.size == self.block else 0.0

    def law(self, x):
        n = len(x)
        if n % self.block == 0:
            return super().law(x)
        whole = list(x[: n - n % self.block]) + [0] * (n % self.block)
        kept = [bool(v) for v in super().law(whole)[0][1]]
        return [(Fraction(1), tuple(v if keep else Fraction(0) for v, keep in zip(x, kept, strict=True)))]


class BlockTopKFloorBits(BlockTopK):
    """Counts the blocks' numbers for floor(n/block) blocks."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return replace(message, position_bits=self.k * index_bits(max(1, len(x) // self.block)))


class ChunkTopKWithoutLast(ChunkTopK):
    """Ignores the short last chunk."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        whole = len(x) - len(x) % self.chunk
        kept = message.indices < whole
        cut = replace(message, indices=message.indices[kept], values=message.values[kept])
        return replace(cut, position_bits=len(cut.indices) * index_bits(self.chunk))

    def law(self, x):
        whole = len(x) - len(x) % self.chunk
        return [(p, tuple(v if i < whole else Fraction(0) for i, v in enumerate(y))) for p, y in super().law(x)]


class ChunkTopKShifted(ChunkTopK):
    """Starts the second chunk one entry late: boundary off by one."""

    def compress(self, x, rng=None):
        super().compress(x)
        starts = [0, *range(self.chunk + 1, len(x), self.chunk)]
        parts = [range(a, b) for a, b in zip(starts, [*starts[1:], len(x)], strict=True)]
        kept = [p[0] + _largest(np.abs(np.asarray(x)[p[0] : p[-1] + 1]), self.k) for p in parts]
        return _sparse(x, np.concatenate(kept), index_bits(self.chunk))


class ChunkTopKGlobal(ChunkTopK):
    """Spends the chunks' budget on the largest entries of the whole vector."""

    def compress(self, x, rng=None):
        entries = super().compress(x).indices.size
        return _sparse(x, _largest(np.abs(x), entries), index_bits(self.chunk))


class ChunkTopKWideIndices(ChunkTopK):
    """Counts positions in the whole vector, not in the chunk."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return replace(message, position_bits=message.indices.size * index_bits(len(x)))


# --- hard threshold -------------------------------------------------------------------------------------------------------


def _reached(c, x, kept):
    indices = np.flatnonzero(kept)
    message = _sparse(x, indices)
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


# --- one random entry, and all of them ----------------------------------------------------------------------------------


class AdaptiveSquares(AdaptiveSparsification):
    """Draws entry i with probability x_i^2 / ||x||_2^2: the wrong norm."""

    def compress_with(self, x, u):
        original = super().compress_with(x, u)
        top = float(np.abs(x).max()) or 1.0
        chosen = super().compress_with((np.asarray(x, dtype=np.float64) / top) ** 2, u)
        return replace(original, indices=chosen.indices, values=native(x)[chosen.indices])


class AdaptiveUniform(AdaptiveSparsification):
    """Draws every entry with the same probability."""

    def compress_with(self, x, u):
        original = super().compress_with(x, u)
        index = np.array([int(u * len(x))], np.int32)
        return replace(original, indices=index, values=native(x)[index])

    def law(self, x):
        zero = (Fraction(0),) * len(x)
        return [(Fraction(1, len(x)), (*zero[:i], Fraction(v), *zero[i + 1 :])) for i, v in enumerate(x)]


class AdaptiveScaled(AdaptiveSparsification):
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
        return self.compress_with(x, 0.5)


class AdaptiveUncounted(AdaptiveSparsification):
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
