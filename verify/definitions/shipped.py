"""What packages ship, from their code and papers, entry by entry, in rational arithmetic; imports nothing of ours."""

import math
from bisect import bisect_left
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np

from commbounds.verify.definitions import counter
from commbounds.verify.definitions.dense import gather_blocks, ring_allreduce
from commbounds.verify.definitions.quantizers import added, dithered, near, undithered, uniforms_of
from commbounds.verify.definitions.sparsifiers import as_fraction, bits_of_one_of, dense, of_vectors, refused

UNIT = Fraction(1, 2**53)
"""What one rounding to float64 is off by, relatively."""
LEAST = Fraction(1, 2**1074)
"""The least float64."""
REFUSED = {"refused": "ValueError"}


def exact(x):
    return [Fraction(float(v)) for v in x]


def largest(x):
    return Fraction(max(abs(float(v)) for v in x))


def most(dtype):
    """The largest number of a dtype."""
    return Fraction(float(np.finfo(dtype).max))


def rounded(value, dtype):
    """A Fraction, rounded to float64 and to the dtype; infinite beyond all of its numbers."""
    if abs(value) > most(np.float64):
        return dtype.type(math.inf if value > 0 else -math.inf)
    return dtype.type(float(value))


def relative(*parts):
    """What factors 1 + d, with |d| at most these, are off by together."""
    return sum(parts) / (1 - sum(parts))


# --- compressors that draw -------------------------------------------------------------------------------------------


def sparse(x, kept):
    """From place -> (least, largest value): the message with the number of entries, its bits, and what is read."""
    places = sorted(kept)
    ends = [np.array([kept[i][end] for i in places], x.dtype) for end in (0, 1)]
    read = [np.array(dense(x.size, places, values), x.dtype) for values in ends]
    bits = bits_of_one_of(x.size + 1) + len(places) * (bits_of_one_of(x.size) + 8 * x.itemsize)
    return {"message": {"indices": np.array(places, np.int32), "values": near(*ends)}, "bits": bits,
            "output": near(*read)}  # fmt: skip


def _replacement(x, given, drawn):
    n, k, adds = x.size, given["k"], given.get("added", False)
    if largest(x) * (n if adds else max(Fraction(n, k), 1)) > most(x.dtype):
        return REFUSED
    picks = counter.bounded(counter.key_of(drawn["seed"]), [n] * k) if "seed" in drawn else drawn["picks"].tolist()
    if len(picks) != k or not all(0 <= place < n for place in picks):
        return REFUSED
    kept = {}
    for place, times in Counter(picks).items():
        value = x.dtype.type(float(x[place]) * (n / k * times if adds else n / k))
        kept[place] = (value, value)
    return sparse(x, kept)


def _lazy(x, given, drawn):
    keep = as_fraction(given["keep"])
    u = np.random.default_rng(drawn["seed"]).random() if "seed" in drawn else float(drawn["u"])
    if largest(x) / keep > most(x.dtype) or not 0 <= u < 1:
        return REFUSED
    sends = Fraction(u) < keep
    values = np.array([float(v) / float(keep) for v in x] if sends else []).astype(x.dtype)
    output = values if sends else np.zeros(x.size, x.dtype)
    return {"message": {"values": values}, "bits": 1 + values.size * 8 * x.itemsize, "output": output}


def atomic_level(x, budget):
    """The level by trying all: entries that reach it are certain, and the others' sum over it is what is left."""
    sizes, total = sorted(abs(v) for v in exact(x)), Fraction(0)
    for j, size in enumerate(sizes, start=1):
        total, left, above = total + size, budget - (len(sizes) - j), sizes[j] if j < len(sizes) else None
        if left > 0 and total and size <= total / left and (above is None or total / left <= above):
            return total / left
    raise AssertionError("no level")


