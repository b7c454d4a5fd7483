"""What sparse all-reduces share: entries in coordinate form, and what they return."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import DTypeLike

from commbounds.array_types import Array, Integers, Mask
from commbounds.collectives.dense.on_rank import Block, gathered
from commbounds.collectives.ranks.communicator import Communicator, Parcel
from commbounds.compressors._largest import largest


class Entries(NamedTuple):
    """Entries of a vector in coordinate form: two words each.

    Parameters
    ----------
    indices : (e,) int64
        Ascending, unique.
    values : (e,) float32 or float64
        May be zero.
    """

    indices: Integers
    values: Array


def entries_from(comm: Communicator, source: int, sent: Parcel | Block, n: int, *dtypes: DTypeLike) -> Entries:
    """What `source` sent as entries of a vector of `n`; `dtypes` are those of values and, unless int64, of indices.

    Raises
    ------
    ValueError
        Another form, not as many indices as values, or an index out of range.
    """
    value, index = (*dtypes, np.int64)[:2]
    indices, values = comm.fitting(source, sent, (index, (None,)), (value, (None,)))
    if not comm.one_caller:
        low, high = np.minimum.reduce(indices, initial=n), np.maximum.reduce(indices, initial=-1)
        if indices.size != values.size or (indices.size and (low < 0 or high >= n)):
            got = f"{values.size} values and {indices.size} indices in [{low}, {high}]"
            raise ValueError(
                f"rank {comm.rank_of(source)} must send as many values as indices in [0, {n - 1}], got {got}"
            )
    return Entries(indices, values)


def sizes_of_all(comm: Communicator, size: int, allgather: str) -> Integers:
    """One number of every rank."""
    own = np.array([size], np.int64)
    all_sizes = gathered(comm, (own,), allgather, forms=lambda _: [own])
    return comm.shared(lambda: np.concatenate([sizes for (sizes,) in all_sizes]))


def gathered_entries(comm: Communicator, own: Block, n: int, allgather: str = "ring") -> list[Entries]:
    """Every rank's entries of a vector of `n`, in the order of the ranks, `own` among them."""
    blocks, kinds = gathered(comm, own, allgather), (own[1].dtype, own[0].dtype)
    return comm.shared(lambda: [entries_from(comm, rank, block, n, *kinds) for rank, block in enumerate(blocks)])


@dataclass(frozen=True, eq=False)
class SparseResult:
    """What a sparse all-reduce leaves on the ranks.

    Parameters
    ----------
    update : (n,) dtype of the stack
        The sum (not the mean) that every rank holds afterwards.
    residual : (P, n) dtype of the stack
        What every rank keeps for the next iteration: its vector less what of it went into the update.
    selected : tuple of (k_p,) int64
        For every rank the indices that it chose from its own vector, ascending.
    """

    update: Array
    residual: Array
    selected: tuple[Integers, ...]


@dataclass(frozen=True, eq=False)
class SparseRankResult:
    """What a sparse all-reduce leaves on one rank: its part of a `SparseResult`.

    Parameters
    ----------
    update : (n,) dtype of the vector
        The sum (not the mean), in the same bits on all ranks.
    residual : (n,) dtype of the vector
        What the rank keeps for the next iteration.
    selected : (k_p,) int64
        The indices that it chose from its own vector, ascending.
    """

    update: Array
    residual: Array
    selected: Integers


def of_all_ranks(results: Sequence[SparseRankResult]) -> SparseResult:
    """What all ranks end with, of what each does."""
    return SparseResult(
        results[0].update,
        np.stack([result.residual for result in results]),
        tuple(result.selected for result in results),
    )


@njit(cache=True, nogil=True)
def _add(ia, va, ib, vb, indices, values):  # type: ignore[no-untyped-def]
    # merge two ascending lists, adding b's value to a's where an index is in both; returns the number of entries
    i, j, count = 0, 0, 0
    while i < ia.size or j < ib.size:
        if j == ib.size or (i < ia.size and ia[i] < ib[j]):
            indices[count], values[count] = ia[i], va[i]
            i += 1
        elif i == ia.size or ib[j] < ia[i]:
            indices[count], values[count] = ib[j], vb[j]
            j += 1
        else:
            indices[count], values[count] = ia[i], va[i] + vb[j]
            i += 1
            j += 1
        count += 1
    return count


def added(a: Entries, b: Entries) -> Entries:
    """The sum of two sparse vectors; an entry that cancels stays, as a zero."""
    indices = np.empty(a.indices.size + b.indices.size, np.int64)
    values = np.empty(indices.size, a.values.dtype)
    count = _add(a.indices, a.values, b.indices, b.values, indices, values)
    return Entries(indices[:count], values[:count])


def largest_marked(values: Array, k: int) -> Mask:
    """Which of the values are the `k` largest in magnitude (all, where there are fewer).

    Of equal ones the first are. NaN, of sums that overflow, is as large as infinity.
    """
    if not 0 < k < values.size:
        return np.full(values.size, k > 0)
    magnitudes = np.abs(values)
    magnitudes[np.isnan(magnitudes)] = np.inf
    level = np.partition(magnitudes, values.size - k)[values.size - k]
    marked: Mask = magnitudes > level
    marked[np.flatnonzero(magnitudes == level)[: k - np.count_nonzero(marked)]] = True
    return marked


def strongest(entries: Entries, k: int) -> tuple[Entries, Entries]:
    """The `k` entries largest in magnitude (all, where there are fewer), and the rest; ties go to the lowest index."""
    kept = largest_marked(entries.values, k)
    return Entries(entries.indices[kept], entries.values[kept]), Entries(entries.indices[~kept], entries.values[~kept])


def selected_entries(stack: Array, k: int) -> list[Entries]:
    """For every rank the `k` entries of its vector largest in magnitude, as `TopK` chooses them: exactly `k`.

    Ties go to the lowest index; where a vector has fewer than `k` nonzeros, zeros fill up, lowest index first.
    """
    chosen = (largest(x, k) for x in stack)
    return [Entries(indices.astype(np.int64), values) for indices, values in chosen]


def cut_up(entries: Entries, cuts: Integers) -> list[Entries]:
    """The entries of every block from ``cuts[r]`` to ``cuts[r + 1]``."""
    places = np.searchsorted(entries.indices, cuts)
    return [Entries(entries.indices[a:b], entries.values[a:b]) for a, b in pairwise(places)]


def dense_sum(parts: Iterable[Entries], n: int, dtype: np.dtype[Any]) -> Array:
    """The sum of sparse vectors as a dense one of `n` entries, added in their order."""
    total = np.zeros(n, dtype)
    for indices, values in parts:
        total[indices] += values
    return total


def dense_vector(parts: Iterable[Entries], n: int, dtype: np.dtype[Any]) -> Array:
    """Sparse vectors that have no index in common, as one dense vector of `n` entries."""
    total = np.zeros(n, dtype)
    for indices, values in parts:
        total[indices] = values
    return total


def without(row: Array, entries: Entries) -> Array:
    """The vector less what was chosen from it."""
    residual = row.copy()
    residual[entries.indices] = 0
    return residual


def left_over(stack: Array, held: Array, indices: Integers) -> Array:
    """The residuals: what every rank still holds at the indices of the update, and its whole entry elsewhere.

    Parameters
    ----------
    stack : (P, n) array
        The ranks' vectors.
    held : (P, n) array
        What each rank never sent, or received and dropped.
    indices : (e,) int64
        Indices of the update.
    """
    residual = stack.copy()
    residual[:, indices] = held[:, indices]
    return residual
