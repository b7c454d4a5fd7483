"""Thresholds chosen on calibration steps, as DropCompute's algorithm and its released code choose them."""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from commbounds.array_types import Floats
from commbounds.collectives.dropcompute.step_law import checked_overhead, warn_degenerate
from commbounds.collectives.dropcompute.steps import checked_latencies
from commbounds.compressors.base import as_numbers, checked_real, of_python_numbers

_FIRST_CANDIDATE = 6
"""The released code looks for thresholds from this micro-batch on, counted from 0."""
_CANDIDATES = 200


@dataclass(frozen=True)
class Threshold:
    """A threshold, and what its search says it gains.

    Parameters
    ----------
    tau : float
        Seconds; micro-batches that end exactly then count.
    gain : float
        The objective there: S_eff on the calibration steps.
    """

    tau: float
    gain: float


@njit(cache=True, nogil=True)
def _search(values, steps, slowest, overhead, least, per_step):  # type: ignore[no-untyped-def]
    # values ascending, steps[j] the calibration step of values[j]; a candidate is taken once all of its ties counted
    counts = np.zeros(slowest.size)
    best, best_tau, total = -1.0, 0.0, 0
    for j in range(values.size):
        counts[steps[j]] += 1.0
        total += 1
        tau = values[j]
        if (j + 1 < values.size and values[j + 1] == tau) or tau <= 0.0 or total < least:
            continue
        gain = 0.0
        for i in range(slowest.size):
            gain += counts[i] / per_step * (slowest[i] + overhead[i]) / (min(tau, slowest[i]) + overhead[i])
        if gain > best:
            best, best_tau = gain, tau
    return best / slowest.size, best_tau


def _calibration(latencies: ArrayLike, overhead: ArrayLike) -> tuple[Floats, Floats]:
    t = checked_latencies(latencies, 3)
    given = as_numbers(overhead, "overhead", np.float64)
    if given.shape not in ((), (1,), (len(t),)):
        raise ValueError(f"overhead must be a number, or one for each of {len(t)} steps, got shape {given.shape}")
    T_c = np.broadcast_to(given, (len(t),)).copy()
    for value in T_c:
        checked_overhead(value)
    if not t.any():
        raise ValueError("latencies must not all be zero, got nothing else")
    if ((T_c == 0) & ~t.any(axis=(1, 2))).any():
        raise ValueError("latencies of a step without overhead must not all be zero, got nothing else in one")
    warn_degenerate(float(T_c.max()), float(t.std() / t.mean()))
    return np.cumsum(t, axis=2), T_c


@of_python_numbers
def best_threshold(latencies: ArrayLike, overhead: ArrayLike = 0.0, *, drop_rate: float = 1.0) -> Threshold:
    """The threshold with the largest gain on calibration steps: Algorithm 2, with every candidate that can be best.

    The objective is the mean over the steps of (T_i + T_c)/(min(tau, T_i) + T_c) times the share of micro-batches with
    S <= tau. Between two observed elapsed times that share is constant and the first factor falls, so that the
    maximum is at an observed elapsed time: no grid is needed. (Where a first micro-batch takes no time, gains may grow
    as tau goes to zero, which is no threshold: then the best of the positive elapsed times is returned.)

    Parameters
    ----------
    latencies : (steps, N, M) array
        Of calibration steps without a threshold.
    overhead : float or (steps,) array
        T_c; without any, and latencies that vary much, the best threshold drops nearly everything: a warning says so.
    drop_rate : float
        Largest share of the calibration's micro-batches that may be dropped, in [0, 1]: k of n may be where k / n, as a
        float, is not larger. So 0.3 is three of ten.

    Returns
    -------
    Threshold
        The smallest of the best; its gain is at least 1, which no threshold at all has, whatever `drop_rate` is.

    Examples
    --------
    >>> best_threshold([[[1, 1], [1, 1], [1, 3]]], overhead=1.0).tau
    2.0
    """
    if not 0.0 <= checked_real("drop_rate", drop_rate) <= 1.0:
        raise ValueError(f"drop_rate must be in [0, 1], got {drop_rate}")
    sums, T_c = _calibration(latencies, overhead)
    _, N, M = sums.shape
    order = np.argsort(sums, axis=None, kind="stable")
    n = sums.size
    least = n - next(k for k in range(min(int(drop_rate * n) + 1, n), -1, -1) if k / n <= drop_rate)
    slowest = sums[:, :, -1].max(axis=1)
    gain, tau = _search(sums.reshape(-1)[order], order // (N * M), slowest, T_c, least, float(N * M))
    return Threshold(float(tau), float(gain))


def released_threshold(latencies: ArrayLike, overhead: ArrayLike = 0.0) -> Threshold:
    """The threshold that the released code chooses.

    It tries 200 thresholds, evenly spaced from the smallest elapsed time at its seventh or a later micro-batch to the
    largest of all, and takes a step with threshold to end at the last micro-batch that anybody completes before tau
    rather than at min(tau, T): its gain is never below that of the model at the same tau.

    Parameters
    ----------
    latencies : (steps, N, M) array
        Of calibration steps; M >= 7.
    overhead : float or (steps,) array
        T_c.
    """
    sums, T_c = _calibration(latencies, overhead)
    if sums.shape[2] <= _FIRST_CANDIDATE:
        raise ValueError(f"M must be at least {_FIRST_CANDIDATE + 1}, got {sums.shape[2]}")
    slowest = sums[:, :, -1].max(axis=1)
    flat = np.sort(sums.reshape(len(sums), -1), axis=1)
    taus = np.linspace(sums[:, :, _FIRST_CANDIDATE:].min(), sums.max(), _CANDIDATES)
    below = np.stack([row.searchsorted(taus) for row in flat], axis=1)
    last = np.where(below > 0, flat[np.arange(len(flat)), np.maximum(below - 1, 0)], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = np.where(below > 0, below / flat.shape[1] * (slowest + T_c) / (last + T_c), 0.0).mean(axis=1)
    best = int(np.argmax(gains))
    return Threshold(float(taus[best]), float(gains[best]))
