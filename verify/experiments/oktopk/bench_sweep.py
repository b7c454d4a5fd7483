"""Speed of the volume sweep of Ok-Topk: an iteration of every family, words counted, over the number of ranks."""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from commbounds.array_types import Array
from commbounds.verify.experiments.oktopk.sweep import RANKS, one_iteration
from commbounds.verify.stack_families import FAMILIES, SWEPT, stack
from commbounds.verify.stopwatch import Benchmark

ENTRIES, KEPT = 65_536, 256


def _filtered(_family: str, x: Array, k: int) -> list[Array]:
    """What passes the k-th largest magnitude, rank by rank: the least that finding and using a threshold takes."""
    n = x.shape[1]
    found = []
    for row in x:
        size = np.abs(row)
        limit = np.partition(size, n - k)[n - k]
        found.append(np.flatnonzero((size >= limit) & (size > 0)))
    return found


def _timed(
    work: Callable[[str, Array, int], object], P: int, n: int, k: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Seconds that `work` takes on one stack of every family that exists at these sizes; making them is left out."""
    spent = 0.0
    for family in SWEPT:
        if FAMILIES[family].fits(P, n, k):
            x = stack(family, P, n, k)
            start = clock()
            work(family, x, k)
            spent += clock() - start
    return spent


def cases(n: int = ENTRIES, k: int = KEPT) -> Iterator[Benchmark]:
    """One case for every number of ranks; in time linear in P n all take as many nanoseconds an entry."""
    count = len(SWEPT)
    for P in RANKS:
        yield Benchmark(
            f"Ok-Topk, {count} families, P = {P}, n = {n}",
            "ns per entry",
            1e9 / (count * P * n),
            partial(_timed, one_iteration, P, n, k),
            {"numpy: k-th largest and filter": partial(_timed, _filtered, P, n, k)},
        )


def seconds(n: int = ENTRIES, k: int = KEPT, rounds: int = 3) -> dict[int, float]:
    """Processor seconds of an iteration of all families by number of ranks: the least of some rounds, after one more.

    Processor time, of all threads: what else runs on the machine does not count.
    """
    _timed(one_iteration, RANKS[0], n, k)
    return {P: min(_timed(one_iteration, P, n, k, time.process_time) for _ in range(rounds)) for P in RANKS}


def slope(spent: Mapping[int, float]) -> float:
    """Slope of log seconds over log P, by least squares: 1 where time is linear in P n.

    With few ranks the fixed cost of an iteration counts, and the slope is below 1.

    Examples
    --------
    >>> round(slope({4: 1.0, 8: 2.0, 16: 4.0}), 12)
    1.0
    """
    ranks = np.log(np.array(list(spent)))
    times = np.log(np.array(list(spent.values())))
    return float(np.polyfit(ranks, times, 1)[0])
