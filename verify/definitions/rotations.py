"""Rotation-based compressors and sums from their papers and docstrings, entry by entry; imports nothing of ours.

Rotations, and whatever is computed of single entries, are in float64 in the documented order. What is added up in an
order that no definition names is an interval (low, high): a rounded operation that grows with its arguments takes ends
to ends.
"""

import bisect
import itertools
import math
from fractions import Fraction
from functools import cache
from statistics import NormalDist

import mpmath
import numpy as np

from commbounds.verify.definitions import counter
from commbounds.verify.definitions.blockformats import parts_of, round_the_ring, to_all, traffic_of, walsh
from commbounds.verify.definitions.quantizers import added, near
from commbounds.verify.definitions.sparsifiers import bits_of_one_of, of_vectors

U = 2.0**-52
"""Twice what a rounding to float64 is off by, relatively: so many roundings times this bound their product, too."""
REFUSAL = {"refused": "ValueError"}


def padded(n):
    d = 1
    while d < n:
        d *= 2
    return d


def rotated(x, signs):
    """H D x exactly, of rational numbers: H_ij is -1 to the number of ones of i AND j."""
    turned = [v * s for v, s in zip(x, signs, strict=True)]
    return [sum(-v if (i & j).bit_count() % 2 else v for j, v in enumerate(turned)) for i in range(padded(len(x)))]


def rotated_back(y, signs):
    """The first entries of D H y."""
    return [s * v for s, v in zip(signs, rotated(y, [1] * len(y)), strict=False)]


def forward(x, signs):
    """H D x in float64."""
    return walsh([v * float(s) for v, s in zip(x, signs, strict=True)] + [0.0] * (padded(len(x)) - len(x)))


def backward(y, signs):
    """The first entries of D H y in float64."""
    return [v * float(s) for v, s in zip(walsh(y), signs, strict=False)]


def next_to_one(x):
    """The floats over the power of two above the largest, and its exponent."""
    exponent = math.frexp(max(abs(float(v)) for v in x))[1]
    return [math.ldexp(float(v), -exponent) for v in x], exponent


def times_power(values, exponent, dtype):
    """Times a power of two, and rounded to the dtype."""
    return np.ldexp(np.array(values, np.float64), exponent).astype(dtype)


def ends(terms):
    """What float64 may make of a sum of terms that are not negative."""
    total, off = added([Fraction(v) for v in terms])
    return float(total * (1 - off)), float(total * (1 + off))


def products(values, factors):
    """The least and the largest products of two intervals, of which -0.0 is less than +0.0."""
    found = sorted((v * f for v in values for f in factors), key=lambda v: (v, math.copysign(1.0, v)))
    return found[0], found[-1]


# --- the quantiser of a normal number -----------------------------------------------------------------------------


def _density(a, lib):
    return lib.exp(-a * a / 2) / lib.sqrt(2 * lib.pi)


def _tail(a, lib):
    return lib.erfc(a / lib.sqrt(2)) / 2


def solved(lower, diagonal, upper, right):
    """The solution of a tridiagonal system."""
    diagonal, right = list(diagonal), list(right)
    for i in range(1, len(right)):
        factor = lower[i] / diagonal[i - 1]
        diagonal[i] -= factor * upper[i - 1]
        right[i] -= factor * right[i - 1]
    for i in reversed(range(len(right))):
        right[i] = (right[i] - (upper[i] * right[i + 1] if i + 1 < len(right) else 0)) / diagonal[i]
    return right


def _cells(c, lib):
    """Cuts, densities and tails at these, masses of the cells, (mean - centroid) mass, and minus its derivatives."""
    cuts = [0, *((a + b) / 2 for a, b in itertools.pairwise(c))]
    heights, tails = [*(_density(a, lib) for a in cuts), 0], [*(_tail(a, lib) for a in cuts), 0]
    masses = [a - b for a, b in itertools.pairwise(tails)]
    means = [(a - b) / m for (a, b), m in zip(itertools.pairwise(heights), masses, strict=True)]
    gaps = [m * (v - w) for m, v, w in zip(masses, means, c, strict=True)]
    below = [(v - a) * h / 2 if i else 0 for i, (v, a, h) in enumerate(zip(means, cuts, heights, strict=False))]
    above = [*((b - v) * h / 2 for v, b, h in zip(means, cuts[1:], heights[1:], strict=False)), 0]
    matrix = [-v for v in below], [m - a - b for m, a, b in zip(masses, below, above, strict=True)], [-v for v in above]
    return cuts, heights, tails, masses, gaps, matrix