def level_ends(x, budget):
    """The least and the largest float64 that the level may be rounded to; None where all entries are certain.

    Entries that are not certain, over the largest of them, are added up, divided by what is left of the budget, and
    multiplied by that largest one.
    """
    sizes = [abs(v) for v in exact(x) if v]
    if budget > len(sizes):
        return None
    level, given = atomic_level(x, budget), Fraction(float(budget))
    lefts = [budget - sum(test) for test in ([v > level for v in sizes], [v >= level for v in sizes])]
    rest = [v for v in sizes if v <= level]
    top, n = max(rest), len(rest)
    shares, quotient = [v / top for v in rest], level / top
    simple = all(Fraction(float(v)) == v for v in [*shares, budget, *lefts]) and not added(shares)[1]
    if simple and quotient <= most(np.float64):  # it and its product alone are rounded
        return (rounded(Fraction(float(quotient)) * top, np.dtype(float)),) * 2
    left = min(left for left in lefts if left > 0)
    # a quotient for every entry and their sum, n roundings; the budget, what is left, the quotient, the product
    allowance = level * relative((n + 3) * UNIT + n * LEAST, abs(given - budget) / left + 2 * UNIT)
    return tuple(rounded(level + way * allowance, np.dtype(float)) for way in (-1, 1))


def chances(v, ends):
    """The least and the largest quotient of a magnitude and the level."""
    return float(v) / float(ends[1]), float(v) / float(ends[0])


def undecided(x, budget, uniforms):
    """Places of the entries that are kept or not as the level is rounded."""
    ends = level_ends(x, as_fraction(budget))
    if ends is None:
        return []
    found = []
    for i, v in enumerate(x):
        low, high = chances(abs(float(v)), ends)
        if v != 0 and low <= float(uniforms[i]) < high:
            found.append(i)
    return found


def _atomic(x, given, drawn):
    budget, uniforms, kept = as_fraction(given["budget"]), uniforms_of(x, drawn), {}
    ends = level_ends(x, budget)
    if ends is not None and ends[1] > most(x.dtype):
        return REFUSED
    if ends is not None:
        assert not undecided(x, budget, uniforms), "the rounding of the level decides"
    for i, v in enumerate(x):
        size = abs(float(v))
        if size and (ends is None or size >= ends[1]):
            kept[i] = (v, v)
        elif size and float(uniforms[i]) < chances(size, ends)[0]:
            between = [math.copysign(min(max(size, end), ends[1]), v) for end in ends]
            kept[i] = tuple(x.dtype.type(end) for end in between)
    return sparse(x, kept)


