"""DropCompute, slowly: one worker and one micro-batch at a time, in whatever numbers the latencies are."""

import math
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise

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


def latencies_of(law, N, M, seed, trial):
    """(N, M) latencies of a trial, and what each may be off by; workers n and n + ceil(N/2) share a word."""
    key, half = mix((mix(seed) + (trial + 1) * GOLDEN) % WORD), (N + 1) // 2
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


# --- laws of latencies ------------------------------------------------------------------------------------------------


def law_made(kind, numbers):
    """A law's family and numbers, as it is asked for by name."""
    if kind == "bernoulli":
        low, high, share = numbers
        return {"record": "Lattice", "base": low, "unit": high - low, "weights": [1.0 - share, share]}
    if kind == "released_noise":
        base, factor = (*numbers, 1.0, 1.0)[:2] if numbers else (1.0, 1.0)
        weights = [math.exp(-((math.log(K) - 4) ** 2) / 2) / K for K in range(1, 1000)]
        mean = sum(K * w for K, w in enumerate(weights, 1)) / sum(weights)
        return {"record": "Lattice", "base": base, "unit": base * factor / (2 * mean), "weights": [0.0, *weights]}
    if kind == "Exponential":
        scale, base = (*numbers, 0.0)[:2]
        return {"record": "Gamma", "shape": 1.0, "scale": scale, "base": base}
    names = {
        "Normal": ("average", "deviation"), "Lognormal": ("location", "shape", "base"),
        "Gamma": ("shape", "scale", "base"), "Uniform": ("low", "high"), "Lattice": ("base", "unit", "weights"),
        "Histogram": ("start", "width", "counts"),
    }[kind]  # fmt: skip
    return {"record": kind, **dict(zip(names, (*numbers, 0.0), strict=False))}


def cells_of(law):
    """(value, weight) of a lattice's points or of the middles of a histogram's bins."""
    if law["record"] == "Lattice":
        return [(law["base"] + law["unit"] * j, float(w)) for j, w in enumerate(law["weights"])]
    return [(law["start"] + law["width"] * (j + 0.5), float(w)) for j, w in enumerate(law["counts"])]


def central_moments(law):
    """Mean, variance, and the third central moment."""
    if law["record"] == "Normal":
        return law["average"], law["deviation"] ** 2, 0.0
    if law["record"] == "Uniform":
        return (law["low"] + law["high"]) / 2, (law["high"] - law["low"]) ** 2 / 12, 0.0
    if law["record"] == "Gamma":
        k, scale = law["shape"], law["scale"]
        return law["base"] + k * scale, k * scale**2, 2 * k * scale**3
    if law["record"] == "Lognormal":
        first, second, third = (math.exp(j * law["location"] + j**2 * law["shape"] ** 2 / 2) for j in (1, 2, 3))
        return law["base"] + first, second - first**2, third - 3 * first * second + 2 * first**3
    cells = cells_of(law)
    total = math.fsum(w for _, w in cells)
    mean = math.fsum(w * v for v, w in cells) / total
    second, third = (math.fsum(w * (v - mean) ** j for v, w in cells) / total for j in (2, 3))
    return mean, second + law.get("width", 0.0) ** 2 / 12, third


def ends_of(law):
    """The least and the largest latency."""
    if law["record"] == "Lattice":
        places = [j for j, w in enumerate(law["weights"]) if w]
        return law["base"] + law["unit"] * places[0], law["base"] + law["unit"] * places[-1]
    if law["record"] == "Histogram":
        return law["start"], law["start"] + law["width"] * len(law["counts"])
    if law["record"] == "Uniform":
        return law["low"], law["high"]
    return -math.inf if law["record"] == "Normal" else law["base"], math.inf


def ageing(law):
    """Whether the law is IFR, and whether it is new better than used in expectation; None where neither is known."""
    if law["record"] in ("Normal", "Uniform"):
        return [True, True]
    if law["record"] == "Gamma":
        known = True if law["shape"] >= 1 else None if law["base"] else False
        return [known, known]
    if law["record"] != "Lattice":
        return [None, None]
    # E (t - x)^+ at the atoms x, from the last one down, and what is beyond them; exactly
    cells, better = [(Fraction(v), Fraction(w)) for v, w in cells_of(law)], True
    total, first = sum(w for _, w in cells), sum(w * v for v, w in cells)
    beyond, alive, after = Fraction(0), Fraction(0), cells[-1][0]
    for x, w in cells[::-1]:
        beyond += alive * (after - x)
        better = better and beyond * total <= first * alive
        alive, after = alive + w, x
    return [None, better]