@cache
def quantiser(bits):
    """(positive centroids, distortion), and by how much float64 misses each: Lloyd's condition, in 40 digits.

    Of float64's equation mean - c = 0 in cell i, a density is off by 2 a^2 + 4 roundings (three of a^2/2, and of exp
    and the quotient), a tail by those of 3 a phi(a) (three of the argument) and by 10 tail (erfc, to 5 units in the
    last place), their quotient by two more. Newton's method ends where these are balanced: the matrix takes centroids
    to residuals, its inverse is not negative, and so it takes bounds to bounds.
    """
    half, wide = 2 ** (bits - 1), NormalDist(0.0, math.sqrt(3.0))
    c = [wide.inv_cdf(0.5 + (i + 0.5) / (2 * half)) for i in range(half)]
    with mpmath.workdps(40):
        for lib, enough in ((math, 1e-6), (mpmath, 1e-16)):  # the next step would be next to the square of the last
            step = [1.0]
            while max(map(abs, step)) > enough:
                *_, gaps, matrix = _cells(c, lib)
                step = solved(*matrix, gaps)
                c = [mpmath.mpf(a) + b if lib is mpmath else a + b for a, b in zip(c, step, strict=True)]
        cuts, heights, tails, masses, _, matrix = _cells(c, mpmath)
        distortion = float(1 - 2 * sum(m * v * v for m, v in zip(masses, c, strict=True)))
    c, cuts, heights, tails, masses = ([float(v) for v in values] for values in (c, cuts, heights, tails, masses))
    of_height = [h * (2 * a * a + 4) for h, a in zip(heights, cuts, strict=False)] + [0.0]
    of_tail = [3 * a * h + 10 * t for h, a, t in zip(heights, cuts, tails, strict=False)] + [0.0]
    residuals = [
        U * (of_height[i] + of_height[i + 1] + c[i] * (of_tail[i] + of_tail[i + 1] + 4 * masses[i]))
        for i in range(half)
    ]
    off = solved(*([float(v) for v in part] for part in matrix), residuals)
    off = [e + U * v for e, v in zip(off, c, strict=True)]
    # Gauss' rule: 20 nodes, each with the roundings of a density and 8 more; the last cell's terms cancel. The
    # distortion is least at the centroids: their errors enter squared
    last = (1 + c[-1] ** 2) * masses[-1] + abs(cuts[-1] - 2 * c[-1]) * heights[-2]
    rounded = U * ((2 * cuts[-1] ** 2 + 32) * distortion + (2 * cuts[-1] ** 2 + 16) * last)
    squares = sum(m * e * e for m, e in zip(masses, off, strict=True))
    return c, off, distortion, 2 * (rounded + squares)


@cache
def normal_quantiser(bits):
    """(centroids, boundaries), and by how much float64 misses each, of all 2^bits cells."""
    c, off, *_ = quantiser(bits)
    values, allowances = [*(-v for v in reversed(c)), *c], [*reversed(off), *off]
    middles = [(a + b) / 2 for a, b in itertools.pairwise(values)]
    between = [(a + b) / 2 + U * abs(m) for a, b, m in zip(allowances, allowances[1:], middles, strict=False)]
    between[len(c) - 1] = 0.0  # zero is a boundary
    return values, allowances, middles, between


def lloyd_max(held):
    bits = held["parameters"]["bits"]
    if not 1 <= bits <= 12:
        return REFUSAL
    values, allowances, middles, between = normal_quantiser(bits)
    *_, distortion, allowance = quantiser(bits)
    return {
        "centroids": {"near": values, "allowance": allowances},
        "boundaries": {"near": middles, "allowance": between},
        "distortion": {"near": [distortion], "allowance": allowance},
    }


# --- compressors: what is given -> parts of the message, its size, and what is read of it ---------------------------


def signs_of(n, drawn):
    """Those that are given, or those of the counter whose key the seed makes: +1 where a uniform is below 1/2."""
    if "seed" not in drawn:
        return [int(s) for s in np.asarray(drawn["signs"])]
    return [1 if u < 0.5 else -1 for u in counter.uniforms(counter.key_of(drawn["seed"]), n, np.float64)]


