"""DropCompute: steps of N workers that stop computing at a threshold.

Latencies are an (N, M) array: worker n takes t[n, m] >= 0 seconds for its m-th micro-batch; S[n, m] are the sums along
a row, T_n = S[n, M] and T = max T_n. Without a threshold a step takes T + T_c, T_c being the overhead paid once a step.

Three ways of stopping are in use, and they are not equivalent:

===  ====================================================  ================================  ======================
      elapsed > tau is tested                               counts                            a worker's time
===  ====================================================  ================================  ======================
A     all the time                                          micro-batches with S_m < tau      min(tau, T_n)
B     after every micro-batch, which counts nevertheless    min(#{S_m <= tau} + 1, M)         S_count, beyond tau
C     before every forward, and before every backward       between A and B                   beyond tau by a part
===  ====================================================  ================================  ======================
"""

import math
import sys
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numba import get_num_threads, njit
from numpy.typing import ArrayLike

from commbounds.array_types import Floats, Integers
from commbounds.collectives.dropcompute import latency_draws as draws
from commbounds.collectives.dropcompute.latency_laws import LatencyLaw
from commbounds.collectives.dropcompute.step_law import checked_overhead, checked_size
from commbounds.compressors._blocks import run_all
from commbounds.compressors.base import (
    as_numbers,
    checked_choice,
    checked_flag,
    checked_kind,
    checked_real,
    of_python_numbers,
    shown,
)

Preemption = Literal["A", "B", "C"]


@dataclass(frozen=True, eq=False)
class DropStep:
    """One step with a threshold.

    Parameters
    ----------
    time : float
        Of the whole step with its overhead, in seconds.
    slowest : float
        The same without a threshold.
    completed : (N,) int64
        Micro-batches of every worker that count.
    worker_times : (N,) float64
        When each worker stops.
    """

    time: float
    slowest: float
    completed: Integers
    worker_times: Floats


@dataclass(frozen=True, eq=False)
class Trials:
    """Many independent steps.

    Parameters
    ----------
    time, slowest : (trials,) float64
        Of the steps with and without the threshold, overhead included, in seconds.
    completed : (trials,) int64
        Micro-batches that count, of all workers together.
    """

    time: Floats
    slowest: Floats
    completed: Integers


@njit(cache=True, nogil=True)
def _step(t, tau, rule, forward, completed, times):  # type: ignore[no-untyped-def]
    slowest = 0.0
    for n in range(t.shape[0]):
        elapsed, stopped, count = 0.0, 0.0, 0
        for m in range(t.shape[1]):
            if rule == 2 and elapsed <= tau:
                middle = elapsed + forward * t[n, m]
                stopped = middle if middle > tau else elapsed + t[n, m]
                count += int(middle <= tau)
            elapsed += t[n, m]
            if rule == 0:
                count += int(elapsed < tau)
            elif rule == 1:
                count += int(elapsed <= tau)
        completed[n] = count
        times[n] = stopped if rule == 2 else min(tau, elapsed)
        slowest = max(slowest, elapsed)
    return slowest


def checked_latencies(latencies: ArrayLike, ndim: int = 2) -> Floats:
    """`latencies` as a float64 array of `ndim` axes: not negative, their sum finite, no axis empty."""
    t = np.asarray(as_numbers(latencies, "latencies", np.float64), order="C")
    shape = "(N, M)" if ndim == 2 else "(steps, N, M)"
    if t.ndim != ndim or 0 in t.shape:
        raise ValueError(f"latencies must be {shape} with no empty axis, got shape {t.shape}")
    least, most = float(t.min()), float(t.max())  # both NaN where there is one
    if not (math.isfinite(least) and math.isfinite(most)):
        raise ValueError("latencies must be finite, got NaN or infinity")
    if least < 0:
        raise ValueError(f"latencies must not be negative, got {least}")
    if most > sys.float_info.max / t.size:
        raise ValueError(f"latencies must have a sum within the range of floats, got {most}")
    return t


def _checked_tau(tau: Any) -> float:
    threshold = checked_real("tau", tau)
    if not threshold > 0.0:
        raise ValueError(f"tau must be positive, got {tau}")
    return threshold


def _rule(preemption: str, forward: float, at_threshold: bool) -> tuple[int, float]:
    """The kernel's rule, and how much of a micro-batch passes before elapsed > tau is tested within it."""
    checked_choice("preemption", preemption, ("A", "B", "C"))
    checked_flag("at_threshold", at_threshold)
    if not 0.0 <= checked_real("forward", forward) <= 1.0:
        raise ValueError(f"forward must be in [0, 1], got {forward}")
    if preemption == "A":
        return int(at_threshold), 0.0
    return 2, forward if preemption == "C" else 0.0