def single_below(law, x):
    """P(t <= x)."""
    if law["record"] == "Normal":
        return math.erfc((law["average"] - x) / (law["deviation"] * math.sqrt(2))) / 2
    if law["record"] == "Lognormal":
        z = (law["location"] - math.log(x - law["base"])) / law["shape"] if x > law["base"] else math.inf
        return math.erfc(z / math.sqrt(2)) / 2
    if law["record"] == "Gamma":  # y^k exp(-y) / Gamma(k + 1) times 1 + y/(k + 1) + y^2/((k + 1)(k + 2)) + ...
        k, y = law["shape"], (x - law["base"]) / law["scale"]
        if y <= 0 or y == math.inf:
            return float(y > 0)
        term, total, n = 1.0, 0.0, 0
        while total + term != total:
            total, n = total + term, n + 1
            term *= y / (k + n)
        return math.exp(k * math.log(y) - y - math.lgamma(k + 1)) * total
    if law["record"] == "Uniform":
        return min(max((x - law["low"]) / (law["high"] - law["low"]), 0.0), 1.0)
    if abs(x) == math.inf:
        return float(x > 0)
    width, cells = law.get("width", 0.0), cells_of(law)
    shares = (w * (min(max((x - v) / width + 0.5, 0.0), 1.0) if width else float(v <= x)) for v, w in cells)
    return math.fsum(shares) / math.fsum(w for _, w in cells)


def law_facts(law, at):
    """What is known of a law: each number within some roundings of what it is made of."""
    mean, second, third = central_moments(law)
    raw = [abs(mean), second + mean**2, abs(third) + 3 * abs(mean) * second + abs(mean) ** 3]
    roundings = (64 + 4 * len(law.get("weights", law.get("counts", ())))) * U
    chances, off = [], []
    for x in at:
        chances.append(single_below(law, x))
        moved = [single_below(law, x * (1 + k * 64 * U)) for k in (-1, 1)] if law["record"] != "Lattice" else [0, 0]
        off.append(abs(moved[1] - moved[0]) + 8 * roundings + (1e-13 if law["record"] == "Gamma" else 0.0))
    beyond = "TypeError"
    if law["record"] == "Lognormal":
        values = [mean - x if x <= law["base"] else lognormal_excess(law, x) for x in at if abs(x) < math.inf]
        beyond = {"near": values, "allowance": 64 * roundings * max(abs(x) + mean for x in at if abs(x) < math.inf)}
    weights = law.get("weights", law.get("counts", ()))
    shares = [float(w) for w in np.trim_zeros(np.array(weights), "b") / sum(weights)] if len(weights) else []
    keep, alias = alias_tables(shares) if shares else ([1.0], [0])
    ends = list(ends_of(law))
    return {
        "mean": {"near": [mean], "allowance": roundings * raw[0]},
        "variance": {"near": [second], "allowance": roundings * raw[1]},
        "skewness": {"near": [third / second**1.5 if second else 0.0],
                     "allowance": roundings * raw[2] / second**1.5 if second else 0.0},
        "variation": {"near": [math.sqrt(second) / mean], "allowance": roundings * (1 + raw[1] / mean**2)},
        "ends": {"near": ends, "allowance": roundings * max(map(abs, ends))} if max(ends) < math.inf else ends,
        "ageing": ageing(law),
        "cdf": {"near": chances, "allowance": np.array(off)},
        "excess": beyond,
        "keep": {"near": keep, "allowance": roundings},
        "alias": alias,
    }  # fmt: skip


# --- expected times ---------------------------------------------------------------------------------------------------


@cache
def sums_of(weights, M):
    """Probabilities of the sums of 1 to M numbers that are 0, 1, ... with these weights."""
    laws, total = [[1.0]], sum(weights)
    for _ in range(M):
        longer = [0.0] * (len(laws[-1]) + len(weights) - 1)
        for i, a in enumerate(laws[-1]):
            for j, b in enumerate(weights):
                longer[i + j] += a * b / total
        laws.append(longer)
    return laws[1:]


def lattice_sums(law, M):
    """Probabilities of base + unit j for the sums of 1 to M latencies."""
    return sums_of(tuple(float(w) for w in law["weights"]), M)


def below(law, m, x, strict=False):
    """P(S_m <= x), or P(S_m < x)."""
    if law["record"] == "Normal":
        return math.erfc((m * law["average"] - x) / (law["deviation"] * math.sqrt(2 * m))) / 2
    if law["record"] == "Gamma":
        y, term, total = max(0.0, (x - m * law["base"]) / law["scale"]), 1.0, 0.0
        for j in range(m * round(law["shape"])):
            total += term
            term *= y / (j + 1)
        return 1 - math.exp(-y) * total
    if law["record"] == "Uniform":
        y = (x - m * law["low"]) / (law["high"] - law["low"])
        whole = sum((-1) ** j * math.comb(m, j) * (y - j) ** m for j in range(m + 1) if j < y)
        return 1.0 if y >= m else whole / math.factorial(m)
    total = 0.0
    for j, p in enumerate(lattice_sums(law, m)[-1]):
        at = m * law["base"] + law["unit"] * j
        total += p if at < x or (at == x and not strict) else 0.0
    return total