def wrong_signs(signs, shape):
    """The error by which signs are refused; None for those that are taken."""
    signs = np.asarray(signs)
    if signs.dtype.kind not in "iu":
        return "TypeError"
    return None if signs.shape == shape and set(signs.ravel().tolist()) <= {-1, 1} else "ValueError"


def of_rotated(twin, admits=lambda **_: True):
    """The twin of (x, parameters, randomness, signs) where all are taken."""

    def said(x, given, drawn):
        drawn = {**drawn, "seed": np.random.default_rng(drawn["seed"])} if "seed" in drawn else drawn
        error = wrong_signs(drawn["signs"], x.shape) if "signs" in drawn else None
        return {"refused": error} if error else twin(x, given, drawn, signs_of(x.size, drawn))

    return of_vectors(said, admits)


def sent(x, codes, count, numbers, signs, output, kept=()):
    """Codes, of which the ends are known, and numbers and what is read likewise; refused where they overflow."""
    if not all(np.isfinite(end).all() for end in (*numbers, *output)):
        return REFUSAL
    message = {
        "codes": near(*(np.array(end, np.int16) for end in codes)),
        "count": count,
        "numbers": near(*numbers),
        "signs": np.array(signs, np.int8),
        "kept": np.array(kept, np.int32),
    }
    bits = len(codes[0]) * bits_of_one_of(count) + numbers[0].size * 8 * x.itemsize
    return {"message": message, "bits": bits, "output": near(*output)}


def drive(x, given, _drawn, signs):
    """Signs of the rotated entries, of which those of zeros are +1, times a scale."""
    close, exponent = next_to_one(x)
    y = forward(close, signs)
    norm1, square = ends(map(abs, y)), ends(Fraction(v) ** 2 for v in close)
    if norm1[1] == 0:
        size = (0.0, 0.0)
    elif given.get("scale", "unbiased") == "unbiased":
        size = (square[0] / norm1[1], square[1] / norm1[0])
    else:
        size = tuple(v / len(y) ** 2 for v in norm1)
    codes, numbers = [int(v >= 0) for v in y], [times_power([v], exponent, x.dtype) for v in size]
    read = backward([2.0 * code - 1.0 for code in codes], signs)
    with np.errstate(over="ignore"):
        output = [(np.array(read) * float(number[0])).astype(x.dtype) for number in numbers]
    return sent(x, (codes, codes), 2, numbers, signs, output)


def estimate(x, width, scale, signs):
    """Ends of codes, numbers and what is read: the centroid next to every rotated entry over the norm, times a scale.

    On a boundary it is the lower centroid.
    """
    close, exponent = next_to_one(x)
    c, c_off, cuts, cuts_off = normal_quantiser(width)
    y, square = forward(close, signs), ends(Fraction(v) ** 2 for v in close)
    d = len(y)
    if square[1] == 0:
        return [[0] * d] * 2, [np.zeros(1, x.dtype)] * 2, [np.zeros_like(x)] * 2
    norm = tuple(map(math.sqrt, square))
    edges = [[t + way * e for t, e in zip(cuts, cuts_off, strict=True)] for way in (1, -1)]
    shares = [sorted(v / size for size in norm) for v in y]
    codes = [[bisect.bisect_left(edges[end], share[end]) for share in shares] for end in (0, 1)]
    chosen = [(c[a] - c_off[a], c[b] + c_off[b]) for a, b in zip(*codes, strict=True)]
    along = [products(pair, (v,)) for pair, v in zip(chosen, y, strict=True)]
    energy = [(min(a * a, b * b), max(a * a, b * b)) for a, b in chosen]
    # all terms are positive, but next to zero, where they are next to nothing; both programs add them up
    inner, power = ([sum(v[end] for v in terms) * (1 + way * d * U) for end, way in ((0, -1), (1, 1))]
                    for terms in (along, energy))  # fmt: skip
    size = {
        "unbiased": lambda: (square[0] / inner[1], square[1] / inner[0]),
        "biased": lambda: (inner[0] / (d * power[1]), inner[1] / (d * power[0])),
        "norm": lambda: tuple(v / d for v in norm),
    }[scale]()
    # each of log2(d) sums is off by a rounding of at most the sum of all magnitudes
    allowance = sum(b - a for a, b in chosen) / 2 + (d.bit_length() + 1) * U * sum(max(-a, b) for a, b in chosen)
    middle = backward([(a + b) / 2 for a, b in chosen], signs)
    with np.errstate(over="ignore"):
        numbers = [times_power([v], exponent, x.dtype) for v in size]
        read = [products((v - allowance, v + allowance), [float(number[0]) for number in numbers]) for v in middle]
        return codes, numbers, [np.array([v[end] for v in read]).astype(x.dtype) for end in (0, 1)]


