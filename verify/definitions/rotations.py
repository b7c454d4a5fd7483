"""Rotation-based compressors from their definitions, with whole matrices and Fractions; imports nothing of ours."""

import itertools
import math
from fractions import Fraction

import mpmath


def padded(n):
    d = 1
    while d < n:
        d *= 2
    return d


def hadamard(d):
    """Sylvester's matrix by doubling."""
    rows = [[1]]
    while len(rows) < d:
        rows = [row + row for row in rows] + [row + [-v for v in row] for row in rows]
    return rows


def rotated(x, signs):
    """H D x, exactly."""
    d = padded(len(x))
    turned = [Fraction(v) * s for v, s in zip(x, signs, strict=True)] + [Fraction(0)] * (d - len(x))
    return [sum(a * b for a, b in zip(row, turned, strict=True)) for row in hadamard(d)]


def rotated_back(y, signs):
    """The first entries of D H y."""
    rows = hadamard(len(y))
    return [s * sum(a * b for a, b in zip(rows[i], y, strict=True)) for i, s in enumerate(signs)]


def patterns(n):
    return itertools.product((1, -1), repeat=n)


def drive(x, signs, scale="unbiased"):
    """(codes, factor, estimate) of DRIVE; a rotated zero counts as positive."""
    y, d = rotated(x, signs), padded(len(x))
    codes = [1 if v >= 0 else 0 for v in y]
    norm1, square = sum(abs(v) for v in y), sum(Fraction(v) ** 2 for v in x)
    if norm1 == 0:
        return codes, Fraction(0), [Fraction(0)] * len(x)
    factor = square / norm1 if scale == "unbiased" else norm1 / d**2
    return codes, factor, [factor * v for v in rotated_back([2 * c - 1 for c in codes], signs)]


def normal_quantiser(bits, digits=25):
    """(positive centroids, boundaries from 0, distortion) of 2^bits cells, by Newton's method in many digits."""
    with mpmath.workdps(digits):
        half = 2 ** (bits - 1)

        def density(a):
            return mpmath.exp(-a * a / 2) / mpmath.sqrt(2 * mpmath.pi)

        def tail(a):
            return mpmath.erfc(a / mpmath.sqrt(2)) / 2

        def cells(c):
            """(mass, first moment) of every cell."""
            cuts = [mpmath.mpf(0), *((a + b) / 2 for a, b in itertools.pairwise(c)), None]
            ends = [(mpmath.mpf(0), mpmath.mpf(0)) if a is None else (tail(a), density(a)) for a in cuts]
            return [(a[0] - b[0], a[1] - b[1]) for a, b in itertools.pairwise(ends)]

        def gaps(*c):
            return [value * mass - first for value, (mass, first) in zip(c, cells(c), strict=True)]

        start = [mpmath.mpf(2 * i + 1) * (4 + bits) / (4 * half) for i in range(half)]
        c = list(mpmath.findroot(gaps, start))
        boundaries = [mpmath.mpf(0), *((a + b) / 2 for a, b in itertools.pairwise(c))]
        return c, boundaries, 1 - 2 * sum(mass * v * v for v, (mass, _) in zip(c, cells(c), strict=True))


def eden(x, signs, centroids, boundaries, scale="unbiased"):
    """(codes, factor, estimate) of EDEN, the quantiser given; a rotated entry on a boundary gets the lower centroid."""
    y, d = rotated(x, signs), padded(len(x))
    square = sum(Fraction(v) ** 2 for v in x)
    if square == 0:
        return [0] * d, 0.0, [0.0] * len(x)
    norm = math.sqrt(square)
    codes = [sum(1 for t in boundaries if float(v) / norm > t) for v in y]
    c = [centroids[code] for code in codes]
    along = sum(float(a) * float(b) for a, b in zip(c, y, strict=True))
    factor = {
        "unbiased": lambda: float(square) / along,
        "biased": lambda: along / (d * sum(v * v for v in c)),
        "norm": lambda: norm / d,
    }[scale]()
    return codes, factor, [factor * v for v in rotated_back(c, signs)]