def mean_and_deviation(law):
    if law["record"] == "Normal":
        return law["average"], law["deviation"]
    if law["record"] == "Gamma":
        return law["base"] + law["shape"] * law["scale"], math.sqrt(law["shape"]) * law["scale"]
    if law["record"] == "Uniform":
        return (law["low"] + law["high"]) / 2, (law["high"] - law["low"]) / math.sqrt(12)
    mean, second, _ = central_moments(law)
    return mean, math.sqrt(second)


def capped(law, M, x, *teams):
    """E min(x, T) for teams of several sizes: x less the integral of P(S_M <= t)^N over t up to x.

    By Gauss's and Legendre's rule of 16 points on 24 panels; over the steps of a lattice exactly.
    """
    if law["record"] == "Lattice":
        points = [M * law["base"] + law["unit"] * j for j in range(len(lattice_sums(law, M)[-1]))]
        edges = [p for p in points if p < x] + [x]
        held = [(b - a, below(law, M, a)) for a, b in pairwise(edges)]
        return [x - sum(width * share**N for width, share in held) for N in teams]
    mean, deviation = mean_and_deviation(law)
    low = M * mean - 12 * math.sqrt(M) * deviation
    low = low if law["record"] == "Normal" else M * law["base" if law["record"] == "Gamma" else "low"]
    high = min(x, M * law["high"]) if law["record"] == "Uniform" else x
    if x <= low:
        return [x] * len(teams)
    h = (high - low) / 24
    rule = list(zip(*np.polynomial.legendre.leggauss(16), strict=True))
    held = [(float(w) * h / 2, below(law, M, low + h * (i + (1 + float(t)) / 2))) for i in range(24) for t, w in rule]
    return [high - sum(width * share**N for width, share in held) for N in teams]


def passing(holds, low, high):
    """Where a property that rises begins to hold, between two numbers, by bisection."""
    for _ in range(70):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def above(law, m, x):
    """P(S_m > x) of a normal law, or of a gamma law whose shape is whole, to its own digits."""
    if law["record"] == "Normal":
        return math.erfc((x - m * law["average"]) / (law["deviation"] * math.sqrt(2 * m))) / 2
    y, terms = max(0.0, (x - m * law["base"]) / law["scale"]), m * round(law["shape"])
    return math.exp(-y) * sum(y**j / math.factorial(j) for j in range(terms))


def lognormal_excess(law, x):
    """E max(t - x, 0), x above the base."""
    z = (law["location"] - math.log(x - law["base"])) / law["shape"]
    first = math.exp(law["location"] + law["shape"] ** 2 / 2) * math.erfc(-(z + law["shape"]) / math.sqrt(2)) / 2
    return first - (x - law["base"]) * math.erfc(-z / math.sqrt(2)) / 2


def grid_of(law, N, M):
    """The ends of the grid of sums of a law that has no closed ones."""
    mean, deviation = mean_and_deviation(law)
    low, high = ends_of(law)
    if high == math.inf:
        allowed = 1e-9 * mean / 10 ** max(4, math.ceil(math.log10(N)))
        far = passing(lambda x: lognormal_excess(law, x) <= allowed, mean, 1e6 * mean)
        return M * low, far + (M - 1) * mean + 6 * math.sqrt(M) * deviation
    return M * low, M * high


def candidates_of(law, N, M):
    """Thresholds that are tried, and what each may be off by."""
    mean, deviation = mean_and_deviation(law)
    if law["record"] == "Lattice":
        last = round((ends_of(law)[1] - law["base"]) / law["unit"])
        if sum(m * last + 1 for m in range(1, M + 1)) > 2**16:
            found = np.linspace(ends_of(law)[0], M * law["base"] + law["unit"] * M * last, 2**14)
        else:
            ends = {m * law["base"] + law["unit"] * j for m in range(1, M + 1) for j in range(m * last + 1)}
            found = np.array(sorted(ends))
        found = found[found > 0] * (1 + 1e-12) + 1e-8 * law["unit"]
        return found, (8 + len(law["weights"])) * U * found
    if law["record"] in ("Normal", "Gamma"):
        chances = [1e-20 / N * (1 + k * 2.0**-30) for k in (-1, 0, 1)]
        far, top, near = (passing(lambda x, p=p: above(law, M, x) <= p, 0.0, 1e3 * M * mean) for p in chances)
        low = mean / 50 if law["record"] == "Normal" else law["base"] + (mean - law["base"]) / 1000
        return np.linspace(low, top, 4001), far - near + 16 * U * top
    low, high = grid_of(law, N, M)
    end = min(high + (high - low) / (2**17 - 1) / 2, 4 * M * mean + 12 * math.sqrt(M) * deviation)
    return np.linspace(low / M + (mean - low / M) / 1000, end, 20001), 2.0**-30 * end


