"""Latencies drawn by counter, and steps of many workers made of them: a trial depends on its seed and number alone.

Trial t of seed s has the key ``mix(mix(s) + (t + 1) GOLDEN)`` (splitmix64); workers n and n + ceil(N/2) share the word
``mix(key + (i + 1) GOLDEN)``, i = m ceil(N/2) + n, at micro-batch m. Radius and angle of a pair of normals take 40 and
24 bits of it, so that normals reach 7.5 standard deviations. Neither threads nor tiles enter.
"""

import math
from typing import Any

import numpy as np
from numba import njit

NORMAL, LOGNORMAL, EXPONENTIAL, UNIFORM, GAMMA, LATTICE, HISTOGRAM = range(7)
"""Families that the kernel draws from; `LatencyLaw.plan` says which, with its numbers."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX1 = np.uint64(0xBF58476D1CE4E5B9)
MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)
_S11, _S22, _S24, _S32, _S52 = np.uint64(11), np.uint64(22), np.uint64(24), np.uint64(32), np.uint64(52)
_LOW2, _LOW22, _LOW32 = np.uint64(3), np.uint64(2**22 - 1), np.uint64(2**32 - 1)
_MANTISSA = np.uint64(2**52 - 1)
_ROOT_HALF = np.uint64(0x3FE6A09E667F3BCD)
"""The bits of sqrt(1/2)."""
_SHIFT = np.uint64((1024 << 52) - int(_ROOT_HALF))
_LN2, _QUARTER = math.log(2.0), math.pi / 2.0
_ONE, _TWO = np.uint64(1), np.uint64(2)
_TILE = 512
"""Pairs of workers that go through their micro-batches together: their sums stay in the first-level cache."""


@njit(cache=True, nogil=True)
def _mix(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> _S30)) * MIX1
    z = (z ^ (z >> _S27)) * MIX2
    return z ^ (z >> _S31)


@njit(cache=True, nogil=True)
def _trial_key(seed, trial):  # type: ignore[no-untyped-def]
    return _mix(_mix(seed) + (trial + _ONE) * GOLDEN)


@njit(cache=True, nogil=True, error_model="numpy")
def _log(u):  # type: ignore[no-untyped-def]
    # u = 2^e m, sqrt(1/2) <= m < sqrt(2), s = (m - 1)/(m + 1): log m = 2 (s + s^3/3 + ... + s^13/13), next < 5e-13
    bits = np.float64(u).view(np.uint64) + _SHIFT
    m = np.uint64((bits & _MANTISSA) + _ROOT_HALF).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    w = s * s
    series = (((((w * (1 / 13) + 1 / 11) * w + 1 / 9) * w + 1 / 7) * w + 1 / 5) * w + 1 / 3) * w + 1.0
    return (np.float64(np.int64(bits >> _S52)) - 1024.0) * _LN2 + 2.0 * s * series


@njit(cache=True, nogil=True, error_model="numpy")
def _exp(y):  # type: ignore[no-untyped-def]
    # y = n log 2 + r, |r| <= log(2)/2; Taylor to r^9, next term < 7e-12
    n = np.floor(y * (1.0 / _LN2) + 0.5)
    r = y - n * _LN2
    p = ((((r * (1 / 362880) + 1 / 40320) * r + 1 / 5040) * r + 1 / 720) * r + 1 / 120) * r + 1 / 24
    p = (((p * r + 1 / 6) * r + 0.5) * r + 1.0) * r + 1.0
    return p * np.int64((np.int64(n) + np.int64(1023)) << np.int64(52)).view(np.float64)


@njit(cache=True, nogil=True, error_model="numpy")
def _pair(word):  # type: ignore[no-untyped-def]
    # Box-Muller: radius from 40 bits, quarter of the circle from two, angle in the quarter, (-pi/4, pi/4), from 22;
    # the signs and the order of a quarter are a rotation of it or a reflection, under which the angle is uniform
    radius = math.sqrt(-2.0 * _log((np.float64(np.int64(word >> _S24)) + 0.5) * 2.0**-40))
    quarter = np.int64((word >> _S22) & _LOW2)
    x = (np.float64(np.int64(word & _LOW22)) * 2.0**-22 + (2.0**-23 - 0.5)) * _QUARTER
    w = x * x
    s = ((((w * (-1 / 39916800) + 1 / 362880) * w - 1 / 5040) * w + 1 / 120) * w - 1 / 6) * w * x + x
    c = (((((w * (1 / 479001600) - 1 / 3628800) * w + 1 / 40320) * w - 1 / 720) * w + 1 / 24) * w - 0.5) * w + 1.0
    swap = np.float64(quarter & np.int64(1)) * (s - c)
    radius *= 1.0 - np.float64(quarter & np.int64(2))
    return radius * (c + swap), radius * (s - swap)


@njit(cache=True, nogil=True)
def _unit(word):  # type: ignore[no-untyped-def]
    # a uniform strictly inside (0, 1), from 53 bits
    return (np.float64(np.int64(word >> _S11)) + 0.5) * 2.0**-53


@njit(cache=True, nogil=True)
def _gamma(shape, key):  # type: ignore[no-untyped-def]
    # Marsaglia and Tsang 2000, with the boost U^(1/shape) below 1; attempt a takes words 2a + 1 and 2a + 2 of this key
    boost = 1.0
    if shape < 1.0:
        boost = _unit(_mix(key)) ** (1.0 / shape)
    d = (shape + 1.0 if shape < 1.0 else shape) - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    counter = key
    while True:
        counter += GOLDEN
        x, _ = _pair(_mix(counter))
        counter += GOLDEN
        u = _unit(_mix(counter))
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
            return d * v * boost


@njit(cache=True, nogil=True)
def _cell(word, keep, alias):  # type: ignore[no-untyped-def]
    # Walker's alias method: a cell from the high half of the word, kept or exchanged by the low half
    cell = np.int64(((word >> _S32) * np.uint64(keep.size)) >> _S32)
    return cell if np.float64(np.int64(word & _LOW32)) * 2.0**-32 < keep[cell] else alias[cell]


@njit(cache=True, nogil=True)
def _one(family, a, b, c, keep, alias, key, counter):  # type: ignore[no-untyped-def]
    word = _mix(key + (counter + _ONE) * GOLDEN)
    if family == GAMMA:
        return a + b * _gamma(c, word)
    if family == LATTICE:
        return a + b * np.float64(_cell(word, keep, alias))
    return a + b * (np.float64(_cell(word, keep, alias)) + _unit(_mix(word + GOLDEN)))


@njit(cache=True, nogil=True, error_model="numpy")
def _row(family, numbers, keep, alias, key, start, low, high):  # type: ignore[no-untyped-def]
    # low[j], high[j]: latencies of the pair with counter start + j
    a, b, c = numbers[0], numbers[1], numbers[2]
    if family == NORMAL:
        for j in range(low.size):
            x, y = _pair(_mix(key + (start + np.uint64(j) + _ONE) * GOLDEN))
            low[j] = a + b * x
            high[j] = a + b * y
    elif family == LOGNORMAL:
        for j in range(low.size):
            x, y = _pair(_mix(key + (start + np.uint64(j) + _ONE) * GOLDEN))
            low[j] = x
            high[j] = y
        for j in range(low.size):
            low[j] = a + _exp(c + b * low[j])
        for j in range(high.size):
            high[j] = a + _exp(c + b * high[j])
    elif family in (EXPONENTIAL, UNIFORM):
        for j in range(low.size):
            word = _mix(key + (start + np.uint64(j) + _ONE) * GOLDEN)
            low[j] = (np.float64(np.int64(word >> _S32)) + 0.5) * 2.0**-32
            high[j] = (np.float64(np.int64(word & _LOW32)) + 0.5) * 2.0**-32
        if family == EXPONENTIAL:
            for j in range(low.size):
                low[j] = -_log(low[j])
                high[j] = -_log(high[j])
        for j in range(low.size):
            low[j] = a + b * low[j]
            high[j] = a + b * high[j]
    else:
        for j in range(low.size):
            at = (start + np.uint64(j)) * _TWO
            low[j] = _one(family, a, b, c, keep, alias, key, at)
            high[j] = _one(family, a, b, c, keep, alias, key, at + _ONE)


@njit(cache=True, nogil=True)
def _latencies(family, numbers, keep, alias, key, out):  # type: ignore[no-untyped-def]
    # out: (M, 2 ceil(N/2)), lanes n and n + ceil(N/2) a pair
    half = out.shape[1] // 2
    for m in range(out.shape[0]):
        _row(family, numbers, keep, alias, key, np.uint64(m * half), out[m, :half], out[m, half:])


@njit(cache=True, nogil=True, error_model="numpy")
def _advance(sums, row, times, tau, rule, forward):  # type: ignore[no-untyped-def]
    # one micro-batch of every lane; the number of micro-batches that count
    count = 0
    if rule == 0:
        for j in range(row.size):
            sums[j] += row[j]
            count += int(sums[j] < tau)
    elif rule == 1:
        for j in range(row.size):
            sums[j] += row[j]
            count += int(sums[j] <= tau)
    else:
        for j in range(row.size):
            if sums[j] <= tau:
                middle = sums[j] + forward * row[j]
                times[j] = middle if middle > tau else sums[j] + row[j]
                count += int(middle <= tau)
            sums[j] += row[j]
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def _trials(family, numbers, keep, alias, seed, first, N, M, tau, rule, forward, out):  # type: ignore[no-untyped-def]
    # out[i]: slowest worker without a threshold, step with it, micro-batches that count; of trial first + i
    half = (N + 1) // 2
    low, high = np.empty(_TILE), np.empty(_TILE)
    low_sums, high_sums, low_times, high_times = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    for i in range(out.shape[0]):
        key = _trial_key(seed, first + np.uint64(i))
        slowest, longest, count = -np.inf, -np.inf, 0
        for start in range(0, half, _TILE):
            pairs = min(_TILE, half - start)
            upper = min(start + pairs, N - half) - start  # N odd: the last pair has one worker
            low_sums[:] = 0.0
            high_sums[:] = 0.0
            for m in range(M):
                _row(family, numbers, keep, alias, key, np.uint64(m * half + start), low[:pairs], high[:pairs])
                count += _advance(low_sums, low[:pairs], low_times, tau, rule, forward)
                count += _advance(high_sums, high[:upper], high_times, tau, rule, forward)
            for j in range(pairs):
                slowest = max(slowest, low_sums[j])
            for j in range(upper):
                slowest = max(slowest, high_sums[j])
            if rule == 2:
                for j in range(pairs):
                    longest = max(longest, low_times[j])
                for j in range(upper):
                    longest = max(longest, high_times[j])
        out[i, 0] = slowest
        out[i, 1] = longest if rule == 2 else min(tau, slowest)
        out[i, 2] = count


def latencies(plan: Any, seed: int, trial: int, N: int, M: int) -> Any:
    """The (N, M) latencies of one trial, exactly those that `fill_trials` adds up."""
    half = (N + 1) // 2
    out = np.empty((M, 2 * half))
    with np.errstate(over="ignore"):  # without the JIT, numpy warns where the generator means to wrap around
        key = _trial_key(np.uint64(seed), np.uint64(trial))
        _latencies(plan.family, plan.numbers, plan.keep, plan.alias, np.uint64(key), out)
    return np.ascontiguousarray(out[:, :N].T)


def fill_trials(plan, seed, first, N, M, tau, rule, forward, out):  # type: ignore[no-untyped-def]
    """Fill `out` (trials, 3) with slowest worker, step time and counted micro-batches of trials from `first` on."""
    with np.errstate(over="ignore"):
        _trials(
            plan.family, plan.numbers, plan.keep, plan.alias, np.uint64(seed), np.uint64(first), N, M,
            tau, rule, forward, out,
        )  # fmt: skip
