"""Sparsifiers from their definitions, in plain Python and rational arithmetic; imports nothing of ours."""

import math
from fractions import Fraction

import numpy as np

from commbounds.verify.definitions import counter


def exact(x):
    return [v if isinstance(v, Fraction) else Fraction(float(v)) for v in x]


def topk(x, k):
    """Ascending indices of the k largest magnitudes; ties go to the lowest index."""
    return sorted(sorted(range(len(x)), key=lambda i: (-abs(x[i]), i))[:k])


def blocktopk(x, k, block):
    """Ascending indices of the entries of the k blocks of largest norm.

    Squares are added in float64, in order, of entries over the power of two above the largest.
    """
    exponent = math.frexp(max(abs(float(v)) for v in x))[1]
    squares = []
    for start in range(0, len(x), block):
        total = 0.0
        for v in x[start : start + block]:
            scaled = math.ldexp(float(v), -exponent)
            total += scaled * scaled
        squares.append(total)
    kept = topk(squares, k)
    return [i for i in range(len(x)) if i // block in kept]


def chunktopk(x, k, chunk):
    """Ascending indices of the k largest magnitudes of every chunk."""
    kept = []
    for start in range(0, len(x), chunk):
        part = x[start : start + chunk]
        kept += [start + i for i in topk(part, min(k, len(part)))]
    return kept


def hardthreshold(x, threshold):
    """Ascending indices of the magnitudes that reach the threshold."""
    least = Fraction(threshold)
    return [i for i, v in enumerate(exact(x)) if abs(v) >= least]


def floyd(draws, n):
    """The set that Floyd's algorithm makes: for j = n-k .. n-1, add the draw from 0..j, or j if it is in already."""
    chosen = set()
    for j, t in enumerate(draws, start=n - len(draws)):
        chosen.add(j if t in chosen else t)
    return sorted(chosen)


def proportional(x, u):
    """The first index at which the partial sum of magnitudes exceeds u times the whole; 0 for zeros.

    Sums are in float64, in order, of entries over the power of two above the largest.
    """
    exponent = math.frexp(max(abs(float(v)) for v in x))[1]
    magnitudes = [math.ldexp(abs(float(v)), -exponent) for v in x]
    target, partial = u * _in_order(magnitudes), 0.0
    for i, magnitude in enumerate(magnitudes):
        partial += magnitude
        if partial > target:
            return i
    return 0


def _in_order(values):
    total = 0.0
    for value in values:
        total += value
    return total


def dense(n, indices, values):
    """The list of length n that holds the values at the indices, and zeros."""
    out = [0.0] * n
    for i, v in zip(indices, values, strict=True):
        out[i] = v
    return out


def bits_of_one_of(count):
    """Bits that tell one of so many things apart."""
    return math.ceil(math.log2(count))


# --- what is given -> parts of the message, its size, and what is read of it ----------------------------------------


def refused(x):
    """The error by which every compressor refuses a vector; None for those that it takes."""
    if x.dtype not in (np.float32, np.float64):
        return "TypeError"
    return "ValueError" if x.size == 0 or not np.isfinite(x).all() else None


def _sparse(x, indices, position_bits, values=None):
    held = [x[i] for i in indices] if values is None else values
    message = {"indices": np.array(indices, np.int32), "values": np.array(held, x.dtype)}
    bits = position_bits + len(indices) * 8 * x.itemsize
    return {"message": message, "bits": bits, "output": np.array(dense(x.size, indices, held), x.dtype)}


def of_vectors(twin, admits=lambda **_: True):
    """The twin of (x, parameters, randomness), where these parameters and then x are taken."""

    def said(held):
        x = held["inputs"]["x"]
        u = np.asarray(held["randomness"].get("uniforms", 0))
        good = admits(**held["parameters"]) and bool(((u >= 0) & (u < 1)).all())
        error = refused(x) if good else "ValueError"
        return {"refused": error} if error else twin(x, held["parameters"], held["randomness"])

    return said


def as_fraction(value):
    """A Fraction, or a number at its exact value."""
    return value if isinstance(value, Fraction) else Fraction(float(value))


def _topk(x, given, _drawn):
    if given["k"] > x.size:
        return {"refused": "ValueError"}
    return _sparse(x, topk(x, given["k"]), given["k"] * bits_of_one_of(x.size))


def _blocktopk(x, given, _drawn):
    blocks = math.ceil(x.size / given["block"])
    if given["k"] > blocks:
        return {"refused": "ValueError"}
    return _sparse(x, blocktopk(x, **given), given["k"] * bits_of_one_of(blocks))


def _chunktopk(x, given, _drawn):
    kept = chunktopk(x, **given)
    return _sparse(x, kept, len(kept) * bits_of_one_of(given["chunk"]))


def _above(x, given, _drawn):
    kept = hardthreshold(x, as_fraction(given["threshold"]))
    return _sparse(x, kept, bits_of_one_of(x.size + 1) + len(kept) * bits_of_one_of(x.size))


def _one_entry(x, _given, drawn):
    u = np.random.default_rng(drawn["seed"]).random() if "seed" in drawn else float(drawn["u"])
    if not 0 <= u < 1:
        return {"refused": "ValueError"}
    return _sparse(x, [proportional(x, u)], bits_of_one_of(x.size))


def _randk(x, given, drawn):
    """A seed draws what is left out where that is less than what is kept."""
    n, k = x.size, given["k"]
    factor = n / k if given.get("scaled", True) else 1.0
    if k > n or float(max(abs(x))) * factor > float(np.finfo(x.dtype).max):
        return {"refused": "ValueError"}
    if "seed" in drawn:
        count = min(k, n - k)
        chosen = floyd(counter.bounded(counter.key_of(drawn["seed"]), range(n - count + 1, n + 1)), n)
        indices = [i for i in range(n) if i not in chosen] if count < k else chosen
    else:
        draws = [int(v) for v in drawn["draws"]]
        if len(draws) != k or any(not 0 <= t <= n - k + j for j, t in enumerate(draws)):
            return {"refused": "ValueError"}
        indices = floyd(draws, n)
    return _sparse(x, indices, k * bits_of_one_of(n), [x.dtype.type(float(x[i]) * factor) for i in indices])


def _identity(x, _given, _drawn):
    return {"message": {"values": x}, "bits": x.size * 8 * x.itemsize, "output": x}


TopK, BlockTopK = of_vectors(_topk), of_vectors(_blocktopk)
ChunkTopK = of_vectors(_chunktopk, lambda k, chunk: k <= chunk)
HardThreshold = of_vectors(_above, lambda threshold: threshold > 0)
AdaptiveSparsification, RandK, Identity = of_vectors(_one_entry), of_vectors(_randk), of_vectors(_identity)
