"""Many independent trials of averaging in groups, each from random numbers of its own: distortion by round."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import get_num_threads, njit
from numpy.typing import ArrayLike

from commbounds.array_types import Floats
from commbounds.collectives._peers import checked_count, checked_rate
from commbounds.collectives._stack import checked_stack
from commbounds.compressors.base import checked_choice

KINDS = ("random", "fixed", "keys")
"""Random groups of equal sizes, a grid of fixed cells, and keys that sampled chunk indices renew."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31, _S32 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_LOW32, _ONE = np.uint64(2**32 - 1), np.uint64(1)
_NONE = np.int64(0)
"""Typed: from a literal that a loop changes, Numba first compiles a kernel that is never called."""


@njit(cache=True, nogil=True)
def _mix(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


@njit(cache=True, nogil=True)
def _shuffle(key, counter, order):  # type: ignore[no-untyped-def]
    # Fisher and Yates; a number below `size` by Lemire's method, exactly uniform. Returns the next free counter.
    for i in range(order.size - 1):
        size = np.uint64(order.size - i)
        product = (_mix(key + counter * _GOLDEN) >> _S32) * size
        counter += _ONE
        if (product & _LOW32) < size:
            unfair = (_LOW32 - size + _ONE) % size
            while (product & _LOW32) < unfair:
                product = (_mix(key + counter * _GOLDEN) >> _S32) * size
                counter += _ONE
        j = i + np.int64(product >> _S32)
        order[i], order[j] = order[j], order[i]
    return counter


@njit(cache=True, nogil=True)
def _fail(key, counter, p, alive):  # type: ignore[no-untyped-def]
    for i in range(alive.size):
        alive[i] = np.float64(_mix(key + counter * _GOLDEN) >> _S11) * 2.0**-53 >= p
        counter += _ONE
    return counter


@njit(cache=True, nogil=True)
def _renew(key, counter, codes, groups, alive, M, width):  # type: ignore[no-untyped-def]
    # who averaged appends the chunk index that it drew to its key, which has room for d - 1 digits: width = M^(d-1)
    filled, slots = np.zeros(width, np.int64), np.empty((width, M), np.int64)
    for g in range(width):
        for c in range(M):
            slots[g, c] = c
        counter = _shuffle(key, counter, slots[g])
    for i in range(codes.size):
        if alive[i]:
            g = groups[i]
            codes[i] = (g * M + slots[g, filled[g] % M]) % width
            filled[g] += 1
    return counter


@njit(cache=True, nogil=True)
def _combine(old, sources, times, count, size, target, sums):  # type: ignore[no-untyped-def]
    # target = (sum over j < count of times[j] old[sources[j]]) / size; returns ||target||^2. Four rows at a time, and
    # eight partial sums: nothing has to be reordered to be vectorised
    n = target.size
    for e in range(n):
        target[e] = 0.0
    whole = count // 4 * 4
    for j in range(0, whole, 4):
        first, second, third, fourth = old[sources[j]], old[sources[j + 1]], old[sources[j + 2]], old[sources[j + 3]]
        a, b, c, d = times[j], times[j + 1], times[j + 2], times[j + 3]
        for e in range(n):
            target[e] += (a * first[e] + b * second[e]) + (c * third[e] + d * fourth[e])
    for j in range(whole, count):
        source, a = old[sources[j]], times[j]
        for e in range(n):
            target[e] += a * source[e]
    for e in range(n):
        target[e] /= size
    sums[:] = 0.0
    for e in range(0, n // 8 * 8, 8):
        part = target[e : e + 8]
        for k in range(8):
            sums[k] += part[k] * part[k]
    for e in range(n // 8 * 8, n):
        sums[0] += target[e] * target[e]
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]))


@njit(cache=True, nogil=True)
def _merge(old, new, holds, groups, alive, weights, sums, ends, work):  # type: ignore[no-untyped-def]
    # peers hold rows of `old`; those of one group come to hold one row of `new`, their mean, and those that fail one of
    # their own. Rows that several members hold are counted before they are added. Returns sum ||x_i||^2
    N, used, total = holds.size, 0, 0.0
    members, sources, times, seen = work[0], work[1], work[2], work[3]
    ends[:] = 0
    for i in range(N):
        if alive[i]:
            ends[groups[i] + 1] += 1
    for g in range(1, ends.size):
        ends[g] += ends[g - 1]
    for i in range(N):
        if alive[i]:
            members[ends[groups[i]]] = i
            ends[groups[i]] += 1
    begin = 0
    for g in range(ends.size - 1):
        size, count = ends[g] - begin, _NONE
        for place in range(begin, ends[g]):
            row = holds[members[place]]
            if seen[row] < 0:
                seen[row] = count
                sources[count], times[count] = row, 0
                count += 1
            times[seen[row]] += 1
        for j in range(count):
            seen[sources[j]] = -1
            weights[j] = times[j]
        if size:
            total += size * _combine(old, sources, weights, count, size, new[used], sums)
            for place in range(begin, ends[g]):
                holds[members[place]] = used
            used += 1
        begin = ends[g]
    for i in range(N):
        if not alive[i]:
            sources[0], weights[0] = holds[i], 1.0
            total += _combine(old, sources, weights, 1, 1, new[used], sums)
            holds[i] = used
            used += 1
    return total


