"""Broken Top-K compressors, whole, by blocks and by chunks, each by one defect."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from commbounds.compressors import BlockTopK, ChunkTopK, TopK
from commbounds.compressors.base import index_bits
from mutants.record import native
from mutants.sending import largest, sparse

# --- Top-K ------------------------------------------------------------------------------------------------------------


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
        return sparse(x, largest(x, self.k))


class TopKLastTie(TopK):
    """Ties go to the highest index."""

    def compress(self, x, rng=None):
        super().compress(x)
        message = super().compress(np.asarray(x)[::-1])
        return sparse(x, len(x) - 1 - message.indices[::-1])


class TopKAllTies(TopK):
    """Keeps every entry that ties with the k-th largest: >= a threshold in place of a count."""

    def compress(self, x, rng=None):
        kept = np.abs(super().compress(x).values)
        return sparse(x, np.flatnonzero(np.abs(x) >= kept.min()))


class TopKWideIndices(TopK):
    """Counts indices at 32 bits, whatever n."""

    def compress(self, x, rng=None):
        return replace(super().compress(x), position_bits=32 * self.k)


class TopKOneMore(TopK):
    """Sends one entry more than it counts."""

    def compress(self, x, rng=None):
        kept = super().compress(x)
        more = replace(self, k=min(self.k + 1, len(x)))
        return replace(TopK.compress(more, x), position_bits=kept.bits - more.k * 8 * kept.dtype.itemsize)


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
        return sparse(x, known[1])


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
        return sparse(x, indices)

    def decompress(self, message):
        return message.dense()  # without a look at the message


# --- Top-K by blocks and by chunks ------------------------------------------------------------------------------------


class _RankedBlocks(BlockTopK):
    def _score(self, part):
        raise NotImplementedError

    def compress(self, x, rng=None):
        message = super().compress(x)
        array = native(x)
        starts = range(0, array.size, self.block)
        top = float(np.abs(array).max()) or 1.0
        scores = np.array([self._score(np.abs(array[i : i + self.block].astype(np.float64)) / top) for i in starts])
        kept = largest(scores, self.k)
        indices = (kept[:, None] * self.block + np.arange(self.block)).ravel()
        chosen = sparse(array, indices[indices < array.size])
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
        kept = [p[0] + largest(np.abs(np.asarray(x)[p[0] : p[-1] + 1]), self.k) for p in parts]
        return sparse(x, np.concatenate(kept), index_bits(self.chunk))


class ChunkTopKGlobal(ChunkTopK):
    """Spends the chunks' budget on the largest entries of the whole vector."""

    def compress(self, x, rng=None):
        entries = super().compress(x).indices.size
        return sparse(x, largest(np.abs(x), entries), index_bits(self.chunk))


class ChunkTopKWideIndices(ChunkTopK):
    """Counts positions in the whole vector, not in the chunk."""

    def compress(self, x, rng=None):
        message = super().compress(x)
        return replace(message, position_bits=message.indices.size * index_bits(len(x)))