QUANTILES = (0.01, 0.5, 0.95)


def gain_of(law, N, M, tau, T_c, slowest):
    """Micro-batches a second with the threshold over those without, with latencies on a lattice."""
    done = sum(below(law, m, tau, True) for m in range(1, M + 1))
    return done * (slowest + T_c) / (M * (capped(law, M, tau, N)[0] + T_c))


def expected(held):
    """Within what is promised of quadratures; a law without closed sums is moved by half a cell of a grid, too."""
    given = held["parameters"]
    if "at" in given:
        law, N, M = law_made(given["made"], given["numbers"]), given["N"], given["M"]
        low, high = (0.0, 0.0) if law["record"] in ("Normal", "Gamma", "Lattice") else grid_of(law, N, M)
        tried, allowed = candidates_of(law, N, M)
        error = {"near": [M * (high - low) / (2**17 - 1) / 2], "allowance": 2.0**-30 * high}
        some = np.append(tried[:: 1 + len(tried) // 64], tried[-1])
        allowed = np.append(allowed[:: 1 + len(tried) // 64], allowed[-1]) if np.ndim(allowed) else allowed
        return {
            "law": law_facts(law, given["at"]),
            "error": error,
            "candidates": len(tried),
            "some": {"near": some, "allowance": allowed},
        }
    law, N, M, taus, T_c = given["law"], given["N"], given["M"], given["taus"], given["overhead"]
    mean, deviation = mean_and_deviation(law)
    far = M * mean + (40 if law["record"] == "Gamma" else 12) * math.sqrt(M) * deviation
    (slowest,), both = capped(law, M, far, N), [capped(law, M, x, N, 1) for x in taus]
    least = [of_all for of_all, _ in both]
    cell = (law["high"] - law["low"]) * M / (2**17 - 1) if law["record"] == "Uniform" else 0.0
    promised = 1e-9
    time, done, slack = promised * far + M * cell / 2, [], []
    for x in taus:
        done.append(sum(below(law, m, x, True) for m in range(1, M + 1)))
        # one latency is spread evenly over its cell, which is exact but in the cells at the ends
        first = 1 if cell and min(abs(x - end) for end in ends_of(law)) <= cell else 2
        moved = [below(law, m, x + m * cell) - below(law, m, x - m * cell) for m in range(first, M + 1) if cell]
        slack.append(promised * M + sum(moved))
    gains = [d * (slowest + T_c) / (M * (c + T_c)) for d, c in zip(done, least, strict=True)]
    # a quotient of three numbers: its shares of what they are off by, once more for terms of second order
    parts = zip(gains, done, slack, least, strict=True)
    off = [
        2 * (s * (slowest + T_c) / (M * (c + T_c)) + g * time * (1 / (slowest + T_c) + 1 / (c + T_c)))
        for g, _, s, c in parts
    ]
    low, high = (-far, far) if law["record"] == "Normal" else (0.0, far)
    found, best = [], None
    for p in QUANTILES:
        x, *around = (passing(lambda y, q=q: below(law, M, y) >= q, low, high) for q in (p, p - 1e-12, p + 1e-12))
        found.append((x, around[1] - around[0] + M * cell + (1e-8 * law["unit"] if "unit" in law else 1e-12 * far)))
    if law["record"] == "Lattice":
        tried, _ = candidates_of(law, N, M)
        gain, tau = max((gain_of(law, N, M, float(x), T_c, slowest), -float(x)) for x in tried)
        best = {"tau": {"near": [-tau], "allowance": 8 * U * -tau}, "gain": {"near": [gain], "allowance": 1e-9 * gain}}
    return {
        "quantile": {"near": [x for x, _ in found], "allowance": np.array([off for _, off in found])},
        "best": best,
        "warned": T_c == 0 and deviation >= mean,
        "mean_time": {"near": [slowest], "allowance": time},
        "capped": {"near": least, "allowance": time},
        "capped_worker": {"near": [of_one for _, of_one in both], "allowance": time},
        "late": {"near": [1 - below(law, M, x) for x in taus], "allowance": np.array(slack)},
        "completed": {"near": done, "allowance": np.array(slack)},
        "speedup": {"near": gains, "allowance": np.array(off)},
        "ideal": {"near": [(slowest + T_c) / (M * mean + T_c)], "allowance": 2 * time / (M * mean + T_c)},
    }
