"""Long vectors in pieces, spread over threads."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import pairwise

import numpy as np
from numba import config, get_num_threads

BLOCK = 1 << 16
"""Entries per block: a float32 block and its uniforms fit in a 1 MiB second-level cache."""
_SERIAL_BELOW = 1 << 20
_ALIGN = 64
_NOTHING = nullcontext()
PLAIN = bool(config.DISABLE_JIT)
"""Whether kernels run as plain Python."""


def quiet() -> AbstractContextManager[object]:
    """Where kernels mean to wrap around, or overflow is looked for afterwards: no warning of it.

    Compiled kernels never warn; run as plain Python, numpy does.
    """
    return np.errstate(over="ignore", invalid="ignore") if PLAIN else _NOTHING


def spans(size: int, align: int = _ALIGN) -> list[tuple[int, int]]:
    """Consecutive ranges that cover range(size): one per thread once that pays, else one.

    Parameters
    ----------
    size : int
        >= 1.
    align : int
        Every range but the last has a multiple of this many entries.

    Returns
    -------
    list of (start, stop)
        None empty; at most ``numba.get_num_threads()`` of them.
    """
    if size < _SERIAL_BELOW:
        return [(0, size)] if size else []
    threads, units = get_num_threads(), -(-size // align)
    bounds = [min(size, units * t // threads * align) for t in range(threads + 1)]
    return [(start, stop) for start, stop in pairwise(bounds) if start < stop]


def run_all(jobs: Sequence[Callable[[], None]], size: int) -> None:
    """Call every one of `jobs`, which together work on `size` entries: on threads of their own once that pays.

    Jobs that no thread has begun with when the first one is done are done by the caller, one after the other. If one
    raises, all that have begun end before that reaches the caller.
    They gain from threads only in so far as they release the GIL, as kernels compiled with ``nogil=True`` do.
    """
    if len(jobs) == 1 or size < _SERIAL_BELOW:
        for job in jobs:
            job()
        return
    others = jobs[1:]
    futures = [_helpers(len(others)).submit(job) for job in others]
    try:
        jobs[0]()
        for job, future in zip(others, futures, strict=True):
            if future.cancel():  # no thread has begun with it
                job()
    finally:
        wait([future for future in futures if not future.cancel()])  # nobody writes once the caller has gone on
    for future in futures:
        if not future.cancelled():
            future.result()


@cache
def _helpers(count: int) -> ThreadPoolExecutor:
    """Threads that wait for work: to start and to end one takes longer than many a job does."""
    return ThreadPoolExecutor(count, thread_name_prefix="commbounds-kernel")


if hasattr(os, "register_at_fork"):  # a child has none of its parent's threads
    os.register_at_fork(after_in_child=_helpers.cache_clear)


def for_blocks(size: int, work: Callable[[int, int], None], block: int = BLOCK) -> None:
    """Call ``work(start, stop)`` on consecutive blocks that cover range(size).

    Blocks run on ``numba.get_num_threads()`` threads once that pays. `work` must depend on nothing but its
    arguments and write to nothing but its own range, so that the result does not depend on the thread count.
    """
    if 0 < size <= block:
        work(0, size)
        return

    def job(first: int, last: int) -> Callable[[], None]:
        def run() -> None:
            for start in range(first, last, block):
                work(start, min(last, start + block))

        return run

    run_all([job(first, last) for first, last in spans(size, block)], size)
