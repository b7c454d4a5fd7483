"""DropCompute, slowly: one worker and one micro-batch at a time, in whatever numbers the latencies are."""

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np

from commbounds.verify.definitions.moshpit import GOLDEN, WORD, mix, options_of


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
    n = sum(map(len, each))
    least = min(n - k for k in range(n + 1) if k / n <= drop_rate)
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


def normal_moments(N):
    """E max of N standard normals, and of its square: integrals over N phi Phi^(N - 1), by the trapezoidal rule.

    Its error falls faster than any power of the step.
    """
    first, second, h = 0.0, 0.0, 1 / 64
    for k in range(-40 * 64, 40 * 64 + 1):
        x = k * h
        tail = math.erfc(abs(x) / math.sqrt(2)) / 2
        log = math.log1p(-tail) if x >= 0 else math.log(tail) if tail else -math.inf
        exponent = (N - 1) * log - x * x / 2 if N > 1 else -x * x / 2
        first += x * N * math.exp(exponent)
        second += x * x * N * math.exp(exponent)
    return first * h / math.sqrt(2 * math.pi), second * h / math.sqrt(2 * math.pi)


# --- latencies by counter ---------------------------------------------------------------------------------------------


def alias_tables(weights):
    """Walker's tables: what a cell keeps, and for whom it is exchanged; the last that has too little comes first."""
    scale = len(weights) / sum(weights)
    keep = [w * scale for w in weights]
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


S, H, U = 3 - 2 * math.sqrt(2), math.log(2) / 2, 2.0**-52
LOG = 2 * S**15 / 15 / (1 - S**2)
"""What is left out of 2 (s + s^3/3 + ... + s^13/13), |s| <= 3 - 2 sqrt(2)."""
EXP = math.sqrt(2) * H**10 / math.factorial(10) / (1 - H)
"""What is left out of Taylor's series to r^9, |r| <= log(2)/2, as a share of exp(r)."""
SINE = (math.pi / 4) ** 13 / math.factorial(13)
"""What is left out of x - x^3/6 + ... - x^11/11!, |x| <= pi/4; of the cosine it is less."""


def normal_pair(word):
    """Box and Muller's: radius from 40 bits, a quarter of the circle from two, the angle in it from 22; what is off."""
    log = -math.log(((word >> 24) + 0.5) / 2**40)
    radius, quarter = math.sqrt(2 * log), word >> 22 & 3
    angle = ((word & 2**22 - 1) / 2**22 + 2.0**-23 - 0.5) * math.pi / 2
    turned = [math.cos(angle), math.sin(angle)]
    sign = -1 if quarter & 2 else 1
    off = (LOG + 8 * U * (1 + log)) / radius + radius * (2 * SINE + 8 * U)
    return [sign * radius * v for v in (turned[::-1] if quarter & 1 else turned)], off


def gamma_draw(shape, key):
    """Marsaglia and Tsang's, with the boost below shape 1: attempt a takes words 2 a + 1 and 2 a + 2 of its key."""

    def unit(word):
        return ((word >> 11) + 0.5) / 2**53

    boost = unit(mix(key)) ** (1 / shape) if shape < 1 else 1.0
    d = (shape + 1 if shape < 1 else shape) - 1 / 3
    c, attempt = 1 / math.sqrt(9 * d), 0
    while True:
        (x, _), off = normal_pair(mix((key + (2 * attempt + 1) * GOLDEN) % WORD))
        u, v = unit(mix((key + (2 * attempt + 2) * GOLDEN) % WORD)), (1 + c * x) ** 3
        if v > 0 and math.log(u) < x * x / 2 + d - d * v + d * math.log(v):
            return d * v * boost, d * boost * (3 * c * (1 + c * (abs(x) + off)) ** 2 * off + 64 * U * v)
        attempt += 1


def trial_key(seed, trial):
    """What the words of a trial are counted from."""
    return mix((mix(seed) + (trial + 1) * GOLDEN) % WORD)


def first_word(seed, trial):
    """The word of a trial's first latency."""
    return mix((trial_key(seed, trial) + GOLDEN) % WORD)