def sketch(x, kept, signs):
    """The estimate from the rotated entries that are kept."""
    y = rotated(x, signs)
    part = [v / len(kept) if j in kept else Fraction(0) for j, v in enumerate(y)]
    return rotated_back(part, signs)


def levels(x, dither, signs, s):
    """(codes, low, high, estimate) of stochastic rounding between the least and the largest rotated entry, over d."""
    y = [v / padded(len(x)) for v in rotated(x, signs)]
    low, high = min(y), max(y)
    if low == high:
        return [0] * len(y), low, high, rotated_back(y, signs)
    codes = []
    for v, u in zip(y, dither, strict=True):
        a = (v - low) / (high - low) * s
        codes.append(math.floor(a) + (Fraction(u) < a - math.floor(a)))
    return codes, low, high, rotated_back([low + (high - low) * Fraction(c, s) for c in codes], signs)


def kashin(x, signs, rounds, eta, delta, size, exact):
    """Coefficients by whole matrices in many digits: clip, take the image away, lower the level."""
    with mpmath.workdps(30):
        root = mpmath.sqrt(size)
        U = [[mpmath.mpf(v * s) / root for v in row] for row, s in zip(hadamard(size), signs, strict=False)]
        residual = [mpmath.mpf(v) for v in x]
        level = mpmath.sqrt(sum(v * v for v in residual)) / mpmath.sqrt(mpmath.mpf(delta) * size)
        a = [mpmath.mpf(0)] * size
        for number in range(rounds):
            b = [sum(U[i][j] * residual[i] for i in range(len(x))) for j in range(size)]
            if not exact or number < rounds - 1:
                b = [max(-level, min(level, v)) for v in b]
            a = [p + q for p, q in zip(a, b, strict=True)]
            residual = [r - sum(U[i][j] * b[j] for j in range(size)) for i, r in enumerate(residual)]
            level *= mpmath.mpf(eta)
        return [float(v) for v in a]


def dithered(x, signs, offsets, step, reach):
    """(codes, estimate) of rounding H D x/sqrt(d) with offsets to multiples of a step; d must be 1, 4 or 16."""
    root = {1: 1, 4: 2, 16: 4}[padded(len(x))]
    y = [v / root for v in rotated(x, signs)]
    codes = [math.floor(v / Fraction(step) + Fraction(u) + Fraction(1, 2)) for v, u in zip(y, offsets, strict=True)]
    if reach is not None:
        codes = [max(-reach, min(reach, code)) for code in codes]
    read = [Fraction(step) * (code - Fraction(u)) for code, u in zip(codes, offsets, strict=True)]
    return codes, [v / root for v in rotated_back(read, signs)]


def signs_of_rotated(x, rotation, scale):
    """R^T sign(R x) times ||x||^2/||R x||_1 or ||R x||_1/n."""
    y = [sum(a * b for a, b in zip(row, x, strict=True)) for row in rotation]
    norm1 = sum(abs(v) for v in y)
    if norm1 == 0:
        return [0.0] * len(x)
    factor = sum(v * v for v in x) / norm1 if scale == "unbiased" else norm1 / len(x)
    return [factor * sum(rotation[j][i] * (1 if y[j] >= 0 else -1) for j in range(len(x))) for i in range(len(x))]


def feedback(w, L, levels=None):
    """Whole numbers, from the last weight to the first, each with the errors of those after it, by their entry of L."""
    q = [None] * len(w)
    for i in reversed(range(len(w))):
        wanted = Fraction(w[i]) + sum(Fraction(L[j][i]) * (Fraction(w[j]) - q[j]) for j in range(i + 1, len(w)))
        q[i] = math.floor(wanted + Fraction(1, 2))
        if levels is not None:
            q[i] = max(0, min(levels - 1, q[i]))
    return q