@of_python_numbers
def drop_step(
    latencies: ArrayLike,
    tau: float,
    overhead: float = 0.0,
    *,
    preemption: Preemption = "A",
    forward: float = 1 / 3,
    at_threshold: bool = False,
) -> DropStep:
    """One step in which workers stop at the threshold.

    Parameters
    ----------
    latencies : (N, M) array
        Seconds; finite, not negative.
    tau : float
        Threshold in seconds, positive; infinite for none.
    overhead : float
        T_c, seconds a step that are spent whatever happens; not negative.
    preemption : "A", "B" or "C"
        See the module's table.
    forward : float
        C: share of a micro-batch that its forward takes.
    at_threshold : bool
        A: whether a micro-batch that ends exactly at tau counts. The model says no, the code's elapsed > tau yes.

    Returns
    -------
    DropStep

    Raises
    ------
    TypeError, ValueError
        tau <= 0, a negative or non-finite latency, no worker, no micro-batch.

    Examples
    --------
    >>> step = drop_step([[1, 1, 1], [1, 3, 1]], tau=3.5, overhead=0.5)
    >>> step.time, step.slowest, step.completed.tolist()
    (4.0, 5.5, [3, 1])
    """
    t, threshold, T_c = checked_latencies(latencies), _checked_tau(tau), checked_overhead(overhead)
    rule, share = _rule(preemption, forward, at_threshold)
    completed, times = np.empty(len(t), np.int64), np.empty(len(t))
    slowest = float(_step(t, threshold, rule, share, completed, times))
    return DropStep(float(times.max()) + T_c, slowest + T_c, completed, times)


def trial_latencies(law: LatencyLaw, N: int, M: int, seed: int, trial: int) -> Floats:
    """The (N, M) latencies that `drop_trials` uses in one of its trials."""
    checked_kind("law", law, LatencyLaw)
    return np.asarray(
        draws.latencies(law.plan, checked_seed(seed), checked_trial("trial", trial), *_sizes(N, M)), dtype=np.float64
    )


def checked_seed(seed: Any) -> int:
    """`seed` as an integer of 64 bits."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"seed must be an integer, got {shown(seed)}")
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed must be in [0, 2^64), got {shown(seed)}")
    return int(seed)


def checked_trial(name: str, value: Any) -> int:
    """`value` as the number of a trial."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if not 0 <= value < 2**62:
        raise ValueError(f"{name} must be in [0, 2^62), got {shown(value)}")
    return int(value)


def _sizes(N: Any, M: Any) -> tuple[int, int]:
    return checked_size("N", N), checked_size("M", M)


def drop_trials(
    law: LatencyLaw,
    N: int,
    M: int,
    tau: float,
    overhead: float = 0.0,
    *,
    trials: int,
    seed: int,
    first: int = 0,
    preemption: Preemption = "A",
    forward: float = 1 / 3,
    at_threshold: bool = False,
) -> Trials:
    """Independent steps of N workers, with latencies drawn from a law.

    Parameters
    ----------
    law : LatencyLaw
        Of one micro-batch.
    N, M : int
        Workers, micro-batches; at least 1.
    tau, overhead, preemption, forward, at_threshold
        As for `drop_step`.
    trials : int
        How many; at least 1.
    seed : int
        In [0, 2^64).
    first : int
        Number of the first trial: trial i is the same whether it is drawn alone or among others.

    Returns
    -------
    Trials
        The same bits for any number of threads.

    Examples
    --------
    >>> from commbounds.collectives import Exponential
    >>> whole = drop_trials(Exponential(1.0), 8, 4, 4.0, trials=6, seed=1)
    >>> part = drop_trials(Exponential(1.0), 8, 4, 4.0, trials=2, seed=1, first=3)
    >>> bool((whole.time[3:5] == part.time).all())
    True
    """
    checked_kind("law", law, LatencyLaw)
    N, M = _sizes(N, M)
    threshold, T_c, count = _checked_tau(tau), checked_overhead(overhead), checked_size("trials", trials)
    rule, share = _rule(preemption, forward, at_threshold)
    key, start = checked_seed(seed), checked_trial("first", first)
    out, plan = np.empty((count, 3)), law.plan
    # one span of trials for each thread: a trial depends on its number alone
    size = count * N * M
    threads = min(get_num_threads(), count)
    bounds = [count * i // threads for i in range(threads + 1)]
    jobs = [
        partial(draws.fill_trials, plan, key, start + a, N, M, threshold, rule, share, out[a:b])
        for a, b in pairwise(bounds)
    ]
    run_all(jobs, size)
    return Trials(out[:, 1] + T_c, out[:, 0] + T_c, out[:, 2].astype(np.int64))
