"""DropCompute, slowly: one worker and one micro-batch at a time, in whatever numbers the latencies are."""

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np

from commbounds.verify.definitions.moshpit import GOLDEN, WORD, mix


def worker(latencies, tau, preemption, forward=0, at_threshold=False):
    """What counts of one worker, and when it stops."""
    elapsed, count = 0, 0
    if preemption == "A":
        for t in latencies:
            elapsed += t
            if elapsed < tau or (at_threshold and elapsed == tau):
                count += 1
        return count, min(elapsed, tau)
    for t in latencies:
        if elapsed > tau:  # tested before the forward, which is after the micro-batch before
            break
        if preemption == "C":
            middle = elapsed + forward * t
            if middle > tau:  # tested between forward and backward
                return count, middle
        elapsed += t
        count += 1
    return count, elapsed


def step(latencies, tau, overhead=0, preemption="A", forward=0, at_threshold=False):
    """(time, time without a threshold, what counts of every worker, when each stops)."""
    workers = [worker(row, tau, preemption, forward, at_threshold) for row in latencies]
    slowest = max(list(accumulate(row))[-1] for row in latencies)
    times = [t for _, t in workers]
    return max(times) + overhead, slowest + overhead, [count for count, _ in workers], times


def backup(latencies, spare, overhead=0):
    """The same when the spare slowest are not waited for; the first of equals is faster."""
    totals = [list(accumulate(row))[-1] for row in latencies]
    waited = sorted((total, n) for n, total in enumerate(totals))[: len(totals) - spare]
    kept, last = {n for _, n in waited}, waited[-1][0]
    completed = [len(row) if n in kept else 0 for n, row in enumerate(latencies)]
    return last + overhead, max(totals) + overhead, completed, [min(total, last) for total in totals]


def local_sgd(steps, overhead=0):
    """Time of a period of local steps."""
    workers = len(steps[0])
    return max(sum(sum(step[n]) for step in steps) for n in range(workers)) + overhead


def objective(steps, tau, overhead):
    """Mean over the steps of speed-up times share that is completed at tau or before."""
    total = 0
    for latencies in steps:
        slowest = max(sum(row) for row in latencies)
        done = sum(s <= tau for row in latencies for s in accumulate(row))
        total += (slowest + overhead) / (min(tau, slowest) + overhead) * done / (len(latencies) * len(latencies[0]))
    return total / len(steps)


def best(steps, overheads, drop_rate):
    """The smallest of the best thresholds, and what it gains, in float64: every elapsed time is tried."""
    sums = [[list(accumulate(row)) for row in latencies] for latencies in steps]
    each = [[s for row in latencies for s in row] for latencies in sums]
    slowest = [max(row[-1] for row in latencies) for latencies in sums]
    least = math.ceil((1 - drop_rate) * sum(map(len, each)))
    chosen, gained = None, -1.0
    for tau in sorted({s for part in each for s in part if s > 0}):
        done = [sum(s <= tau for s in part) for part in each]
        if sum(done) < least:
            continue
        gain = 0.0
        for count, part, last, T_c in zip(done, each, slowest, overheads, strict=True):
            gain += count / len(part) * (last + T_c) / (min(tau, last) + T_c)
        if gain > gained:
            chosen, gained = tau, gain
    return chosen, gained / len(steps)


def released(steps, overheads):
    """What the released code chooses of its 200 thresholds, the first of equals."""
    sums = [[list(accumulate(row)) for row in latencies] for latencies in steps]
    low, high = min(s for part in sums for row in part for s in row[6:]), max(row[-1] for part in sums for row in part)
    width, chosen, gained = (high - low) / 199, None, -1.0
    for place in range(200):
        tau, gain = (high if place == 199 else place * width + low), 0.0
        for part, T_c in zip(sums, overheads, strict=True):
            each, slowest = [s for row in part for s in row], max(row[-1] for row in part)
            below = [s for s in each if s < tau]
            if below:
                spent = max(below) + T_c
                gain += len(below) / len(each) * (slowest + T_c) / spent if spent else math.inf
        gain /= len(sums)
        if gain > gained:
            chosen, gained = tau, gain
    return chosen, gained