def eden(x, given, _drawn, signs):
    """See `estimate`; a vector of zeros stays one, whatever their signs."""
    codes, numbers, output = estimate(x, given["width"], given.get("scale", "unbiased"), signs)
    said = sent(x, codes, 2 ** given["width"], numbers, signs, output)
    return said if x.any() else {**said, "output": {"near": [0.0] * x.size, "allowance": 0.0}}


def dither_of(d, drawn):
    """As many uniforms: those that are given, or those that follow the key of the signs."""
    return drawn["seed"].random(d) if "seed" in drawn else np.asarray(drawn["dither"])


def levels(x, given, drawn, signs):
    """Rotated entries over d, each at the level below or above: above with the probability of what is left."""
    s, (close, exponent) = given["levels"], next_to_one(x)
    y = [v / padded(x.size) for v in forward(close, signs)]
    dither = dither_of(len(y), drawn)
    if dither.shape != (len(y),) or not all(0 <= u < 1 for u in dither):
        return REFUSAL
    low, high = min(y) + 0.0, max(y) + 0.0
    codes = [0] * len(y)
    if high > low:
        at = [(v - low) / (high - low) * s for v in y]
        codes = [min(math.floor(a) + int(float(u) < a - math.floor(a)), s) for a, u in zip(at, dither, strict=True)]
    numbers = times_power([low, high], exponent, x.dtype)
    if not np.isfinite(numbers).all():
        return REFUSAL
    (low, high), exponent = next_to_one(numbers)
    read = backward([low * (1.0 - code / s) + high * (code / s) for code in codes], signs)
    with np.errstate(over="ignore"):
        return sent(x, (codes, codes), s + 1, [numbers] * 2, signs, [times_power(read, exponent, x.dtype)] * 2)


def sketch(x, given, drawn, signs):
    """Some of the rotated entries over their number."""
    d, k, (close, exponent) = padded(x.size), given["k"], next_to_one(x)
    if not 1 <= k <= d:
        return REFUSAL
    if "seed" in drawn:
        kept = sorted(drawn["seed"].choice(d, k, replace=False).tolist())
    else:
        kept = [int(j) for j in np.asarray(drawn["kept"])]
    if len(kept) != k or any(a >= b for a, b in itertools.pairwise(kept)) or kept[0] < 0 or kept[-1] >= d:
        return REFUSAL
    y = forward(close, signs)
    with np.errstate(over="ignore"):
        numbers = times_power([y[j] / k for j in kept], exponent, x.dtype)
    if not np.isfinite(numbers).all():
        return REFUSAL
    values, exponent = next_to_one(numbers)
    whole = [0.0] * d
    for j, value in zip(kept, values, strict=True):
        whole[j] = value
    with np.errstate(over="ignore"):
        output = times_power(backward(whole, signs), exponent, x.dtype)
    return sent(x, ([0] * k,) * 2, 1, [numbers] * 2, signs, [output] * 2, kept)


SCALES = ("unbiased", "biased")
DRIVE = of_rotated(drive, lambda scale="unbiased": scale in SCALES)
EDEN = of_rotated(eden, lambda width, scale="unbiased": 1 <= width <= 8 and scale in (*SCALES, "norm"))
RotatedDithering = of_rotated(levels, lambda levels: 1 <= levels <= 2**14)
HadamardSketch = of_rotated(sketch, lambda k: k >= 1)


# --- what else one worker does ----------------------------------------------------------------------------------------


