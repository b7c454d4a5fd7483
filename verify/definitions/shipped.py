"""What packages ship, from their code and papers, entry by entry, in rational arithmetic; imports nothing of ours."""

import itertools
import math
from fractions import Fraction

import numpy as np

from commbounds.verify.definitions.dense import ring_allreduce


def exact(x):
    return [Fraction(float(v)) for v in x]


def number(value):
    """A hyper-parameter as a Fraction."""
    return value if isinstance(value, Fraction) else Fraction(float(value))


# --- compressors: (x, parameters, randomness) -> parts of the message, and the output ------------------------------


def _of_sparse(x, kept):
    """From place -> value."""
    output = [kept.get(i, 0.0) for i in range(len(x))]
    return {"indices": sorted(kept), "values": [kept[i] for i in sorted(kept)], "output": output}


def replacement(x, k, added, picks, **_key):
    factor, kept = len(x) / k, {}
    for place in map(int, picks):
        times = [int(p) for p in picks].count(place) if added else 1
        kept[place] = x.dtype.type(float(x[place]) * (factor * times))
    return _of_sparse(x, kept)


def lazy(x, keep, u, **_key):
    if Fraction(float(u)) >= number(keep):
        return {"values": np.empty(0, x.dtype), "output": np.zeros(len(x), x.dtype)}
    values = [x.dtype.type(float(v) / float(keep)) for v in x]
    return {"values": values, "output": values}


def atomic_level(x, budget):
    """The level by bisection of what the probabilities add up to, exact where it is found: entries over it are one."""
    sizes = sorted({abs(v) for v in exact(x) if v != 0})
    budget = number(budget)
    if not sizes or budget >= sum(1 for v in exact(x) if v != 0):
        return None
    # between two sizes the expected number of entries is certain ones, and a sum over the level
    for top in [*sizes, None]:
        below = [abs(v) for v in exact(x) if top is None or abs(v) < top]
        certain = len(x) - len(below)
        if budget > certain and sum(below):
            level = sum(below) / (budget - certain)
            if max(below) <= level and (top is None or level <= top):
                return level
    raise AssertionError("no level")


def atomic(x, budget, uniforms, **_key):
    level, kept = atomic_level(x, budget), {}
    for i, (v, u) in enumerate(zip(exact(x), exact(uniforms), strict=True)):
        if v == 0:
            continue
        if level is None or abs(v) >= level:
            kept[i] = x[i]
        elif u < abs(v) / level:
            kept[i] = x.dtype.type(math.copysign(float(level), v))
    return _of_sparse(x, kept)


