"""Top-K over groups of neighbouring entries: whole blocks, or some entries of every chunk."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.compressors._blocks import BLOCK, for_blocks
from commbounds.compressors._largest import largest
from commbounds.compressors._magnitude import finite_largest, magnitude_bits, power_near_inverse
from commbounds.compressors.base import MAX_ENTRIES, Law, checked_array, checked_count, checked_exact, index_bits
from commbounds.compressors.sparsifiers.message import Sparse, Sparsifier
from commbounds.compressors.sparsifiers.topk import largest_exact


@njit(cache=True, nogil=True)
def _square_norms(x, scale, block, out):  # type: ignore[no-untyped-def]
    # squared norm of every block of scale * x, entries added in order
    for b in range(out.size):
        part = x[b * block : (b + 1) * block]
        total = 0.0
        for i in range(part.size):
            value = np.float64(part[i]) * scale
            total += value * value
        out[b] = total


@njit(cache=True, nogil=True)
def _chunk_largest(bits, mask, width, k, chunk, base, indices):  # type: ignore[no-untyped-def]
    # the k largest keys (patterns without sign, of `width` bits) of every chunk; bits[0] has index base
    count = 0
    for start in range(0, bits.size, chunk):
        part = bits[start : start + chunk]
        keep = min(k, part.size)
        # the highest level that `keep` keys reach, bit by bit from the top; any that just these reach is as good
        level = bits.dtype.type(0)
        for b in range(width - 1, -1, -1):
            trial = bits.dtype.type(level | np.uint64(1) << np.uint64(b))
            reached = 0
            for i in range(part.size):
                reached += bits.dtype.type(part[i] & mask) >= trial
            if reached >= keep:
                level = trial
            if reached == keep:
                break
        ties = keep
        for i in range(part.size):
            ties -= bits.dtype.type(part[i] & mask) > level
        stop = count + keep
        i = 0
        while count < stop:
            key = part[i] & mask
            indices[count] = base + start + i
            count += (key > level) | ((key == level) & (ties > 0))
            ties -= key == level
            i += 1


@dataclass(frozen=True)
class BlockTopK(Sparsifier):
    """The k blocks of largest l2 norm, the other blocks zero.

    The n entries are cut into B = ceil(n / block) consecutive blocks, of which the last may be short.

    Parameters
    ----------
    k : int
        Blocks kept; 1 <= k <= B.
    block : int
        Entries per block; in [1, 2^31 - 1].

    Notes
    -----
    Exactly `k` blocks are sent; ties go to the lowest index. ||C(x) - x||^2 <= (1 - k/B) ||x||^2 surely; equality iff
    all block norms are equal (or k = B). Squared norms are summed in float64, in order, after a scaling by a power of
    two that brings the largest entry near 1. So blocks whose norms differ by rounding only may be taken in the
    wrong order, and entries below 1e-154 of the largest count as zero in the norms.

    Examples
    --------
    >>> import numpy as np
    >>> BlockTopK(1, block=2)(np.array([3.0, 0.0, 2.0, 2.0, 3.5]))
    array([0. , 0. , 0. , 0. , 3.5])
    """

    k: int
    block: int
    claims = (
        "sparsifiers.blocktopk.contraction",
        "sparsifiers.blocktopk.wire",
        "sparsifiers.blocktopk.sign_symmetry",
        "sparsifiers.blocktopk.scale_equivariance",
        "sparsifiers.blocktopk.idempotence",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_count("k", self.k))
        object.__setattr__(self, "block", checked_count("block", self.block, 1, MAX_ENTRIES))

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Sparse:
        """The k blocks of `x` of largest norm.

        Parameters
        ----------
        x : (n,) float32 or float64
            Finite; ceil(n / block) >= k.
        rng : None
            Ignored.

        Returns
        -------
        Sparse
            All entries of the k blocks; k ceil(log2 B) bits for the blocks' numbers, and the values.

        Raises
        ------
        TypeError
            `x` is neither float32 nor float64.
        ValueError
            `x` is not a vector, empty, not finite, or has fewer than k blocks.
        """
        array = checked_array(x, finite=False)
        blocks = -(-array.size // self.block)
        k = checked_count("k", self.k, 1, blocks)
        scale = power_near_inverse(finite_largest(array))
        squares = np.empty(blocks)

        def work(start: int, stop: int) -> None:
            _square_norms(array[start:stop], scale, self.block, squares[start // self.block : -(-stop // self.block)])

        for_blocks(array.size, work, self.block * -(-BLOCK // self.block))
        kept, _ = largest(squares, k)
        indices = (kept.astype(np.int64)[:, None] * self.block + np.arange(min(self.block, array.size))).ravel()
        indices = indices[indices < array.size].astype(np.int32)
        return Sparse(array.shape, array.dtype, indices, array[indices], k * index_bits(blocks))

    def law(self, x: Sequence[Any]) -> Law:
        """The output, with probability one."""
        exact = checked_exact(x)
        squares = [
            sum((v * v for v in exact[i : i + self.block]), Fraction(0)) for i in range(0, len(exact), self.block)
        ]
        kept = set(largest_exact(squares, checked_count("k", self.k, 1, len(squares))))
        return [(Fraction(1), tuple(v if i // self.block in kept else Fraction(0) for i, v in enumerate(exact)))]


@dataclass(frozen=True)
class ChunkTopK(Sparsifier):
    """The k entries of largest magnitude in every chunk, the others zero.

    The n entries are cut into ceil(n / chunk) consecutive chunks; a short last one keeps min(k, its length) entries.

    Parameters
    ----------
    k : int
        Entries kept per chunk; 1 <= k <= chunk.
    chunk : int
        Entries per chunk; >= 1.

    Notes
    -----
    Ties go to the lowest index. ||C(x) - x||^2 <= max(0, 1 - k/min(chunk, n)) ||x||^2 surely; attained by equal
    magnitudes in the full chunks and zeros in a short last one.

    Examples
    --------
    >>> import numpy as np
    >>> ChunkTopK(1, chunk=2)(np.array([3.0, 1.0, 2.0, -2.5, 0.5]))
    array([ 3. ,  0. ,  0. , -2.5,  0.5])
    """

    k: int
    chunk: int
    claims = (
        "sparsifiers.chunktopk.contraction",
        "sparsifiers.chunktopk.wire",
        "sparsifiers.chunktopk.sign_symmetry",
        "sparsifiers.chunktopk.scale_equivariance",
        "sparsifiers.chunktopk.idempotence",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "chunk", checked_count("chunk", self.chunk, 1, MAX_ENTRIES))
        object.__setattr__(self, "k", checked_count("k", self.k, 1, self.chunk))

    def compress(self, x: ArrayLike, rng: np.random.Generator | None = None) -> Sparse:
        """The k largest entries of every chunk of `x`.

        Parameters
        ----------
        x : (n,) float32 or float64
            Finite.
        rng : None
            Ignored.

        Returns
        -------
        Sparse
            ceil(log2 chunk) + bits of a value for every entry kept.

        Raises
        ------
        TypeError
            `x` is neither float32 nor float64.
        ValueError
            `x` is not a vector, empty, or not finite.
        """
        array = checked_array(x, finite=False)
        chunks, rest = divmod(array.size, self.chunk)
        indices = np.empty(chunks * self.k + min(self.k, rest), np.int32)
        bits, mask = magnitude_bits(array)
        width = 8 * array.itemsize - 1

        def work(start: int, stop: int) -> None:
            out = indices[start // self.chunk * self.k :]
            _chunk_largest(bits[start:stop], mask, width, self.k, self.chunk, start, out)

        for_blocks(array.size, work, self.chunk * -(-BLOCK // self.chunk))
        values = array[indices]
        finite_largest(values)  # NaN and the infinities have the largest keys: if there are any, one is among these
        return Sparse(array.shape, array.dtype, indices, values, indices.size * index_bits(self.chunk))

    def law(self, x: Sequence[Any]) -> Law:
        """The output, with probability one."""
        exact = checked_exact(x)
        output: list[Fraction] = []
        for start in range(0, len(exact), self.chunk):
            part = exact[start : start + self.chunk]
            kept = set(largest_exact(part, min(self.k, len(part))))
            output += [v if i in kept else Fraction(0) for i, v in enumerate(part)]
        return [(Fraction(1), tuple(output))]
