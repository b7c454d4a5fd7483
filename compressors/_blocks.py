"""Long vectors in blocks that stay in cache, spread over threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from numba import get_num_threads

__all__ = ["for_blocks"]

BLOCK = 1 << 16
"""Entries per block: a float32 block and its uniforms fit in a 1 MiB second-level cache."""
_SERIAL_BELOW = 1 << 20


def for_blocks(size: int, work: Callable[[int, int], None], block: int = BLOCK) -> None:
    """Call ``work(start, stop)`` on consecutive blocks that cover range(size).

    Blocks run on ``numba.get_num_threads()`` threads once that pays. `work` must depend on nothing but its
    arguments and write to nothing but its own range, so that the result does not depend on the thread count; it
    gains from threads only in so far as it releases the GIL, as kernels compiled with ``nogil=True`` do.
    """
    threads = 1 if size < _SERIAL_BELOW else get_num_threads()
    count = -(-size // block)

    def run(first: int, last: int) -> None:
        for i in range(first, last):
            work(i * block, min(size, (i + 1) * block))

    if threads == 1:
        run(0, count)
        return
    bounds = [count * t // threads for t in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(run, bounds[t], bounds[t + 1]) for t in range(threads)]:
            future.result()