def deviation(x):
    """The root mean square deviation from the mean, to 60 digits of the largest entry, as a Fraction."""
    top = max(abs(v) for v in exact(x)) or Fraction(1)
    values = [v / top for v in exact(x)]
    mean = sum(values) / len(values)
    square = sum((v - mean) ** 2 for v in values) / len(values)
    scale = 10**60
    return top * Fraction(math.isqrt(square.numerator * scale**2 // square.denominator), scale)


def clipped(x, clip, uniforms, norm, **_key):
    """Codes, given the scale that is sent; that it is the right one up to rounding is checked here."""
    top = max(abs(v) for v in exact(x))
    wanted, sent = min(top, number(clip) * deviation(x)), Fraction(float(norm))
    # entries over the largest, their mean and the differences are rounded to float64: absolutely, by 2^-53 of the
    # largest each; squares, sum, root and products relatively; then the bound to the dtype
    room = wanted * (Fraction(float(np.finfo(x.dtype).eps)) + Fraction(6, 2**53))
    room += number(clip) * top * Fraction(3, 2**53) + Fraction(float(np.finfo(x.dtype).smallest_subnormal))
    assert abs(sent - wanted) <= room, (float(sent), float(wanted))
    codes = []
    for v, u in zip(exact(x), exact(uniforms), strict=True):
        size = min(abs(v), sent)
        codes.append(0 if size == 0 else int(size == sent or u < size / sent) * (-1 if v < 0 else 1))
    return {"codes": codes, "output": [x.dtype.type(c) * norm for c in codes]}


def _means(x, codes, count):
    groups = [[v for v, code in zip(exact(x), codes, strict=True) if code == c] for c in range(count)]
    return np.array([float(sum(g, Fraction(0)) / len(g)) if g else 0.0 for g in groups]).astype(x.dtype)


def tabled(x, codes, count):
    table = _means(x, codes, count)
    return {"codes": codes, "table": table, "output": [table[c] for c in codes]}


def onebit(x, **_none):
    return tabled(x, [int(v >= 0) for v in x], 2)


def uniform_buckets(x, buckets, sigmas):
    n, values = len(x), exact(x)
    middle, mean = buckets // 2, sum(values) / len(values)
    if len(set(values)) == 1:
        return tabled(x, [middle] * n, buckets)
    square = Fraction(sigmas**2, buckets**2) * sum((v - mean) ** 2 for v in values) / (n - 1)
    codes = []
    for v in values:
        place = 0
        # as long as the next half is passed
        while (v - mean) ** 2 > Fraction(2 * place + 1, 2) ** 2 * square or (
            (v - mean) ** 2 == Fraction(2 * place + 1, 2) ** 2 * square and place % 2
        ):
            place += 1
        codes.append(max(0, min(buckets - 1, middle + (place if v > mean else -place))))
    return tabled(x, codes, buckets)


def quantile_buckets(x, buckets):
    values = sorted(exact(x))
    borders = []
    for j in range(1, buckets):
        place = Fraction(j, buckets) * (len(x) - 1)
        below = values[int(place)]
        above = values[min(int(place) + 1, len(x) - 1)]
        borders.append(below + (above - below) * (place - int(place)))
    return tabled(x, [sum(1 for b in borders if b < v) for v in exact(x)], buckets)


def threelc(x, sparsity, zero_run):
    top = max(abs(v) for v in exact(x))
    scale = x.dtype.type(float(sparsity) * float(top))
    digits = []
    for v in exact(x):
        up = top != 0 and 2 * abs(v) >= Fraction(float(scale))
        digits.append(0 if not up else 1 if v > 0 else -1)
    output = [x.dtype.type(d) * scale for d in digits]
    digits += [0] * (-len(digits) % 5)
    plain = []
    for i in range(0, len(digits), 5):
        byte = 0
        for d in digits[i : i + 5]:
            byte = 3 * byte + d + 1
        plain.append(byte)
    return {"packed": with_runs(plain) if zero_run else plain, "scale": scale, "output": output}


def with_runs(plain):
    """Runs of two to fourteen bytes of five zeros as one byte."""
    packed, i = [], 0
    while i < len(plain):
        run = 1
        while plain[i] == 121 and run < 14 and i + run < len(plain) and plain[i + run] == 121:
            run += 1
        packed.append(plain[i] if run == 1 else 243 + run - 2)
        i += run
    return packed


COMPRESSED = {
    "ReplacementRandK": replacement,
    "BernoulliLazy": lazy,
    "Atomic": atomic,
    "ClippedTernGrad": clipped,
    "TwoMeans": onebit,
    "ThreeLC": threelc,
    "UniformBuckets": uniform_buckets,
    "QuantileBuckets": quantile_buckets,
}

# --- collectives ---------------------------------------------------------------------------------------------------


def _ring_words(words):
    """(sent, received) of a ring all-gather of blocks of these sizes."""
    P = len(words)
    total = sum(words)
    return [total - words[(p + 1) % P] if P > 1 else 0 for p in range(P)], [total - w if P > 1 else 0 for w in words]


def permk(held):
    x, owners = held["inputs"]["stack"], held["randomness"].get("owners")
    if owners is None:
        return None
    row = np.array([x[int(p), j] for j, p in enumerate(owners)], x.dtype)
    sent, received = _ring_words([sum(1 for p in owners if int(p) == r) for r in range(len(x))])
    return {"mean": np.array([row] * len(x)), "traffic": {"sent": sent, "received": received}}


def shared_randk(held):
    x, places = held["inputs"]["stack"], held["randomness"].get("places")
    if places is None:
        return None
    totals, wire = ring_allreduce(x[:, places])
    mean = np.zeros_like(x)
    mean[:, places] = np.asarray(totals, np.float64) * (x.shape[1] / (len(places) * len(x)))
    return {"mean": mean, "traffic": {"sent": wire["sent"], "received": wire["received"]}}


def dgc(held):
    given = {"factor": 0.9, "masking": True, **held["parameters"]}
    x, steps, k = held["inputs"]["stack"], given["steps"], given["k"]
    P, dtype = len(x), x.dtype
    factor = dtype.type(given["factor"])
    n = x.shape[1] // steps
    u, v, updates = np.zeros((P, n), dtype), np.zeros((P, n), dtype), []
    for t in range(steps):
        total = np.zeros(n, dtype)
        for p in range(P):
            for j in range(n):
                u[p, j] = factor * u[p, j] + x[p, t * n + j]
                v[p, j] = v[p, j] + u[p, j]
            for j in sorted(range(n), key=lambda j, p=p: (-abs(v[p, j]), j))[:k]:
                total[j] += v[p, j]
                v[p, j] = 0
                if given["masking"]:
                    u[p, j] = 0
        updates.append(total / dtype.type(P))
    words = [2 * k * (P - 1) * steps] * P
    traffic = {"sent": words, "received": words}
    return {"updates": np.array(updates), "momentum": u, "accumulated": v, "traffic": traffic}


TWINS = {"permk_mean": permk, "shared_randk_mean": shared_randk, "dgc_steps": dgc}
"""Of the collectives by name."""

# --- mechanisms ----------------------------------------------------------------------------------------------------


def dynamic_values():
    """Bitsandbytes' signed map by its loop: middles of linspace(0.1, 1), decade by decade."""
    data = [0.0, 1.0]
    for i in range(7):
        ends = np.linspace(0.1, 1.0, 2**i + 1)
        for low, high in itertools.pairwise(ends):
            data += [10.0 ** (i - 6) * (low + high) / 2, -(10.0 ** (i - 6)) * (low + high) / 2]
    return sorted(data)


def inceptionn_bits(value, binades):
    """(bytes sent, what is read) of one float32, bit by bit as GRACE's TensorFlow code shifts them."""
    word = int(np.float32(value).view(np.uint32))
    sign, exponent, mantissa = word >> 31, word >> 23 & 0xFF, word & 0x7FFFFF
    least = 127 - binades
    middle = least + math.ceil((127 - least) / 2)
    if exponent >= 127:
        return 4, float(np.float32(value))
    if exponent < least:
        return 0, 0.0
    width = 16 if exponent >= middle else 8
    fraction = (mantissa >> 1 | 1 << 22) >> (127 - exponent)
    code = (sign << 23 | fraction) >> (8 if width == 16 else 16)
    rest = code << 1 & (1 << width) - 1
    place = rest.bit_length() - 1 if rest > 1 else 0
    shift = width - place
    shifted = rest << shift & (1 << width) - 1
    read = sign << 31 | (127 - (shift - 1)) << 23 | shifted << (7 if width == 16 else 15)
    return width // 8, float(np.uint32(read).view(np.float32))


def spectral_mean(spectrum, budget):
    """(factor of every singular value in the mean, expected atoms), over all sets of a draw that keeps one."""
    total = sum(map(Fraction, spectrum))
    p = [min(Fraction(1), Fraction(budget) * Fraction(s) / total) for s in spectrum]
    weights = {}
    for number in range(1, 2 ** len(p)):
        kept = tuple(i for i in range(len(p)) if number >> i & 1)
        weights[kept] = math.prod(q if i in kept else 1 - q for i, q in enumerate(p))
    whole = sum(weights.values())
    factors = [sum(w for kept, w in weights.items() if i in kept) / whole / p[i] for i in range(len(p))]
    return factors, sum(w * len(kept) for kept, w in weights.items()) / whole
