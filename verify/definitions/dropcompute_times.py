"""Laws of latencies, and the times that steps take on average, as DropCompute's definitions say them."""

import math
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise

import numpy as np

from commbounds.verify.definitions.dropcompute import U, alias_tables

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
    """P(t <= x); on a lattice x within 1e-9 of a unit of a latency is that latency."""
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
    width, cells, near = law.get("width", 0.0), cells_of(law), 1e-9 * law.get("unit", 0.0)
    shares = (w * (min(max((x - v) / width + 0.5, 0.0), 1.0) if width else float(v <= x + near)) for v, w in cells)
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
        certain = abs(x) == math.inf or (law["record"] == "Lattice" and chances[-1] == 1)
        rounded = 8 * roundings + (1e-13 if law["record"] == "Gamma" else 0.0)
        off.append(0.0 if certain else abs(moved[1] - moved[0]) + rounded)
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
    """P(S_m <= x), or P(S_m < x); on a lattice x within 1e-9 of a unit of a sum is that sum."""
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
    total, near = 0.0, 1e-9 * law["unit"]
    for j, p in enumerate(lattice_sums(law, m)[-1]):
        beyond = x - m * law["base"] - law["unit"] * j
        total += p if beyond > near or (beyond >= -near and not strict) else 0.0
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
        shares = list(accumulate(lattice_sums(law, M)[-1]))
        points = [M * law["base"] + law["unit"] * j for j in range(len(shares))]
        edges = [p for p in points if p < x] + [x]
        held = [(b - a, share) for (a, b), share in zip(pairwise(edges), shares, strict=False)]
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
    """P(S_m > x) of a normal law, or of a gamma law whose shape times m is whole, to its own digits."""
    if law["record"] == "Normal":
        return math.erfc((x - m * law["average"]) / (law["deviation"] * math.sqrt(2 * m))) / 2
    y, terms = max(0.0, (x - m * law["base"]) / law["scale"]), round(m * law["shape"])
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
