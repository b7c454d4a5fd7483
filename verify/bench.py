"""Speed: what is timed, beside which peers, and what the ratios should be."""

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import partial
from typing import Any

import hypothesis
import numpy as np
from hypothesis import strategies as st
from numba import config, get_num_threads, njit, set_num_threads

from commbounds.array_types import Array
from commbounds.columns import parts
from commbounds.compressors import COMPRESSORS, QSGD, RandK, TopK
from commbounds.compressors._blocks import run_all, spans
from commbounds.verify.batched import SUBCASES, Batch, batches, violating_subcase
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.experiments.setups import SETUPS
from commbounds.verify.finding import Method
from commbounds.verify.methods import judge
from commbounds.verify.peers import qsgd_peers, rand_k_peers, top_k_peers
from commbounds.verify.search import settings
from commbounds.verify.stopwatch import Benchmark, BenchmarkRow, Stopwatch, measured, timed

ENTRIES = 25_000_000
"""Entries of the vectors at full length."""
EXAMPLES = 500
"""Examples of a timed property test."""
THREADED = (1 << 20) + 77
"""Entries of a vector that is long enough for more than one thread, and no multiple of anything."""


# --- kernels on long vectors -------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _read(words):  # type: ignore[no-untyped-def]
    # looks at every word, and does with it what costs least
    total = np.uint64(0)
    for i in range(words.size):
        total ^= words[i]
    return total


