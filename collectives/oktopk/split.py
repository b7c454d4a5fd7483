"""Split and reduce: every selected entry goes to the owner of its region, who adds."""

from functools import partial

import numpy as np
from numba import njit

from commbounds.array_types import Array, Integers
from commbounds.collectives.oktopk.threshold_filter import Passing
from commbounds.collectives.traffic import Traffic
from commbounds.compressors._blocks import run_all, spans
from commbounds.compressors._magnitude import magnitude_bits
from commbounds.compressors.base import is_finite

_WINDOW = 1 << 14
"""Entries of the vector, at most, whose sums are made before the next ones: so they stay in the cache."""
_ONE, _TWO, _THREE, _FOUR = (np.uint64(i) for i in range(1, 5))  # unsigned: no look at whether an index is negative


@njit(cache=True, nogil=True)
def _below(indices, boundary):  # type: ignore[no-untyped-def]
    # how many of the ascending indices are below the boundary
    low, high = 0, indices.size
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < boundary:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _add(row, values, place, end, window, base):  # type: ignore[no-untyped-def]
    # a rank's entries from `place` on, up to the first whose index is `end` or more, whose place is returned; the
    # window begins at index `base`. Indices ascend: where the fourth is below the end, so are the three before it
    j, size = np.uint64(place), np.uint64(row.size)
    while j + _FOUR <= size and row[j + _THREE] < end:
        window[np.uint64(row[j] - base)] += values[j]
        window[np.uint64(row[j + _ONE] - base)] += values[j + _ONE]
        window[np.uint64(row[j + _TWO] - base)] += values[j + _TWO]
        window[np.uint64(row[j + _THREE] - base)] += values[j + _THREE]
        j += _FOUR
    while j < size and row[j] < end:
        window[np.uint64(row[j] - base)] += values[j]
        j += _ONE
    return np.int64(j)


@njit(cache=True, nogil=True)
def _emptied(window, mask, out):  # type: ignore[no-untyped-def]
    # the window's patterns are written out and zeroed; how many are not zero, and the largest magnitude's
    count, largest = out.dtype.type(0), out.dtype.type(0)
    for i in range(out.size):
        key = out.dtype.type(window[i] & mask)
        out[i] = window[i]
        window[i] = 0
        count += out.dtype.type(key != 0)
        largest = max(largest, key)
    return np.int64(count), largest


@njit(cache=True, nogil=True)
def _reduce(indices, values, counts, boundaries, first, last, cuts, window, patterns, mask, sums, nonzero, largest):  # type: ignore[no-untyped-def]
    # regions first .. last - 1, as many at a time as the window holds, or a part of one: every rank's messages to their
    # owners, its entries cuts[p, r] up to cuts[p, r + 1], are added in the window, a vector of zeros with the bits
    # `patterns`. So every sum is made in rank order, the owner's own entry in its turn.
    places = np.empty(counts.size, np.int64)
    start, region = boundaries[first], first
    for p in range(counts.size):
        places[p] = _below(indices[p, : counts[p]], start)
        cuts[p, first] = places[p]
    while region < last:
        stop, whole = start, region
        while whole < last and boundaries[whole + 1] - start <= window.size:
            whole += 1
            stop = boundaries[whole]
        if whole == region:
            stop = start + window.size
        for p in range(counts.size):
            row = indices[p, : counts[p]]
            for r in range(region, whole):
                places[p] = _add(row, values[p], places[p], boundaries[r + 1], window, start)
                cuts[p, r + 1] = places[p]
            if whole == region:
                places[p] = _add(row, values[p], places[p], stop, window, start)
        for r in range(region, max(whole, region + 1)):
            lo, hi = max(start, boundaries[r]), min(stop, boundaries[r + 1])
            count, most = _emptied(patterns[lo - start : hi - start], mask, sums[lo:hi])
            nonzero[r] += count
            largest[r] = max(largest[r], most)
        start, region = stop, whole


