"""Ring and recursive doubling in one pass over the ranks' vectors, bit for bit what their messages would bring about.

A few thousand columns are taken through all steps before the next, so that partial sums stay in the cache. Every
sum that several ranks would form of the same two numbers is formed once: a + b and b + a are the same bits. A message
that is fused away is counted where its words are added or copied.
"""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType

import numpy as np
from numba import njit

from commbounds.array_types import Array, Integers
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.dense.message_by_message import ALLREDUCE
from commbounds.collectives.dense.messages import core_size, first_of_core
from commbounds.collectives.dense.result_memory import uninitialised
from commbounds.collectives.dense.streaming import streamed
from commbounds.compressors._blocks import run_all, spans

TILE = 1 << 15
"""Bytes of a partial sum that is in work: it stays in a second-level cache, with one for every doubling."""
STREAMED = 1 << 22
"""Bytes of a result that is written past the cache."""


def fused_ring(stack: Array, out: Array, tile: int = TILE, streamed_from: int = STREAMED) -> Integers:
    """Fills `out` with what every rank holds after the ring; returns words sent, words received and messages.

    Parameters
    ----------
    stack, out : (P, n) of one dtype
        Checked and contiguous.
    tile, streamed_from : int
        Bytes of a partial sum, and of a result to write past the cache; they change no bit.

    Returns
    -------
    (3, steps, P) int64
        Of the steps that `ALLREDUCE` lists.
    """
    kernel = partial(_ring, stack, out, even_cuts(stack.shape[1], len(stack)), stack.nbytes >= streamed_from)
    return _by_columns(kernel, "ring", stack, tile)


def fused_recursive_doubling(stack: Array, out: Array, tile: int = TILE, streamed_from: int = STREAMED) -> Integers:
    """As `fused_ring`, by recursive doubling."""
    kernel = partial(_recursive_doubling, stack, out, first_of_core(len(stack)), stack.nbytes >= streamed_from)
    return _by_columns(kernel, "recursive-doubling", stack, tile)