def added(rows, width):
    """The sum of rows, one after another; zeros where there is none."""
    total = list(rows[0]) if len(rows) else [0.0] * width
    for row in rows[1:]:
        total = [a + b for a, b in zip(total, row, strict=True)]
    return total


def gradient(gradients, completed, normalisation):
    """The gradient of a step, in float64."""
    N, M, d = gradients.shape
    shares = []
    for n in range(N):
        share = added([list(row) for row in gradients[n, : completed[n]]], d)
        shares.append([v / max(1, completed[n]) for v in share] if normalisation == "worker" else share)
    divisor = {"fixed": N * M, "computed": max(1, sum(completed)), "worker": N}[normalisation]
    return [v / divisor for v in added(shares, d)]


def sgd(start, slopes, noise, batches, learning_rate):
    """The points visited on f(x) = sum of slopes x^2/2."""
    x, visited = list(start), []
    for samples, count in zip(noise, batches, strict=True):
        visited.append(x)
        noises = added([list(row) for row in samples[:count]], len(x))
        rate = learning_rate / len(samples)
        x = [v - rate * (int(count) * (slope * v) + e) for v, slope, e in zip(x, slopes, noises, strict=True)]
    return visited


def largest_normal(N):
    """E max of N standard normals: the integral of x N phi Phi^(N - 1), by the trapezoidal rule.

    Its error falls faster than any power of the step.
    """
    total, h = 0.0, 1 / 64
    for k in range(-40 * 64, 40 * 64 + 1):
        x = k * h
        tail = math.erfc(abs(x) / math.sqrt(2)) / 2
        log = math.log1p(-tail) if x >= 0 else math.log(tail) if tail else -math.inf
        exponent = (N - 1) * log - x * x / 2 if N > 1 else -x * x / 2
        total += x * N * math.exp(exponent)
    return total * h / math.sqrt(2 * math.pi)


# --- latencies by counter ---------------------------------------------------------------------------------------------


def alias_tables(weights):
    """Walker's tables: what a cell keeps, and for whom it is exchanged; the last that has too little comes first."""
    keep = [w * (len(weights) / sum(weights)) for w in weights]
    alias = list(range(len(keep)))
    small, large = [i for i, k in enumerate(keep) if k < 1], [i for i, k in enumerate(keep) if k >= 1]
    while small and large:
        i, j = small.pop(), large[-1]
        alias[i] = j
        keep[j] -= 1.0 - keep[i]
        if keep[j] < 1.0:
            small.append(large.pop())
    for i in small + large:
        keep[i] = 1.0
    return keep, alias


def latencies_of(law, N, M, seed, trial):
    """(N, M) latencies of a trial; workers n and n + ceil(N/2) share a word. Laws that need no logarithm."""
    key, half = mix((mix(seed) + (trial + 1) * GOLDEN) % WORD), (N + 1) // 2
    rows = [[0.0] * M for _ in range(N)]

    def word(counter):
        return mix((key + (counter + 1) * GOLDEN) % WORD)

    def unit(bits):
        return ((bits >> 11) + 0.5) / 2**53

    if law["record"] != "Uniform":
        weights = np.array(law["weights" if law["record"] == "Lattice" else "counts"], float)
        weights = np.trim_zeros(weights, "b") if law["record"] == "Lattice" else weights
        keep, alias = alias_tables([float(w) for w in weights / weights.sum()])
    for n in range(N):
        for m in range(M):
            place, second = m * half + n % half, n // half
            if law["record"] == "Uniform":
                bits = word(place)
                part = (bits % 2**32 if second else bits >> 32) + 0.5
                rows[n][m] = law["low"] + (law["high"] - law["low"]) * (part / 2**32)
                continue
            bits = word(2 * place + second)
            cell = (bits >> 32) * len(keep) >> 32
            cell = cell if (bits % 2**32) / 2**32 < keep[cell] else alias[cell]
            if law["record"] == "Lattice":
                rows[n][m] = law["base"] + law["unit"] * float(cell)
            else:
                rows[n][m] = law["start"] + law["width"] * (cell + unit(mix((bits + GOLDEN) % WORD)))
    return rows