def randomised_hadamard(held):
    x, signs, inverse = held["inputs"]["x"], held["inputs"]["signs"], held["parameters"].get("inverse", False)
    if x.dtype not in (np.float32, np.float64, np.int64):
        return {"refused": "TypeError"}
    if x.ndim != 1 or not x.size or (inverse and x.size != padded(x.size)):
        return REFUSAL
    error = wrong_signs(signs, x.shape)
    if error:
        return {"refused": error}
    signs = np.asarray(signs).tolist()
    if x.dtype == np.int64:
        if sum(abs(v) for v in x.tolist()) >= 2**63:
            return REFUSAL
        found = rotated_back(x.tolist(), signs) if inverse else rotated(x.tolist(), signs)
        return {"rotated": np.array(found, np.int64)}
    if not np.isfinite(x).all():
        return REFUSAL
    entries = [float(v) for v in x]
    return {"rotated": np.array(backward(entries, signs) if inverse else forward(entries, signs))}


def kashin(held):
    """Clip, add, take the image away, lower the level; and how far two programs in float64 may be apart.

    U^T is an isometry, clipping and r - U clip(U^T r) do not expand (firmly nonexpansive maps), and the transform's
    log2 N sums and its quotient are off by log2 N + 2 roundings, in the Euclidean norm: so are the errors of the
    residual and of the coefficients. The level's are those of a sum of n squares, two roots, two products and a
    quotient; every round multiplies it once more. Both programs err.
    """
    (x, signs), given = (held["inputs"][name] for name in ("x", "signs")), held["parameters"]
    rounds, eta, delta = given.get("rounds", 3), given.get("eta", 0.9), given.get("delta", 1.0)
    exact, length = given.get("exact", True), given.get("length")
    if x.dtype not in (np.float32, np.float64):
        return {"refused": "TypeError"}
    size = padded(x.size) if length is None else length
    if not x.size or not np.isfinite(x).all() or not 1 <= rounds <= 1000 or not 0 < eta < 1 or not 0 < delta <= 1:
        return REFUSAL
    error = wrong_signs(signs, x.shape)
    if error or size < x.size or size != padded(size):
        return {"refused": error or "ValueError"}
    if not x.any():
        return {"coefficients": np.zeros(size)}
    residual, exponent = next_to_one(x)
    root, sums = math.sqrt(size), size.bit_length() + 1
    level = math.sqrt(sum(v * v for v in residual)) / math.sqrt(delta * size)
    a, of_residual, of_a = [0.0] * size, 0.0, 0.0
    for number in range(rounds):
        part = [v / root for v in walsh([r * int(s) for r, s in zip(residual, signs, strict=True)]
                                        + [0.0] * (size - x.size))]  # fmt: skip
        new = sums * U * math.hypot(*residual)
        if number < rounds - 1 or not exact:
            part = [max(-level, min(level, v)) for v in part]
            new += root * level * (x.size + 6 + number) * U
        a = [v + w for v, w in zip(a, part, strict=True)]
        of_a += of_residual + new + U * math.hypot(*a)
        residual = [r - v * int(s) / root for r, v, s in zip(residual, walsh(part), signs, strict=False)]
        of_residual += new + sums * U * math.hypot(*part) + U * math.hypot(*residual)
        level *= eta
    with np.errstate(over="ignore"):
        found, allowance = np.ldexp(a, exponent), math.ldexp(2 * of_a, exponent) + 2.0**-1073
    return {"coefficients": {"near": found, "allowance": allowance}} if np.isfinite(found).all() else REFUSAL


def dithered_hadamard(held):
    (x, signs, offsets), given = (held["inputs"][name] for name in ("x", "signs", "offsets")), held["parameters"]
    step, reach, d = float(given["step"]), given.get("reach"), padded(x.size)
    if x.dtype not in (np.float32, np.float64):
        return {"refused": "TypeError"}
    error = wrong_signs(signs, x.shape)
    offsets = np.asarray(offsets)
    if error or not x.size or not np.isfinite(x).all() or offsets.shape not in ((), (d,)):
        return {"refused": error or "ValueError"}
    u = [float(v) for v in np.broadcast_to(offsets, (d,))]
    if not all(-0.5 <= v < 0.5 for v in u) or not 0 < step < math.inf or not 0 <= (reach or 0) <= 2**52:
        return REFUSAL
    y = [v / math.sqrt(d) for v in forward([float(v) for v in x], signs)]
    if not all(abs(v / step) < 2**52 for v in y):
        return REFUSAL
    codes = [math.floor(v / step + w + 0.5) for v, w in zip(y, u, strict=True)]
    if reach is not None:
        codes = [max(-reach, min(reach, code)) for code in codes]
    back = backward([step * (code - w) for code, w in zip(codes, u, strict=True)], signs)
    estimate = np.array(back) / math.sqrt(d)
    return {"codes": np.array(codes, np.float64), "estimate": estimate} if np.isfinite(estimate).all() else REFUSAL