def _one_read(x: Array) -> None:
    """One pass over `x`, on the threads that a kernel would use."""
    words = x[: x.size // 2 * 2].view(np.uint64)
    run_all([partial(_read, words[start:stop]) for start, stop in spans(words.size)], x.size)


def adversarial(n: int) -> dict[str, Callable[[], Array]]:
    """Name -> maker of float32 vectors on which a guessed threshold is wrong, or shared by many entries."""

    def normal() -> Array:
        return np.random.default_rng(2).standard_normal(n, np.float32)

    def mostly_zero() -> Array:
        x = normal()
        x[np.random.default_rng(3).random(n, np.float32) < 0.995] = 0
        return x

    return {
        "constant": lambda: np.full(n, 0.5, np.float32),
        "99.5 % zeros": mostly_zero,
        "small integers": lambda: np.random.default_rng(3).integers(-8, 9, n).astype(np.float32),
        "sorted": lambda: np.sort(normal()),
        "bfloat16 values": lambda: (normal().view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32),
    }


def _top_k_cases(n: int) -> Iterator[Benchmark]:
    x = np.random.default_rng(1).standard_normal(n, np.float32)
    targets: dict[str, Any] = {"1 %": {"": (8.0, 20.0), "torch.topk": (25.0, 50.0)}}
    shares = {"0.1 %": (0.35, 0.60), "1 %": (0.25, 0.45), "10 %": (0.12, 0.25)}
    for density, divisor in (("0.1 %", 1000), ("1 %", 100), ("10 %", 10)):
        k = max(1, n // divisor)
        ours = timed(partial(TopK(k).compress, x))
        yield Benchmark(f"Top-K {density}", "ns/entry", 1e9 / n, ours, top_k_peers(x, k), targets.get(density, {}))
        one_read = {"one read": timed(partial(_one_read, x))}
        yield Benchmark(f"Top-K {density}", "ns/entry", 1e9 / n, ours, one_read, {"": shares[density]})
    k = max(1, n // 100)
    for name, make in adversarial(n).items():
        x = make()
        ours, peers = timed(partial(TopK(k).compress, x)), top_k_peers(x, k)
        yield Benchmark(f"Top-K 1 %, {name}", "ns/entry", 1e9 / n, ours, peers, {"": (4.0, 8.0)})


def _randomised_cases(n: int) -> Iterator[Benchmark]:
    x = np.random.default_rng(1).standard_normal(n, np.float32)
    k, rng = max(1, n // 10), np.random.default_rng(4)
    ours, peers = timed(lambda: RandK(k).compress(x, rng)), rand_k_peers(x, k, rng)
    yield Benchmark("Rand-K 10 %", "ns/kept entry", 1e9 / k, ours, peers, {"": (2.0, 5.0)})
    levels = 127
    ours, peers = timed(lambda: QSGD(levels)(x, rng)), qsgd_peers(x, levels, rng)
    yield Benchmark("QSGD, there and back", "ns/entry", 1e9 / n, ours, peers, {"torch": (8.0, 18.0)})


# --- start-up ----------------------------------------------------------------------------------------------------

_FIRST_USE = """
import sys, time
import numpy as np
from numba.core.dispatcher import Dispatcher
from commbounds.compressors import COMPRESSORS
from commbounds.verify.experiments.setups import SETUPS
x = np.random.default_rng(0).standard_normal(5000)
modules = [m for name, m in sys.modules.items() if name.startswith("commbounds.compressors.")]
kernels = {id(v): v for m in modules for v in vars(m).values() if isinstance(v, Dispatcher)}.values()
subjects = [SETUPS[name](cls, x.size)[-1] for name, cls in COMPRESSORS.items() if cls.ndim == 1]
spent = 0.0
for dtype in (np.float32, np.float64):
    for c in subjects:
        start = time.perf_counter()
        c(x.astype(dtype), np.random.default_rng(0))
        spent += time.perf_counter() - start
        if sum(len(kernel.signatures) for kernel in kernels) >= 20:
            print(spent)
            sys.exit()
sys.exit("there are fewer than 20 kernels")
"""


def _child(code: str) -> float:
    """The seconds that `code` prints, run in an interpreter of its own."""
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def _imported(module: str) -> Stopwatch:
    code = f"import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
    return partial(_child, code)


def _start_up_cases() -> Iterator[Benchmark]:
    ours, peers = _imported("commbounds"), {"import numpy": _imported("numpy")}
    yield Benchmark("import commbounds", "ms", 1e3, ours, peers, {"": (1 / 2, 1 / 1.3)})
    peers = {"import numba": _imported("numba")}
    yield Benchmark("import commbounds.compressors", "ms", 1e3, _imported("commbounds.compressors"), peers)
    allowed = {"an allowance of 0.5 s": lambda: 0.5}
    yield Benchmark(
        "first use of 20 cached kernels", "ms", 1e3, partial(_child, _FIRST_USE), allowed, {"": (1, 0.5 / 0.35)}
    )


# --- property tests ----------------------------------------------------------------------------------------------

_settings = settings(EXAMPLES, [hypothesis.Phase.generate])


@hypothesis.seed(0)
@_settings
@hypothesis.given(st.integers())
def _nothing(_drawn: int) -> None:
    """What Hypothesis takes by itself."""


def _contraction(count: int) -> Callable[[], None]:
    """A property test of Top-K's contraction on `count` rows of 64 entries an example."""

    @hypothesis.seed(0)
    @_settings
    @hypothesis.given(batches(64, count), st.integers(1, 64))
    def contracts(batch: Batch, k: int) -> None:
        if (found := violating_subcase(batch, k)) is not None:
            raise AssertionError(f"k={k} at {found}")

    return contracts


def _property_cases() -> Iterator[Benchmark]:
    engine = {"an empty test": timed(_nothing)}
    per = 1e6 / EXAMPLES
    yield Benchmark(
        "property test, vectors by seed", "µs/example", per, timed(_contraction(1)), engine, {"": (0.4, 0.6)}
    )
    budget = Budget(0, (), EXAMPLES, 0, 0)
    searched = timed(partial(judge, [EXPERIMENTS["sparsifiers.topk.contraction"]], budget, 0, 1.0, {}, [Method.SEARCH]))
    yield Benchmark("search, vectors by entry", "µs/example", per, searched, engine)
    subcases, ours = EXAMPLES * SUBCASES, timed(_contraction(SUBCASES))
    allowed = {"an allowance of 20 µs": lambda: 20e-6 * subcases}
    yield Benchmark("batched sub-case, n = 64", "µs/sub-case", 1e6 / subcases, ours, allowed, {"": (1, 5)})


# --- all of it ---------------------------------------------------------------------------------------------------


def _module(module: str, *most: int) -> Callable[[int], Iterator[Benchmark]]:
    """The cases of `module`, at `n` entries but at most as many as `most` says."""

    def made(n: int) -> Iterator[Benchmark]:
        cases = importlib.import_module(module).cases
        yield from cases(*(min(n, limit) for limit in most))

    return made


def _of_columns() -> Iterator[tuple[str, Callable[[int], Iterator[Benchmark]]]]:
    """What the columns' packages name in ``BENCHES``; a module is imported when its part is timed."""
    for _, found in parts("verify.experiments"):
        for name, (module, *most) in getattr(found, "BENCHES", {}).items():
            yield name, _module(f"{found.__name__}.{module}", *most)


PARTS: dict[str, Callable[[int], Iterator[Benchmark]]] = {
    "top-k": _top_k_cases,
    "randomised": _randomised_cases,
    **dict(_of_columns()),
    "start-up": lambda _n: _start_up_cases(),
    "property-tests": lambda _n: _property_cases(),
}
"""What is timed, part by part: entries -> cases, made one by one, as their vectors are large."""


def cases(n: int = ENTRIES, parts: Iterable[str] = PARTS) -> Iterator[Benchmark]:
    """Every case of the named parts, vectors at `n` entries."""
    for part in parts:
        yield from PARTS[part](n)


def run(n: int = ENTRIES, rounds: int = 9, parts: Iterable[str] = PARTS) -> Iterator[BenchmarkRow]:
    """The rows of every case of the named parts, as they are measured."""
    for case in cases(n, parts):
        yield from measured(case, rounds)


def differing_compressors(n: int = THREADED, threads: tuple[int, ...] = (1, 2)) -> list[str]:
    """Names of the compressors whose messages or outputs depend on Numba's number of threads.

    Parameters
    ----------
    n : int
        Entries of the vector; matrices get as many, nearly. Threads are used above 2^20.
    threads : tuple of int
        Numbers to compare; those above the number that Numba started with are left out.
    """
    before, differing = get_num_threads(), []
    x = np.random.default_rng(5).standard_normal(n, np.float32)
    try:
        for name, cls in COMPRESSORS.items():
            given = x if cls.ndim == 1 else x[: n // 64 * 64].reshape(-1, 64)
            c = SETUPS[name](cls, given.shape[-1])[0]
            results = []
            for count in (t for t in threads if t <= config.NUMBA_NUM_THREADS):
                set_num_threads(count)
                message = c.compress(given, np.random.default_rng(6))
                held = [np.asarray(getattr(message, f.name)).tobytes() for f in fields(message) if f.name != "dtype"]
                results.append((held, message.bits, c.decompress(message).tobytes()))
            if any(result != results[0] for result in results):
                differing.append(name)
    finally:
        set_num_threads(before)
    return differing
