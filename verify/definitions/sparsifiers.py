"""Sparsifiers from their definitions, in plain Python and rational arithmetic; imports nothing of ours."""

from fractions import Fraction


def exact(x):
    return [v if isinstance(v, Fraction) else Fraction(float(v)) for v in x]


def topk(x, k):
    """Ascending indices of the k largest magnitudes; ties go to the lowest index."""
    magnitudes = [abs(v) for v in exact(x)]
    kept = []
    for _ in range(k):
        kept.append(max((i for i in range(len(x)) if i not in kept), key=lambda i: (magnitudes[i], -i)))
    return sorted(kept)


def blocktopk(x, k, block):
    """Ascending indices of the entries of the k blocks of largest norm."""
    values = exact(x)
    squares = [sum(v * v for v in values[i : i + block]) for i in range(0, len(values), block)]
    kept = topk(squares, k)
    return [i for i in range(len(values)) if i // block in kept]


def chunktopk(x, k, chunk):
    """Ascending indices of the k largest magnitudes of every chunk."""
    kept = []
    for start in range(0, len(x), chunk):
        part = x[start : start + chunk]
        kept += [start + i for i in topk(part, min(k, len(part)))]
    return kept


def hardthreshold(x, threshold):
    """Ascending indices of the magnitudes that reach the threshold."""
    return [i for i, v in enumerate(exact(x)) if abs(v) >= Fraction(threshold)]


def floyd(draws, n):
    """The set that Floyd's algorithm makes: for j = n-k .. n-1, add the draw from 0..j, or j if it is in already."""
    chosen = set()
    for j, t in enumerate(draws, start=n - len(draws)):
        chosen.add(j if t in chosen else t)
    return sorted(chosen)


def proportional(x, u):
    """The first index at which the partial sum of magnitudes exceeds u times the whole; 0 for zeros."""
    magnitudes = exact(abs(float(v)) for v in x)
    target, partial = Fraction(u) * sum(magnitudes), Fraction(0)
    for i, magnitude in enumerate(magnitudes):
        partial += magnitude
        if partial > target:
            return i
    return 0


def dense(n, indices, values):
    """The list of length n that holds the values at the indices, and zeros."""
    out = [0.0] * n
    for i, v in zip(indices, values, strict=True):
        out[i] = v
    return out


# --- test vectors: (x, parameters, randomness) -> parts of the message, and the output -----------------------------


def _sparse_message(x, indices, values=None):
    held = x[indices] if values is None else values
    return {"indices": indices, "values": held, "output": dense(x.size, indices, held)}


def _randk(x, k, scaled, draws, left_out=False, **_key):
    drawn = floyd([int(v) for v in draws], x.size)
    indices = [i for i in range(x.size) if i not in drawn] if left_out else drawn
    factor = x.size / k if scaled else 1.0
    return _sparse_message(x, indices, [x.dtype.type(float(x[i]) * factor) for i in indices])


def _above(x, threshold):
    exactly = threshold if isinstance(threshold, Fraction) else Fraction(float(threshold))
    return _sparse_message(x, hardthreshold(x, exactly))


COMPRESSED = {
    "TopK": lambda x, k: _sparse_message(x, topk(x, k)),
    "BlockTopK": lambda x, k, block: _sparse_message(x, blocktopk(x, k, block)),
    "ChunkTopK": lambda x, k, chunk: _sparse_message(x, chunktopk(x, k, chunk)),
    "HardThreshold": _above,
    "AdaptiveSparsification": lambda x, u: _sparse_message(x, [proportional(x, float(u))]),
    "RandK": _randk,
}
"""Of the compressors by name."""