def in_any_order(terms):
    """The ends of what float64 may make of a sum: exact where all partial sums are multiples of one unit, and fit."""
    total, size = sum(terms), added([abs(term) for term in terms])
    allowance = size[0] * size[1]
    return float(total - allowance), float(total + allowance)


def rotated_signs(held):
    """R^T sign(R x) times a scale, of exact sums of which some may be rounded; a zero counts as positive."""
    (x, rotation), scale = (
        (held["inputs"][name] for name in ("x", "rotation")),
        held["parameters"].get("scale", "unbiased"),
    )
    if x.dtype not in (np.float32, np.float64) or rotation.dtype.kind != "f":
        return {"refused": "TypeError"}
    n = x.size
    if scale not in SCALES or not n or not np.isfinite(x).all() or rotation.shape != (n, n):
        return REFUSAL
    if not np.isfinite(rotation).all():
        return REFUSAL
    rows = [[Fraction(float(v)) for v in row] for row in rotation]
    skew = [abs(sum(a * b for a, b in zip(p, q, strict=True)) - (p is q)) for p in rows for q in rows]
    if max(skew) > Fraction(1, 2**26):
        return REFUSAL
    close, exponent = next_to_one(x)
    y = [in_any_order([a * Fraction(v) for a, v in zip(row, close, strict=True)]) for row in rows]
    magnitudes = [(max(0.0, low, -high), max(-low, high)) for low, high in y]
    norm1, square = (
        (ends(m[0] for m in magnitudes)[0], ends(m[1] for m in magnitudes)[1]),
        ends(Fraction(v) ** 2 for v in close),
    )
    if norm1[1] == 0:
        return {"estimate": np.zeros(n)}
    size = (square[0] / norm1[1], square[1] / norm1[0]) if scale == "unbiased" else tuple(v / n for v in norm1)
    read = []
    for i in range(n):
        sides = [
            in_any_order([row[i] if v[end] >= 0 else -row[i] for row, v in zip(rows, y, strict=True)]) for end in (0, 1)
        ]
        unsure = 2 * float(sum(abs(row[i]) for row, v in zip(rows, y, strict=True) if v[0] < 0 <= v[1]))
        read.append((min(sides[0]) - unsure, max(sides[0]) + unsure))
    with np.errstate(over="ignore"):
        estimate = [np.ldexp([products(v, size)[end] for v in read], exponent) for end in (0, 1)]
    return {"estimate": near(*estimate)} if np.isfinite(estimate).all() else REFUSAL


def eliminated(H):
    """L of H = L diag(d) L^T, column by column in float64; None where a pivot is not positive."""
    left, n = [[float(v) for v in row] for row in H], len(H)
    L = [[float(i == j) for j in range(n)] for i in range(n)]
    for i in range(n):
        if not left[i][i] > 0:
            return None
        for j in range(i + 1, n):
            L[j][i] = left[j][i] / left[i][i]
        for j in range(i + 1, n):
            for k in range(i + 1, n):
                left[j][k] -= L[j][i] * left[i][k]
    return L


def feedback(w, L, levels=None):
    """Whole numbers, from the last weight to the first, each with the errors of those after it, by their entry of L."""
    q, wanted = [None] * len(w), list(w)
    for i in reversed(range(len(w))):
        q[i] = math.floor(wanted[i] + 0.5)
        if levels is not None:
            q[i] = max(0, min(levels - 1, q[i]))
        for j in range(i):
            wanted[j] += (w[i] - q[i]) * L[i][j]
    return q


def ldlq(held):
    (w, H), levels = (
        (np.asarray(held["inputs"][name]) for name in ("weights", "hessian")),
        held["parameters"].get("levels"),
    )
    if w.dtype not in (np.float32, np.float64):
        return {"refused": "TypeError"}
    if not 1 <= w.size <= 1024 or not np.isfinite(w).all() or max(abs(w)) > 2.0**40 or H.shape != (w.size, w.size):
        return REFUSAL
    if not np.isfinite(H).all() or not np.array_equal(H, H.T) or (levels is not None and levels < 1):
        return REFUSAL
    L = eliminated(H)
    return {"codes": np.array(feedback([float(v) for v in w], L, levels), np.float64)} if L else REFUSAL