# --- what is given -> all that is returned ----------------------------------------------------------------------------


def floats(array):
    return [[float(v) for v in row] for row in array]


def options_of(held, **defaults):
    return {**defaults, **held["parameters"], **held["randomness"]}


STEP = {"overhead": 0.0, "preemption": "A", "forward": 1 / 3, "at_threshold": False}


def said_of(found):
    time, slowest, completed, times = found
    return {
        "time": float(time),
        "slowest": float(slowest),
        "completed": np.array(completed),
        "worker_times": np.array(times),
    }


def dropped(held):
    given = options_of(held, **STEP)
    names = ("tau", "overhead", "preemption", "forward", "at_threshold")
    return {"step": said_of(step(floats(held["inputs"]["latencies"]), *(given[name] for name in names)))}


def spared(held):
    given = options_of(held, overhead=0.0)
    return {"step": said_of(backup(floats(held["inputs"]["latencies"]), given["spare"], float(given["overhead"])))}


def period(held):
    steps = [[[Fraction(float(v)) for v in row] for row in part] for part in held["inputs"]["latencies"]]
    return {"seconds": float(local_sgd(steps)) + float(options_of(held, overhead=0.0)["overhead"])}


def calibration(held):
    steps = [floats(part) for part in held["inputs"]["latencies"]]
    given = options_of(held, overhead=0.0)["overhead"]
    overheads = [float(v) for v in np.ravel(given)]
    return steps, overheads * len(steps) if len(overheads) == 1 else overheads


def without_time(steps, overheads):
    """Whether a step takes no time, of which no share can be saved."""
    return any(T_c == 0 and not any(map(any, part)) for part, T_c in zip(steps, overheads, strict=True))


def chosen_best(held):
    steps, overheads = calibration(held)
    if without_time(steps, overheads):
        return {"refused": "ValueError"}
    tau, gain = best(steps, overheads, options_of(held, drop_rate=1.0)["drop_rate"])
    return {"threshold": {"tau": tau, "gain": gain}}


def chosen_by_release(held):
    steps, overheads = calibration(held)
    if without_time(steps, overheads):
        return {"refused": "ValueError"}
    tau, gain = released(steps, overheads)
    return {"threshold": {"tau": tau, "gain": gain}}


def of_gradient(held):
    inputs = held["inputs"]
    completed = [int(count) for count in inputs["completed"]]
    kind = options_of(held, normalisation="fixed")["normalisation"]
    return {"gradient": np.array(gradient(np.array(inputs["gradients"], float), completed, kind))}


def of_sgd(held):
    inputs, given = held["inputs"], held["parameters"]
    start = [float(v) for v in inputs["start"]]
    slopes = [1.0 if given["gradient"] == "identity" else 1.0 + i for i in range(len(start))]
    return {"visited": np.array(sgd(start, slopes, inputs["noise"], given["batches"], given["learning_rate"]))}


def of_maximum(held):
    """Within the relative error that is promised; of one, whose maximum is 0, within that of two."""
    value = largest_normal(held["parameters"]["N"])
    return {"maximum": {"near": [value], "allowance": 1e-12 * max(value, 0.5)}}


def of_trials(held):
    given = options_of(held, **STEP, first=0)
    law, N, M = given["law"], given["N"], given["M"]
    drawn = [latencies_of(law, N, M, given["seed"], given["first"] + i) for i in range(given["trials"])]
    names = ("tau", "overhead", "preemption", "forward", "at_threshold")
    found = [step(rows, *(given[name] for name in names)) for rows in drawn]
    trials = {
        "time": np.array([float(one[0]) for one in found]),
        "slowest": np.array([float(one[1]) for one in found]),
        "completed": np.array([sum(one[2]) for one in found]),
    }
    return {"trials": trials, "latencies": np.array(drawn)}
