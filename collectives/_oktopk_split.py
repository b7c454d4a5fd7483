"""Split and reduce: every selected entry goes to the owner of its region, who adds."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numba import get_num_threads, njit
from numpy.typing import NDArray

from commbounds.collectives._threshold_filter import Passing
from commbounds.collectives.traffic import Traffic
from commbounds.compressors._blocks import run_all

__all__ = ["chosen_of", "split_and_reduce", "split_traffic"]


@njit(cache=True, nogil=True)
def _cut(indices, counts, boundaries, cuts):  # type: ignore[no-untyped-def]
    # cuts[p, r]: how many of rank p's indices are below boundary r, by bisection
    for p in range(cuts.shape[0]):
        start = np.int64(0)
        for r in range(cuts.shape[1]):
            low, high = start, counts[p]
            while low < high:
                middle = (low + high) // 2
                if indices[p, middle] < boundaries[r]:
                    low = middle + 1
                else:
                    high = middle
            cuts[p, r] = low
            start = low


@njit(cache=True, nogil=True)
def _reduce(indices, values, cuts, boundaries, first, last, sums, nonzero):  # type: ignore[no-untyped-def]
    # regions first .. last - 1: the messages to their owners are added in rank order, the owner's own among them
    for r in range(first, last):
        for p in range(cuts.shape[0]):
            for j in range(cuts[p, r], cuts[p, r + 1]):
                sums[indices[p, j]] += values[p, j]
        count = 0
        for value in sums[boundaries[r] : boundaries[r + 1]]:
            count += value != 0
        nonzero[r] = count


@njit(cache=True, nogil=True)
def _send(cuts, rotation, bucket, sent, received, messages):  # type: ignore[no-untyped-def]
    # every slice cuts[p, r] .. cuts[p, r + 1] is a message of rank p to rank r, two words an entry
    P = cuts.shape[0]
    for round_ in range(P):
        for p in range(P):
            target = (p + round_ + 1) % P if rotation else round_
            if target != p:
                words = 2 * (cuts[p, target + 1] - cuts[p, target])
                sent[round_ // bucket, p] += words
                received[round_ // bucket, target] += words
                messages[round_ // bucket, p] += 1


@njit(cache=True, nogil=True)
def _among(indices, size, update, chosen):  # type: ignore[no-untyped-def]
    # the indices at which the update is not zero, in their order; returns their number
    count = 0
    for j in range(size):
        chosen[count] = indices[j]
        count += update[indices[j]] != 0
    return count


@njit(cache=True, nogil=True)
def _among_rows(indices, counts, update, first, last, chosen, sizes):  # type: ignore[no-untyped-def]
    for p in range(first, last):
        sizes[p] = _among(indices[p], counts[p], update, chosen[p])


def _shares(count: int) -> list[tuple[int, int]]:
    """`count` things in order, one range of them for every thread."""
    threads = min(count, get_num_threads())
    return [(count * t // threads, count * (t + 1) // threads) for t in range(threads)]


def split_traffic(cuts: NDArray[np.int64], rotation: bool, bucket: int) -> Traffic:
    """The traffic of the split.

    Parameters
    ----------
    cuts : (P, P + 1) int64
        Rank p sends its entries ``cuts[p, r] .. cuts[p, r + 1] - 1`` to rank r.
    rotation : bool
        Whether rank p sends to rank p + s in round s = 1 .. P - 1; else all send to rank s in round s = 0 .. P - 1.
    bucket : int
        Rounds in flight together, which make a step.
    """
    P = len(cuts)
    rounds = 0 if P == 1 else P - 1 if rotation else P
    counts: Any = np.zeros((3, -(-P // bucket), P), np.int64)
    _send(cuts, rotation, bucket, counts[0], counts[1], counts[2])
    return Traffic.of_steps(*counts[:, : -(-rounds // bucket)])


def split_and_reduce(
    chosen: Passing, boundaries: NDArray[np.int64], rotation: bool, bucket: int
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64], Traffic]:
    """The sum of the ranks' selected entries, region by region at its owner.

    Returns
    -------
    sums : (n,) dtype of the values
        Added in rank order from zero.
    region_counts : (P, P) int64
        Entries of rank p in region r.
    nonzero : (P,) int64
        Sums in every region that are not zero.
    traffic : Traffic
        Of the split.
    """
    P = len(chosen.counts)
    cuts = np.empty((P, P + 1), np.int64)
    _cut(chosen.indices, chosen.counts, boundaries, cuts)
    sums, nonzero = np.zeros(boundaries[-1], chosen.values.dtype), np.zeros(P, np.int64)
    jobs = [
        partial(_reduce, chosen.indices, chosen.values, cuts, boundaries, first, last, sums, nonzero)
        for first, last in _shares(P)
    ]
    run_all(jobs, int(chosen.counts.sum()))
    return sums, np.diff(cuts, axis=1), nonzero, split_traffic(cuts, rotation, bucket)


def chosen_of(chosen: Passing, update: NDArray[Any]) -> tuple[NDArray[np.int64], ...]:
    """For every rank the indices that it selected and at which the update is not zero, ascending."""
    P = len(chosen.counts)
    kept, sizes = np.empty_like(chosen.indices), np.zeros(P, np.int64)
    jobs = [
        partial(_among_rows, chosen.indices, chosen.counts, update, first, last, kept, sizes)
        for first, last in _shares(P)
    ]
    run_all(jobs, int(chosen.counts.sum()))
    return tuple(row[:size].copy() for row, size in zip(kept, sizes, strict=True))
