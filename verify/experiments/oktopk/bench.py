"""Speed of Ok-Topk, all words counted: split and reduce beside numpy, scipy and torch; a step beside its filters."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numba import get_num_threads, njit

from commbounds.array_types import Array
from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.oktopk.allreduce import oktopk_allreduce
from commbounds.collectives.oktopk.split import split_and_reduce
from commbounds.collectives.oktopk.threshold_filter import Passing
from commbounds.compressors._blocks import run_all
from commbounds.verify.peers import torch_module
from commbounds.verify.stopwatch import Benchmark, timed


@njit(cache=True, nogil=True)
def _filter(x, threshold, indices):  # type: ignore[no-untyped-def]
    # the indices of magnitudes that reach the threshold, as one would write it
    count = 0
    for i in range(x.size):
        if abs(x[i]) >= threshold:
            indices[count] = i
            count += 1
    return count


def _filters(stack: Array, thresholds: Array, indices: Array) -> None:
    """Every rank's threshold filter, on as many threads as the kernels."""
    P, threads = len(stack), get_num_threads()

    def job(first: int, last: int) -> None:
        for p in range(first, last):
            _filter(stack[p], thresholds[p], indices[p])

    run_all([partial(job, P * t // threads, P * (t + 1) // threads) for t in range(threads)], stack.size)


def _step_case(n: int, P: int = 64) -> Benchmark:
    """One iteration that keeps thresholds and boundaries, against the P filters that it cannot do without."""
    k = max(1, n // 100)
    stack = np.random.default_rng([8, P, n]).standard_normal((P, n), np.float32)
    _, state, _ = oktopk_allreduce(stack, k)
    indices = np.empty((P, n), np.int64)
    filters = timed(partial(_filters, stack, state.local_thresholds.astype(np.float32), indices))
    ours = timed(partial(oktopk_allreduce, stack, k, state))
    peers = {"P threshold filters": filters}
    return Benchmark(f"Ok-Topk step, P = {P}, 1 %", "ns/entry", 1e9 / stack.size, ours, peers, {"": (0.5, 1.0)})


def every_hundredth(P: int, n: int) -> Passing:
    """For every rank, one of every hundred consecutive entries."""
    rng, k = np.random.default_rng([9, P, n]), max(1, n // 100)
    indices = (np.arange(k) * (n // k) + rng.integers(0, n // k, (P, k))).astype(np.int32)
    return Passing(indices, rng.standard_normal((P, k), np.float32), np.full(P, k, np.int64), True)


def sums(chosen: Passing, n: int) -> dict[str, Callable[[], Array]]:
    """The same sums, with no words counted, of as many entries from every rank; from arrays of all their entries."""
    from scipy.sparse import csr_array

    (P, k), values = chosen.indices.shape, chosen.values.ravel()
    indices, starts = chosen.indices.ravel(), np.arange(P + 1, dtype=np.int32) * np.int32(k)

    def added_at() -> Array:
        out = np.zeros(n, np.float32)
        np.add.at(out, indices, values)
        return out

    def scipy_sum() -> Array:
        return np.asarray(csr_array((values, indices, starts), shape=(P, n)).sum(axis=0))

    def scipy_product() -> Array:
        return np.asarray(np.ones(P, np.float32) @ csr_array((values, indices, starts), shape=(P, n)))

    peers = {"numpy add.at": added_at, "scipy sparse sum": scipy_sum, "scipy, ones times matrix": scipy_product}
    if torch := torch_module():
        places, given = torch.from_numpy(indices.astype(np.int64)), torch.from_numpy(values)
        peers["torch index_add"] = lambda: np.asarray(torch.zeros(n).index_add_(0, places, given))
    return peers


def _split_cases(n: int) -> Iterator[Benchmark]:
    for P in (32, 64, 256):
        chosen = every_hundredth(P, n)
        ours = timed(partial(split_and_reduce, chosen, even_cuts(n, P)))
        per = 1e9 / chosen.values.size
        peers = {name: timed(work) for name, work in sums(chosen, n).items()}
        yield Benchmark(f"split and reduce, P = {P}, 1 %", "ns/nonzero", per, ours, peers, {"": (1.0, 2.0)})


def cases(n: int = 1_000_000) -> Iterator[Benchmark]:
    """Every case, with vectors of `n` entries; made one by one, as they are large.

    Parameters
    ----------
    n : int
        At least 100.
    """
    yield from _split_cases(n)
    yield _step_case(n)