def clip_ends(x, clip):
    """The least and the largest number that min(norminf, clip std) may be rounded to."""
    values, top = exact(x), largest(x)
    if len(set(values)) == 1:
        return x.dtype.type(0), x.dtype.type(0)
    shares = [v / top for v in values]
    mean = sum(shares) / len(shares)
    square, scale = sum((v - mean) ** 2 for v in shares) / len(shares), 10**60
    std = Fraction(math.isqrt(square.numerator * scale**2 // square.denominator), scale)
    # shares, their mean and its two roundings, and differences below two are rounded: absolutely, by six units each;
    # squares, sum, quotient, root, the factor and both products relatively
    ends = []
    for way in (-1, 1):
        bound = as_fraction(clip) * (std + way * (7 * UNIT + Fraction(1, scale))) * (1 + way * relative(7 * UNIT))
        ends.append(rounded(min(max(bound, 0), 1) * top, x.dtype))
    return ends


def _clipped(x, given, drawn):
    uniforms, ends = uniforms_of(x, drawn), clip_ends(x, given.get("clip", 2.5))
    found = [np.array(dithered(np.clip(x, -norm, norm), norm, 1, uniforms), np.int8) for norm in ends]
    read = [np.array(undithered(codes, norm, 1, x.dtype)) for codes in found for norm in ends]
    message = {"codes": near(*found), "levels": 1, "norm": near(*ends)}
    output = near(np.minimum.reduce(read), np.maximum.reduce(read))
    return {"message": message, "bits": 2 * x.size + 8 * x.itemsize, "output": output}


# --- compressors without randomness ----------------------------------------------------------------------------------


def mean_ends(group, dtype):
    """The least and the largest number that a compensated sum over a count may be rounded to."""
    mean, n = sum(group) / len(group), len(group)
    total, allowance = added([abs(v) for v in group])
    off = allowance and 2 * UNIT * abs(mean) + (n * UNIT) ** 2 * total / n
    return [rounded(max(min(mean + way * off, most(dtype)), -most(dtype)), dtype) for way in (-1, 1)]


def tabled(x, codes, count):
    """Codes, the mean of the entries of each, and what is read of them."""
    groups = {}
    for value, code in zip(exact(x), codes, strict=True):
        groups.setdefault(code, []).append(value)
    tables = [np.zeros(count, x.dtype), np.zeros(count, x.dtype)]
    for code, group in groups.items():
        tables[0][code], tables[1][code] = mean_ends(group, x.dtype)
    message = {"codes": np.array(codes, np.int16), "table": near(*tables)}
    bits = len(codes) * bits_of_one_of(count) + 8 * x.itemsize * count
    return {"message": message, "bits": bits, "output": near(*(table[codes] for table in tables))}


def _two_means(x, _given, _drawn):
    return tabled(x, [int(v >= 0) for v in x], 2)


def rounded_sum(values):
    """The sum of floats, rounded once."""
    return float(sum(map(Fraction, values)))


def uniform_codes(x, buckets, sigmas):
    """The nearest multiple of the width, halves to even; beyond the ends the outermost."""
    n, middle, top = x.size, buckets // 2, float(max(abs(x)))
    if min(x) == max(x):
        return [middle] * n
    shares = [float(v) / top for v in x]
    mean = rounded_sum(shares) / n
    squares = [(v - mean) * (v - mean) for v in shares]
    width = sigmas * math.sqrt(rounded_sum(squares) / (n - 1)) / buckets
    return [min(max(round((v - mean) / width) + middle, 0), buckets - 1) for v in shares]


def _uniform_buckets(x, given, _drawn):
    buckets, sigmas = given.get("buckets", 256), given.get("sigmas", 6)
    return tabled(x, uniform_codes(x, buckets, sigmas), buckets)


def quantile_codes(x, buckets):
    """How many of the inner quantiles are below an entry."""
    entries = exact(x)
    values = sorted(entries)

    @cache
    def border(j):
        place = Fraction(j * (x.size - 1), buckets)
        low = math.floor(place)
        return values[low] + (place - low) * (values[min(low + 1, x.size - 1)] - values[low])

    return [bisect_left(range(1, buckets), v, key=border) for v in entries]


def _quantile_buckets(x, given, _drawn):
    buckets = given.get("buckets", 256)
    return tabled(x, quantile_codes(x, buckets), buckets)


def _threelc(x, given, _drawn):
    sparsity, top = as_fraction(given.get("sparsity", 1)), largest(x)
    if sparsity * top > most(x.dtype):
        return REFUSED
    scale = x.dtype.type(float(sparsity) * float(top))
    digits = []
    for v in exact(x):
        up = v != 0 and 2 * abs(v) >= Fraction(float(scale))
        digits.append(0 if not up else 1 if v > 0 else -1)
    output = np.array([x.dtype.type(d) * scale if d else 0.0 for d in digits], x.dtype)
    digits += [0] * (-len(digits) % 5)
    plain = []
    for i in range(0, len(digits), 5):
        byte = 0
        for d in digits[i : i + 5]:
            byte = 3 * byte + d + 1
        plain.append(byte)
    packed = np.array(with_runs(plain) if given.get("zero_run", True) else plain, np.uint8)
    message = {"packed": packed, "scale": np.array(scale)}
    return {"message": message, "bits": 8 * (packed.size + x.itemsize), "output": output}


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


def _some(buckets=256, sigmas=6):
    return 2 <= buckets < 2**15 and 1 <= sigmas < 2**31


ReplacementRandK = of_vectors(_replacement, lambda k, added=False: 1 <= k < 2**31)
BernoulliLazy = of_vectors(_lazy, lambda keep: 0 < keep <= 1)
Atomic = of_vectors(_atomic, lambda budget: 0 < budget < math.inf)
ClippedTernGrad = of_vectors(_clipped, lambda clip=2.5: 0 < clip < math.inf)
TwoMeans = of_vectors(_two_means)
ThreeLC = of_vectors(_threelc, lambda sparsity=1, zero_run=True: 1 <= sparsity < 2)
UniformBuckets = of_vectors(_uniform_buckets, _some)
QuantileBuckets = of_vectors(_quantile_buckets, _some)

# --- eight bits and fewer --------------------------------------------------------------------------------------------


@cache
def dynamic_values():
    """Bitsandbytes' signed map by its loop: middles of linspace(0.1, 1), decade by decade; and 0, and 1."""
    data = [Fraction(0), Fraction(1)]
    for i in range(7):
        ends = [Fraction(1, 10) + Fraction(9, 10) * Fraction(j, 2**i) for j in range(2**i + 1)]
        for j in range(2**i):
            middle = Fraction(10) ** (i - 6) * (ends[j] + ends[j + 1]) / 2
            data += [middle, -middle]
    return sorted(data)


def of_array(twin, admits=lambda **_: True):
    """The twin of what one array and parameters make."""

    def said(held):
        (x,) = held["inputs"].values()
        error = refused(x.ravel()) if admits(**held["parameters"]) else "ValueError"
        return {"refused": error} if error else twin(x, **held["parameters"])

    return said


def _dynamic_tree(x, block=4096):
    values, codes, scales, output = dynamic_values(), [], [], []
    borders = [(low + high) / 2 for low, high in pairwise(values)]
    for start in range(0, x.size, block):
        part = x[start : start + block]
        scales.append(max(abs(part)))
        for v in part:
            share = float(v) / float(scales[-1]) if scales[-1] else 0.0
            codes.append(bisect_left(borders, Fraction(share)))
            output.append(x.dtype.type(float(values[codes[-1]]) * float(scales[-1])))
    bits = 8 * (x.size + len(scales) * x.itemsize)
    return {"codes": np.array(codes, np.uint8), "scales": np.array(scales), "output": np.array(output), "bits": bits}


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


def inceptionn_wide(value, binades):
    """The same of a float64, by its binade: cut to whole numbers of 2^-14 or 2^-6, where a zero is read as a half."""
    size, m = abs(Fraction(float(value))), 1
    while size < Fraction(1, 2**m) and m <= binades:
        m += 1
    if size >= 1:
        return 4, float(value)
    if m > binades:
        return 0, 0.0
    places = 14 if m <= binades // 2 else 6
    whole = max(Fraction(math.floor(size * 2**places)), Fraction(1, 2))
    return (2 if places == 14 else 1), math.copysign(float(whole / 2**places), value)


def _inceptionn(x, binades=10):
    found = [(inceptionn_bits if x.dtype == np.float32 else inceptionn_wide)(v, binades) for v in x]
    sizes = [size for size, _ in found]
    bits = 8 * (x.size // 4 + 1) + sum(8 * (x.itemsize if size == 4 else size) for size in sizes)
    return {"classes": np.array(sizes, np.int8), "output": np.array([v for _, v in found], x.dtype), "bits": bits}


dynamic_tree = of_array(_dynamic_tree, lambda block=4096: block >= 1)
inceptionn = of_array(_inceptionn, lambda binades=10: 0 <= binades <= 28)

# --- spectral ATOMO, and switching -----------------------------------------------------------------------------------


def spectral_atoms(held):
    """From numpy's decomposition on, as ATOMO's code: its singular vectors belong to the library."""
    matrix, budget, drawn = held["inputs"]["matrix"], held["parameters"]["budget"], held["randomness"]
    if refused(matrix.ravel()) or not 2**-10 <= budget < math.inf:
        return REFUSED
    u, s, v = np.linalg.svd(matrix, full_matrices=False)
    sizes, r = exact(s), s.size
    if float(s[0]) < 1e-6:
        wanted, allowance = [Fraction(int(i == 0)) for i in range(r)], Fraction(0)
    else:
        wanted, allowance = (
            [min(Fraction(1), as_fraction(budget) * size / sum(sizes)) for size in sizes],
            (r + 5) * UNIT,
        )
    if "kept" in drawn:
        kept = [bool(k) for k in drawn["kept"]]
        if len(kept) != r or any(k and not p for k, p in zip(kept, wanted, strict=True)):
            return REFUSED
    elif float(s[0]) < 1e-6:
        kept = [i == 0 for i in range(r)]
    elif "seed" not in drawn:
        return {"refused": "TypeError"}
    else:
        rng, kept = np.random.default_rng(drawn["seed"]), [False] * r
        while not any(kept):
            kept = [rng.random() < p for p in wanted]
    values, room_of_values = [], []
    for i in range(len(matrix)):
        for j in range(matrix.shape[1]):
            terms = [Fraction(float(u[i, a])) * sizes[a] / wanted[a] * Fraction(float(v[a, j]))
                     for a in range(r) if kept[a]]  # fmt: skip
            # the quotient, two products and the sum of each term, and the dtype
            values.append(sum(terms, Fraction(0)))
            off = sum(map(abs, terms)) * relative(allowance + (r + 3) * UNIT)
            last = (abs(values[-1]) + off) * Fraction(float(np.finfo(matrix.dtype).eps)) / 2
            room_of_values.append(off + max(last, Fraction(float(np.finfo(matrix.dtype).smallest_subnormal))))
    if any(abs(value) > most(matrix.dtype) for value in values):
        return REFUSED
    chances = {"near": wanted, "allowance": [p * relative(allowance) for p in wanted]}
    return {"singular": s, "probabilities": chances, "kept": np.array(kept), "dtype": matrix.dtype.name,
            "values": {"near": values, "allowance": room_of_values}}  # fmt: skip


def switched(held):
    """FL_PyTorch's loop, which returns nothing where no cell holds the dice."""
    probabilities, dice, total = held["inputs"]["probabilities"], held["inputs"]["dice"], 0.0
    if not 1 <= len(probabilities) <= 4096 or not all(0 <= p < math.inf for p in probabilities) or not 0 <= dice < 1:
        return REFUSED
    for i, p in enumerate(probabilities):
        if dice >= total and dice <= total + p:
            return {"chosen": i}
        total += p
    return {"chosen": -1}


# --- signs with a memory ---------------------------------------------------------------------------------------------


def _signum(gradients, momentum=0.9):
    u, signs, kind = None, [], gradients.dtype.type
    for row in gradients:
        if u is None:
            u = list(row)
        else:
            u = [kind(1 - momentum) * g + kind(momentum) * v for g, v in zip(row, u, strict=True)]
        signs.append([1 if v >= 0 else -1 for v in u])
    return {"signs": np.array(signs, np.int8)}


def _magnitudes(low, high):
    """The least and the largest magnitude of numbers between two."""
    pairs = [exact(pair) for pair in zip(low, high, strict=True)]
    return [max(a, -b, Fraction(0)) for a, b in pairs], [max(-a, b) for a, b in pairs]


def _ef_signs(gradients, rate=0.1, scaled=False):
    """As GRACE's memory and compressor: between two ends, as far as the mean is known to rounding."""
    dtype, n = gradients.dtype, gradients.shape[1]
    step, left, updates, residuals = dtype.type(rate), None, [], []
    if not step:
        return REFUSED
    for row in gradients:
        if left is not None or scaled:
            before = left or [[dtype.type(0)] * n] * 2
            offered = [[e + step * g for e, g in zip(end, row, strict=True)] for end in before]
        else:
            offered = [list(row), list(row)]
        if not np.isfinite(offered).all():
            return REFUSED
        means = []
        for sizes, way in zip(_magnitudes(*offered), (-1, 1), strict=True):
            total, allowance = added(sizes)
            if total > most(np.float64):
                return REFUSED
            means.append(rounded(total * (1 + way * allowance) / n, dtype))
        sent = [[], []]
        for low, high in zip(*offered, strict=True):
            ends = means if low >= 0 else [-means[1], -means[0]] if high < 0 else [-means[1], means[1]]
            for values, end in zip(sent, ends, strict=True):
                values.append(end)
        left = [[p - c for p, c in zip(offered[end], sent[1 - end], strict=True)] for end in (0, 1)]
        updates.append([[c / step for c in end] for end in sent])
        residuals.append(left)
    if not np.isfinite(updates).all() or not np.isfinite(residuals).all():
        return REFUSED
    found = {"updates": updates, "residuals": residuals}
    return {name: near(*(np.array([row[end] for row in rows]) for end in (0, 1))) for name, rows in found.items()}


signum_signs = of_array(_signum, lambda momentum=0.9: 0 <= momentum < 1)
ef_signs = of_array(_ef_signs, lambda rate=0.1, scaled=False: 0 < rate < math.inf)


def ridge_descent(held):
    """Subgradients of slope |x + y| + |x - y|, and their signs; with feedback the mean magnitude times the signs."""
    given = {"feedback": False, "tie": 1, **held["parameters"]}
    slope, step, tie = given["slope"], given["step"], given["tie"]
    if not 0 < slope < 1 or not 0 < step < math.inf or not 1 <= given["steps"] <= 2**20 or tie not in (-1, 0, 1):
        return REFUSED
    x, y, left, path = 1.0, 1.0, (0.0, 0.0), [[1.0, 1.0]]

    def sign(v, zero):
        return 1 if v > 0 else -1 if v < 0 else zero

    for _ in range(given["steps"]):
        along, across = slope * sign(x + y, tie), float(sign(x - y, tie))
        gradient = (along + across, along - across)
        if given["feedback"]:
            offered = [e + step * g for e, g in zip(left, gradient, strict=True)]
            mean = (abs(offered[0]) + abs(offered[1])) / 2
            sent = [mean * sign(p, 1) for p in offered]
            left = [p - c for p, c in zip(offered, sent, strict=True)]
        else:
            sent = [step * sign(g, 1) for g in gradient]
        x, y = x - sent[0], y - sent[1]
        path.append([x, y])
    return {"path": np.array(path)} if np.isfinite(path).all() else REFUSED


# --- collectives -----------------------------------------------------------------------------------------------------


def of_stacks(twin):
    """The twin of a stack, parameters and randomness, where entries are finite."""

    def said(held):
        stack = held["inputs"]["stack"]
        return twin(stack, held["randomness"], **held["parameters"]) if np.isfinite(stack).all() else REFUSED

    return said


def _permk(x, drawn):
    P, n = x.shape
    if "seed" in drawn:
        rng = np.random.default_rng(drawn["seed"])
        order, turn = rng.permutation(n).tolist(), int(rng.integers(P))
        owners = [0] * n
        for block in range(P):
            for _ in range(n // P + (block < n % P)):
                owners[order.pop(0)] = (block + turn) % P
    else:
        owners = drawn["owners"].tolist()
    if len(owners) != n or not all(0 <= p < P for p in owners):
        return REFUSED
    traffic = gather_blocks([owners.count(p) for p in range(P)], "ring")
    row = np.array([x[p, j] for j, p in enumerate(owners)])
    return {"mean": np.array([row] * P), "traffic": {**traffic, "phases": {"values": traffic}}}


def _shared_randk(x, drawn, k):
    P, n = x.shape
    if not 1 <= k <= n:
        return REFUSED
    if "seed" in drawn:
        places = sorted(np.random.default_rng(drawn["seed"]).choice(n, k, replace=False).tolist())
    else:
        places = drawn["places"].tolist()
    if len(places) != k or places != sorted(set(places)) or not 0 <= places[0] <= places[-1] < n:
        return REFUSED
    totals, traffic = ring_allreduce([list(row[places]) for row in x], phased=True)
    mean = np.zeros_like(x)
    for p, total in enumerate(totals):
        for place, value in zip(places, total, strict=True):
            mean[p, place] = x.dtype.type(float(value) * (n / (k * P)))
    return {"mean": mean, "traffic": traffic}


def _dgc(x, _drawn, steps, k, factor=0.9, masking=True):
    P, dtype = len(x), x.dtype
    if steps < 1 or x.shape[1] % steps or not 0 <= factor < 1 or not 1 <= k <= x.shape[1] // steps:
        return REFUSED
    n = x.shape[1] // steps
    u, v, updates = np.zeros((P, n), dtype), np.zeros((P, n), dtype), []
    for t in range(steps):
        total = np.zeros(n, dtype)
        for p in range(P):
            for j in range(n):
                u[p, j] = dtype.type(factor) * u[p, j] + x[p, t * n + j]
                v[p, j] = v[p, j] + u[p, j]
            if not np.isfinite(v[p]).all():
                return REFUSED
            for j in sorted(range(n), key=lambda j, p=p: (-abs(v[p, j]), j))[:k]:
                total[j] += v[p, j]
                v[p, j] = 0
                if masking:
                    u[p, j] = 0
        updates.append(total / dtype.type(P))
    once = gather_blocks([2 * k] * P, "ring")
    traffic = {name: [steps * c for c in count] if isinstance(count, list) else steps * count
               for name, count in once.items()}  # fmt: skip
    return {"updates": np.array(updates), "momentum": u, "accumulated": v, "traffic": traffic}


permk_mean, shared_randk_mean, dgc_steps = of_stacks(_permk), of_stacks(_shared_randk), of_stacks(_dgc)
