"""Speed of simulated steps beside vectorised numpy."""

from collections.abc import Iterator

import numpy as np

from commbounds.collectives import Lattice, Lognormal, drop_trials, released_noise
from commbounds.verify.stopwatch import Benchmark, timed

_TRIALS = 40


def _numpy_lognormal(law: Lognormal, N: int, M: int, tau: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(_TRIALS):
        sums = rng.lognormal(law.location, law.shape, (N, M)).cumsum(axis=1)
        slowest = sums[:, -1].max()
        _ = min(tau, slowest), int((sums < tau).sum())


def _numpy_choice(law: Lattice, N: int, M: int, tau: float) -> None:
    # by inversion of the distribution function, which is how numpy itself draws from weights
    rng = np.random.default_rng(1)
    cumulative = np.cumsum(law.weights)
    for _ in range(_TRIALS):
        t = law.base + law.unit * cumulative.searchsorted(rng.random((N, M)), side="right")
        sums = t.cumsum(axis=1)
        slowest = sums[:, -1].max()
        _ = min(tau, slowest), int((sums < tau).sum())


def cases() -> Iterator[Benchmark]:
    """Trials of N = 10^4 workers and M = 12 micro-batches, with the time of the step and what it completes."""
    N, M = 10_000, 12
    law = Lognormal(0.0, 0.5)
    tau = M * law.mean
    yield Benchmark(
        "DropCompute, lognormal",
        "µs/trial",
        1e6 / _TRIALS,
        timed(lambda: drop_trials(law, N, M, tau, trials=_TRIALS, seed=1)),
        {"numpy": timed(lambda: _numpy_lognormal(law, N, M, tau))},
        {"": (8.0, 16.0)},
    )
    delay = released_noise()
    yield Benchmark(
        "DropCompute, released delay",
        "µs/trial",
        1e6 / _TRIALS,
        timed(lambda: drop_trials(delay, N, M, M * delay.mean, trials=_TRIALS, seed=1)),
        {"numpy": timed(lambda: _numpy_choice(delay, N, M, M * delay.mean))},
    )