def fused(stack: Array, algorithm: str) -> tuple[Array, Integers]:
    """What every rank holds after the all-reduce of that name, and the counts of its steps, (3, steps, P).

    Parameters
    ----------
    stack : (P, n) float32 or float64
        Contiguous. Not looked at: what is not finite makes the sums infinite or NaN.
    algorithm : {"ring", "recursive-doubling"}
    """
    result = uninitialised(stack.shape, stack.dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # without the JIT, numpy warns of sums out of range
        return result, FUSED[algorithm](stack, result)


def _by_columns(kernel: Callable[..., None], algorithm: str, stack: Array, tile: int) -> Integers:
    """Runs the kernel on ranges of columns, a thread each where that pays, and adds up what they counted."""
    P = len(stack)
    width = max(1, tile // stack.itemsize)
    parts = ALLREDUCE[algorithm][0](P)
    steps = sum(part.steps for part in parts)
    scratch = core_size(P).bit_length() + 5
    jobs, counted = [], []
    for lo, hi in spans(stack.size, P * width):
        counts = np.zeros((3, steps, P), np.int64)
        work = np.empty((scratch, width), stack.dtype)
        jobs.append(partial(kernel, lo // P, hi // P, work, counts))
        counted.append(counts)
    run_all(jobs, stack.size)
    return counted[0] if len(counted) == 1 else np.sum(counted, axis=0, dtype=np.int64)


FUSED = MappingProxyType({"ring": fused_ring, "recursive-doubling": fused_recursive_doubling})
"""Algorithms with a kernel of their own."""


@njit(cache=True, nogil=True)
def _copy(x, out):  # type: ignore[no-untyped-def]
    # a loop is compiled in a fraction of the time that out[:] = x takes, which comes with checks of shapes and overlaps
    for i in range(x.size):
        out[i] = x[i]


@njit(cache=True, nogil=True)
def _add(total, x):  # type: ignore[no-untyped-def]
    for i in range(total.size):
        total[i] += x[i]


@njit(cache=True, nogil=True)
def _add_four(total, a, b, c, d):  # type: ignore[no-untyped-def]
    for i in range(total.size):
        total[i] = (((total[i] + a[i]) + b[i]) + c[i]) + d[i]


@njit(cache=True, nogil=True)
def _sum_of_two(out, a, b):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] = a[i] + b[i]


@njit(cache=True, nogil=True)
def _sum_of_four(out, a, b, c, d):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] = (a[i] + b[i]) + (c[i] + d[i])


@njit(cache=True, nogil=True)
def _write(out, total, streams):  # type: ignore[no-untyped-def]
    if streams:
        streamed(out, total)
    else:
        _copy(total, out)


@njit(cache=True, nogil=True)
def _pass_on(counts, step, source, target, words):  # type: ignore[no-untyped-def]
    counts[0, step, source] += words
    counts[1, step, target] += words


@njit(cache=True, nogil=True)
def _ring(stack, out, edges, streams, lo, hi, work, counts):  # type: ignore[no-untyped-def]
    # block b starts at rank b + 1, adds up until it is at rank b, and goes round once more
    P, n = stack.shape
    for block in range(P):
        if lo <= edges[block] and (edges[block] < hi or hi == n):
            # this range of columns has the block's first: it counts its messages
            for t in range(P - 1):
                counts[2, t, (block + 1 + t) % P] += 1
                counts[2, P - 1 + t, (block + t) % P] += 1
        start, end = max(lo, edges[block]), min(hi, edges[block + 1])
        while start < end:
            stop = min(start + work.shape[1], end)
            total = work[0, : stop - start]
            _copy(stack[(block + 1) % P, start:stop], total)
            t = 0
            while t < P - 1:
                r = block + 2 + t
                if t + 4 <= P - 1:
                    _add_four(
                        total,
                        stack[r % P, start:stop],
                        stack[(r + 1) % P, start:stop],
                        stack[(r + 2) % P, start:stop],
                        stack[(r + 3) % P, start:stop],
                    )
                    advanced = 4
                else:
                    _add(total, stack[r % P, start:stop])
                    advanced = 1
                for i in range(advanced):
                    _pass_on(counts, t + i, (r + i - 1) % P, (r + i) % P, total.size)
                t += advanced
            _write(out[block, start:stop], total, streams)
            for s in range(P - 1):
                source, target = (block + s) % P, (block + s + 1) % P
                _write(out[target, start:stop], total, streams)
                _pass_on(counts, P - 1 + s, source, target, total.size)
            start = stop


@njit(cache=True, nogil=True)
def _member(stack, first, v, start, stop, slot):  # type: ignore[no-untyped-def]
    # what member v of the core brings: its vector, or that and the one folded in, which `slot` then holds
    rank = first[v]
    if first[v + 1] - rank == 2:
        total = slot[: stop - start]
        _sum_of_two(total, stack[rank, start:stop], stack[rank + 1, start:stop])
        return total
    return stack[rank, start:stop]


@njit(cache=True, nogil=True)
def _recursive_doubling(stack, out, first, streams, lo, hi, work, counts):  # type: ignore[no-untyped-def]
    # after step j, the members of an aligned group of 2^(j + 1) hold one sum: of its two halves
    P, core = stack.shape[0], first.size - 1
    folded = np.int64(core < P)
    doublings = 0
    while 1 << doublings < core:
        doublings += 1
    start = lo
    while start < hi:
        stop = min(start + work.shape[1], hi)
        total = work[4, : stop - start]
        if core == 1:
            _copy(stack[0, start:stop], total)
        elif core == 2:
            zero = np.int64(0)  # for a literal, Numba would compile `_member` once more
            a = _member(stack, first, zero, start, stop, work[0])
            b = _member(stack, first, zero + 1, start, stop, work[1])
            _sum_of_two(total, a, b)
        else:
            for v in range(0, core, 4):
                a = _member(stack, first, v, start, stop, work[0])
                b = _member(stack, first, v + 1, start, stop, work[1])
                c = _member(stack, first, v + 2, start, stop, work[2])
                d = _member(stack, first, v + 3, start, stop, work[3])
                _sum_of_four(total, a, b, c, d)
                # a group whose left half is waiting is complete, and may complete the next larger
                group, level = v >> 2, 5
                while group & 1:
                    _add(total, work[level, : stop - start])
                    group >>= 1
                    level += 1
                if v + 4 < core:
                    _copy(total, work[level])
        for rank in range(P):
            _write(out[rank, start:stop], total, streams)
        for v in range(core):
            rank = first[v]
            for j in range(doublings):
                _pass_on(counts, folded + j, rank, first[v ^ (1 << j)], total.size)
                counts[2, folded + j, rank] += np.int64(start == 0)
            if first[v + 1] - rank == 2:
                _pass_on(counts, 0, rank + 1, rank, total.size)
                _pass_on(counts, folded + doublings, rank, rank + 1, total.size)
                counts[2, 0, rank + 1] += np.int64(start == 0)
                counts[2, folded + doublings, rank] += np.int64(start == 0)
        start = stop