@njit(cache=True, nogil=True)
def _send(cuts, rounds, rotation, bucket, counts):  # type: ignore[no-untyped-def]
    # every slice cuts[p, r] .. cuts[p, r + 1] is a message of rank p to rank r, two words an entry; counts: words sent,
    # words received, messages, and of the step that a bucket of rounds makes, words sent and received. Returns the sum
    # over the steps of the busiest rank's words
    P, path = cuts.shape[0], 0
    sent, received, messages, step = counts[0], counts[1], counts[2], counts[3:]
    for first in range(0, rounds, bucket):
        step[:] = 0
        for round_ in range(first, min(first + bucket, rounds)):
            target = round_
            for p in range(P):
                if rotation:
                    target = target + 1 if target + 1 < P else 0
                if target != p:
                    words = 2 * (cuts[p, target + 1] - cuts[p, target])
                    step[0, p] += words
                    step[1, target] += words
                    messages[p] += 1
        busiest = 0
        for p in range(P):
            sent[p] += step[0, p]
            received[p] += step[1, p]
            busiest = max(busiest, step[0, p], step[1, p])
        path += busiest
    return path


@njit(cache=True, nogil=True)
def _among(indices, counts, update, first, last, sizes):  # type: ignore[no-untyped-def]
    # keeps of every row, in place, the indices at which the update is not zero
    for p in range(first, last):
        row = indices[p, : counts[p]]
        count = 0
        for j in range(row.size):
            index = row[j]
            row[count] = index
            count += update[np.uint32(index)] != 0
        sizes[p] = count


def _shares(count: int, size: int) -> list[tuple[int, int]]:
    """`count` things in order, of `size` entries together, one range of them for every thread that pays."""
    threads = min(count, len(spans(max(size, 1), 1)))
    return [(count * t // threads, count * (t + 1) // threads) for t in range(threads)]


def split_traffic(cuts: Integers, rotation: bool, bucket: int) -> Traffic:
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
    counts = np.zeros((5, P), np.int64)
    path = _send(cuts, rounds, rotation, bucket, counts)
    return Traffic(counts[0], counts[1], counts[2], -(-rounds // bucket), int(path))


def summed_regions(chosen: Passing, boundaries: Integers) -> tuple[Array, Integers, Integers]:
    """The sum of the ranks' selected entries, region by region.

    Parameters
    ----------
    chosen : Passing
        Indices in ``range(boundaries[-1])``.
    boundaries : (R + 1,) int64
        From 0, never descending; any number of regions.

    Returns
    -------
    sums : (boundaries[-1],) dtype of the values
        Added in rank order from zero.
    cuts : (P, R + 1) int64
        Rank p's entries ``cuts[p, r] .. cuts[p, r + 1] - 1`` are in region r.
    nonzero : (R,) int64
        Sums in every region that are not zero.

    Raises
    ------
    ValueError
        A sum overflows.
    """
    R, dtype = boundaries.size - 1, chosen.values.dtype
    sums, cuts = np.empty(boundaries[-1], dtype), np.empty((len(chosen.counts), R + 1), np.int64)
    bits, mask = magnitude_bits(sums)
    nonzero, largest = np.zeros(R, np.int64), np.zeros(R, bits.dtype)
    given = (chosen.indices, chosen.values, chosen.counts, boundaries.copy())  # writable: one compilation is enough
    found = (bits, nonzero, largest)
    jobs = []
    size = int(chosen.counts.sum()) + sums.size
    for first, last in _shares(R, size):  # where one thread's regions begin, the one before writes the same number
        window = np.zeros(min(_WINDOW, sums.size), dtype)
        jobs.append(partial(_reduce, *given, first, last, cuts, window, magnitude_bits(window)[0], mask, *found))
    with np.errstate(over="ignore", invalid="ignore"):  # of kernels in plain Python
        run_all(jobs, size)
    if not is_finite(largest.view(dtype)):
        raise ValueError("acc must have finite sums over the ranks, got an overflow")
    return sums, cuts, nonzero


def split_and_reduce(
    chosen: Passing, boundaries: Integers, rotation: bool = True, bucket: int = 1
) -> tuple[Array, Integers, Integers, Traffic]:
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

    Raises
    ------
    ValueError
        A sum overflows.
    """
    sums, cuts, nonzero = summed_regions(chosen, boundaries)
    return sums, cuts[:, 1:] - cuts[:, :-1], nonzero, split_traffic(cuts, rotation, bucket)


def used_up(chosen: Passing, update: Array) -> tuple[Integers, ...]:
    """For every rank the indices that it selected and at which the update is not zero, ascending.

    They overwrite what is in `chosen`.
    """
    sizes, size = np.zeros(len(chosen.counts), np.int64), int(chosen.counts.sum())
    jobs = [
        partial(_among, chosen.indices, chosen.counts, update, first, last, sizes)
        for first, last in _shares(len(sizes), size)
    ]
    run_all(jobs, size)
    return tuple(row[:size].astype(np.int64) for row, size in zip(chosen.indices, sizes, strict=True))