# --- what ranks do together -----------------------------------------------------------------------------------------


def wrong_stack(stack):
    """The error by which a stack is refused; None for those that are taken."""
    if stack.dtype not in (np.float32, np.float64):
        return "TypeError"
    return None if stack.size and np.isfinite(stack).all() else "ValueError"


def half_coins(rng, shape):
    """Signs by coins."""
    return 2 * rng.integers(0, 2, shape, dtype=np.int8).astype(np.int64) - 1


def rotated_mean(held):
    """Estimates by EDEN, added up in the order of the ranks in float64; every message goes round the ring."""
    stack, given, drawn = held["inputs"]["stack"], held["parameters"], held["randomness"]
    width, seeds, (P, n) = given.get("width", 1), given.get("seeds", "private"), stack.shape
    error = wrong_stack(stack) or (wrong_signs(drawn["signs"], (P, n)) if "signs" in drawn else None)
    if error or not 1 <= width <= 8 or seeds not in ("private", "shared"):
        return {"refused": error or "ValueError"}
    signs = drawn["signs"] if "signs" in drawn else half_coins(np.random.default_rng(drawn["seed"]), (P, n))
    total = [np.zeros(n), np.zeros(n)]
    for p, row in enumerate(stack):
        _, numbers, read = estimate(row, width, "unbiased", [int(v) for v in signs[0 if seeds == "shared" else p]])
        if not all(np.isfinite(end).all() for end in (*numbers, *read)):
            return REFUSAL
        total = [end + part for end, part in zip(total, read, strict=True)]
    if not all(np.isfinite(end).all() for end in total):
        return REFUSAL
    mean = near(*(np.tile((end / P).astype(stack.dtype), (P, 1)) for end in total))
    size = -(-padded(n) * width // 8) + stack.itemsize
    return {"mean": mean, "traffic": traffic_of(P, {"messages": round_the_ring([size] * P)})}


def rotated_sum(held):
    """Whole multiples of a step that all ranks share, added up at their owners, and the sum rotated back."""
    stack, s, drawn = held["inputs"]["stack"], held["parameters"]["levels"], held["randomness"]
    (P, n), error = stack.shape, wrong_stack(stack)
    if error or not 1 <= s <= 2**20:
        return {"refused": error or "ValueError"}
    d, rng = padded(n), np.random.default_rng(drawn.get("seed"))
    signs = np.asarray(drawn["signs"]) if "signs" in drawn else half_coins(rng, n)
    dither = np.asarray(drawn["dither"]) if "dither" in drawn else rng.random((P, d))
    error = wrong_signs(signs, (n,))
    if error or dither.shape != (P, d) or not ((dither >= 0) & (dither < 1)).all():
        return {"refused": error or "ValueError"}
    y = [forward([float(v) for v in row], signs) for row in stack]
    if not np.isfinite(y).all():
        return REFUSAL
    step = max(abs(v) for row in y for v in row) / s
    sums = [0] * d
    for row, uniforms in zip(y, dither, strict=True):
        for j, (v, u) in enumerate(zip(row, uniforms, strict=True)):
            if step:
                a = v / step
                sums[j] += max(-s, min(s, math.floor(a) + int(float(u) < a - math.floor(a))))
    with np.errstate(over="ignore"):
        total = np.array(backward([step * v / d for v in sums], signs)).astype(stack.dtype)
    if not np.isfinite(total).all():
        return REFUSAL
    blocks = [part.stop - part.start for part in parts_of(d, P)]
    phases = {
        "scales": round_the_ring([stack.itemsize] * P),
        "codes": to_all([-(-size * bits_of_one_of(2 * s + 1) // 8) for size in blocks]),
        "sums": to_all_alike([-(-size * bits_of_one_of(2 * P * s + 1) // 8) for size in blocks]),
    }
    return {"total": np.tile(total, (P, 1)), "traffic": traffic_of(P, phases)}


def to_all_alike(sizes):
    """One step in which every rank sends its own part to each other one, or none for one rank."""
    P = len(sizes)
    return [[(p, r, sizes[p]) for p in range(P) for r in range(P) if p != r]] if P > 1 else []