@njit(cache=True, nogil=True)
def _trial(centred, kind, M, d, p, abort, key, out):  # type: ignore[no-untyped-def]
    # kind 0: random groups, M of them; 1: fixed cells of a grid of side M; 2: keys renewed by chunk indices
    N, n = centred.shape
    width = M ** (d - 1)
    first, second = np.empty((N, n)), np.empty((N, n))
    holds, groups, codes = np.empty(N, np.int64), np.empty(N, np.int64), np.empty(N, np.int64)
    alive, weights, sums, work = np.empty(N, np.bool_), np.empty(N), np.empty(8), np.empty((4, N), np.int64)
    for i in range(N):
        holds[i], groups[i], codes[i], alive[i], work[3, i] = i, i * M // N, i, True, -1
    ends = np.empty((width * M if kind == 1 else max(M, width)) + 1, np.int64)
    broken = np.empty(ends.size, np.bool_)
    old, new = centred, first
    counter = _ONE
    if kind > 0:  # peers in random cells, all different
        cells = np.empty(width * M, np.int64)
        for i in range(cells.size):
            cells[i] = i
        counter = _shuffle(key, counter, cells)
        for i in range(N):
            codes[i] = cells[i] // M if kind == 2 else cells[i]
    for t in range(out.size):
        if kind == 0:
            counter = _shuffle(key, counter, groups)
        elif kind == 1:
            weight = M ** (d - 1 - t % d)
            for i in range(N):
                groups[i] = codes[i] - codes[i] // weight % M * weight
        else:
            for i in range(N):
                groups[i] = codes[i]
        if p > 0.0:
            counter = _fail(key, counter, p, alive)
            if abort:
                broken[:] = False
                for i in range(N):
                    broken[groups[i]] |= not alive[i]
                for i in range(N):
                    alive[i] = not broken[groups[i]]
        out[t] = _merge(old, new, holds, groups, alive, weights, sums, ends, work) / N
        if kind == 2:
            counter = _renew(key, counter, codes, groups, alive, M, width)
        old, new = new, (second if t % 2 == 0 else first)


@njit(cache=True, nogil=True)
def _trials(centred, kind, M, d, p, abort, seed, first, out):  # type: ignore[no-untyped-def]
    root = _mix(seed)
    for j in range(out.shape[0]):
        key = _mix(root + np.uint64(first + j + 1) * _GOLDEN)
        _trial(centred, kind, M, d, p, abort, key, out[j])


def group_trials(
    stack: ArrayLike,
    kind: str,
    M: int,
    rounds: int,
    trials: int,
    seed: int,
    *,
    d: int = 2,
    p: float = 0.0,
    rule: str = "skip",
    first: int = 0,
) -> Floats:
    """The distortion after every round of many independent trials, about the initial mean, which all of them keep.

    Sums that leave the range of the dtype become infinite, or NaN.

    Parameters
    ----------
    stack : (N, n) float32 or float64
        The peers' vectors, the same in all trials; finite.
    kind : str
        "random": a random permutation cut into M groups whose sizes differ by at most one. "fixed" and "keys": peers
        in random cells of a grid, which stay theirs, or whose first d - 1 digits are their first keys; see
        `grid_average` and `moshpit`.
    M : int
        Number of groups ("random", at most N), or side of the grid (M^d >= N).
    rounds, trials : int
        Both >= 1.
    seed : int
        Root of all random numbers, 0 <= seed < 2^64.
    d : int
        Dimensions of the grid.
    p : float
        Probability that a peer fails in a round, independently.
    rule : "skip" or "abort"
        Whether a group goes on without its failed members, or does nothing in that round.
    first : int
        Number of the first trial.

    Returns
    -------
    (trials, rounds) float64
        Row j depends on `seed` and on its number first + j alone, whatever the number of threads and of trials.

    Raises
    ------
    TypeError, ValueError
        As `checked_stack` says; a parameter out of its range.

    Notes
    -----
    Peers with equal vectors share one copy. Computed in float64 from vectors whose mean has been taken away; random
    numbers are splitmix64 of (seed, trial, counter): first a shuffle of the cells; then, in every round, a shuffle
    of the groups ("random"), a number for every peer where p > 0, and a shuffle of every key's slots ("keys"). Where
    failures leave more than M peers with one key, all of them average ("keys" only).

    Examples
    --------
    >>> group_trials([[1.0], [2.0], [3.0], [6.0]], "fixed", 2, 2, 1, 0).tolist()
    [[1.0, 0.0]]
    """
    array = checked_stack(stack).astype(np.float64)
    N = len(array)
    checked_choice("kind", kind, KINDS)
    checked_choice("rule", rule, ("skip", "abort"))
    rounds, trials = checked_count(rounds, "rounds"), checked_count(trials, "trials")
    seed, first = checked_count(seed, "seed", 0, 2**64 - 1), checked_count(first, "first", 0)
    d, M = checked_count(d, "d"), checked_count(M, "M", 1, N if kind == "random" else None)
    if kind != "random" and M**d < N:
        raise ValueError(f"a grid of {M}^{d} cells cannot hold {N} peers")
    fixed: tuple[Any, ...] = (array - array.mean(axis=0), KINDS.index(kind), M, 1 if kind == "random" else d)
    fixed += (checked_rate(p, "p"), rule == "abort", np.uint64(seed))
    out = np.empty((trials, rounds))
    threads = min(get_num_threads(), trials)
    bounds = [trials * t // threads for t in range(threads + 1)]

    def work(t: int) -> None:
        with np.errstate(over="ignore"):  # without the JIT, numpy warns where the generator means to wrap around
            _trials(*fixed, first + bounds[t], out[bounds[t] : bounds[t + 1]])

    if threads == 1 or array.size * trials * rounds < 1 << 20:
        for t in range(threads):
            work(t)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(threads)))
    return out