def latencies_of(law, N, M, seed, trial):
    """(N, M) latencies of a trial, and what each may be off by; workers n and n + ceil(N/2) share a word."""
    key, half = trial_key(seed, trial), (N + 1) // 2
    family = law["record"] if law["record"] != "Gamma" or law["shape"] != 1 else "Exponential"
    if family in ("Lattice", "Histogram"):
        weights = np.array(law["weights" if family == "Lattice" else "counts"], float)
        weights = np.trim_zeros(weights, "b") if family == "Lattice" else weights
        keep, alias = alias_tables([float(w) for w in weights / weights.sum()])

    def word(counter):
        return mix((key + (counter + 1) * GOLDEN) % WORD)

    def latency(n, m):
        place, second = m * half + n % half, n // half
        if family in ("Uniform", "Exponential"):
            bits = word(place)
            part = ((bits % 2**32 if second else bits >> 32) + 0.5) / 2**32
            if family == "Uniform":
                return law["low"] + (law["high"] - law["low"]) * part, 0.0
            value = law["base"] - law["scale"] * math.log(part)
            return value, law["scale"] * (LOG + 8 * U * (1 - math.log(part))) + 4 * U * value
        if family in ("Normal", "Lognormal"):
            pair, off = normal_pair(word(place))
            if family == "Normal":
                return law["average"] + law["deviation"] * pair[second], law["deviation"] * off + 8 * U * law["average"]
            noise = math.exp(law["location"] + law["shape"] * pair[second])
            return law["base"] + noise, noise * (2 * law["shape"] * off + EXP + 64 * U) + 4 * U * law["base"]
        bits = word(2 * place + second)
        if family == "Gamma":
            value, off = gamma_draw(law["shape"], bits)
            return law["base"] + law["scale"] * value, law["scale"] * off + 8 * U * (law["base"] + law["scale"] * value)
        cell = (bits >> 32) * len(keep) >> 32
        cell = cell if (bits % 2**32) / 2**32 < keep[cell] else alias[cell]
        if family == "Lattice":
            return law["base"] + law["unit"] * float(cell), 0.0
        return law["start"] + law["width"] * (cell + ((mix((bits + GOLDEN) % WORD) >> 11) + 0.5) / 2**53), 0.0

    drawn = [[latency(n, m) for m in range(M)] for n in range(N)]
    return [[[entry[part] for entry in row] for row in drawn] for part in (0, 1)]


# --- what is given -> all that is returned ----------------------------------------------------------------------------


def floats(array):
    return [[float(v) for v in row] for row in array]


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


def degenerate(overheads, latencies):
    """Whether a warning says that thresholds may drop nearly all: no overhead, and deviations of the mean or more."""
    values = [Fraction(float(v)) for v in np.ravel(latencies)]
    mean = sum(values) / len(values)
    return not any(overheads) and sum((v - mean) ** 2 for v in values) >= mean**2 * len(values)


def without_time(steps, overheads):
    """Whether a step takes no time, of which no share can be saved."""
    return any(T_c == 0 and not any(map(any, part)) for part, T_c in zip(steps, overheads, strict=True))


def chosen_best(held):
    steps, overheads = calibration(held)
    if without_time(steps, overheads):
        return {"refused": "ValueError"}
    tau, gain = best(steps, overheads, options_of(held, drop_rate=1.0)["drop_rate"])
    return {"threshold": {"tau": tau, "gain": gain}, "warned": degenerate(overheads, held["inputs"]["latencies"])}


def chosen_by_release(held):
    steps, overheads = calibration(held)
    if without_time(steps, overheads):
        return {"refused": "ValueError"}
    tau, gain = released(steps, overheads)
    return {"threshold": {"tau": tau, "gain": gain}, "warned": degenerate(overheads, held["inputs"]["latencies"])}


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
    first, second = normal_moments(held["parameters"]["N"])
    allowed = 1e-12 * max(first, 0.5)
    return {"maximum": {"near": first, "allowance": allowed},
            "moments": {"near": [first, second], "allowance": np.array([allowed, 4e-12 * second])}}  # fmt: skip


def of_trials(held):
    """In bits, or within what the latencies of a worker are off by together, and their sums' roundings."""
    given = options_of(held, **STEP, first=0)
    law, N, M = given["law"], given["N"], given["M"]
    drawn = [latencies_of(law, N, M, given["seed"], given["first"] + i) for i in range(given["trials"])]
    names = ("tau", "overhead", "preemption", "forward", "at_threshold")
    found = [step(rows, *(given[name] for name in names)) for rows, _ in drawn]
    off = [max(map(sum, offs)) for _, offs in drawn]
    trials = {}
    for place, name in enumerate(("time", "slowest")):
        values = np.array([float(one[place]) for one in found])
        allowed = np.array([lost + (M + 2) * 2.0**-52 * abs(v) for lost, v in zip(off, values, strict=True)])
        trials[name] = {"near": values, "allowance": allowed} if any(off) else values
    trials["completed"] = np.array([sum(one[2]) for one in found])
    values, allowed = (np.array([one[part] for one in drawn]) for part in (0, 1))
    return {"trials": trials, "latencies": {"near": values, "allowance": allowed} if any(off) else values}
