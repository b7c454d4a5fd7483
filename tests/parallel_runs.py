"""Computations that are split over ranks, as they are run, in numpy: right ones, and ones with a mistake."""

from itertools import pairwise

import ml_dtypes
import numpy as np

from commbounds.collectives.cuts import even_cuts

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def added(rows, dtype, order=None):
    """One after another, in a format."""
    rows = [rows[r].astype(dtype) for r in (range(len(rows)) if order is None else order)]
    total = rows[0].copy()
    for row in rows[1:]:
        total = (total + row).astype(dtype)
    return total


def parts_of(a, b, P, accumulate=np.float32):
    """Products of the ranks' slices of the inner dimension, every product and addition rounded."""
    cuts = even_cuts(a.shape[1], P).tolist()
    found = []
    for start, stop in pairwise(cuts):
        total = np.zeros((a.shape[0], b.shape[1]), accumulate)
        for k in range(start, stop):
            product = (a[:, k : k + 1].astype(accumulate) * b[k : k + 1].astype(accumulate)).astype(accumulate)
            total = (total + product).astype(accumulate)
        found.append(total)
    return found


def tf32(x):
    """To nearest, ties to even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    half = np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))
    return ((bits + half) & np.uint32(0xFFFFE000)).view(np.float32)


def losses(logits, targets, P, smoothing=0.0, wire=np.float32, rows=None):
    """Vocabulary-parallel, in float32; the loss of every token. `rows` may change a rank's slice."""
    x = logits.astype(np.float32)
    cuts = list(pairwise(even_cuts(x.shape[1], P).tolist()))
    most = np.max([x[:, a:b].max(axis=1) for a, b in cuts if b > a], axis=0)
    z = x - most[:, None]
    sums = added([np.exp(z[:, a:b]).sum(axis=1, dtype=np.float32) for a, b in cuts], wire).astype(np.float32)
    log, target = np.log(sums), z[np.arange(len(x)), targets]
    if not smoothing:
        return log - target
    alpha = np.float32(smoothing)
    return log - (np.float32(1) - alpha) * target - alpha * z.mean(axis=1, dtype=np.float32)


def normed(x, weight, eps, dtype):
    """Of rows, in float32."""
    x = x.astype(np.float32)
    root = np.sqrt((x * x).mean(axis=1, keepdims=True, dtype=np.float32) + np.float32(eps))
    return (x / root * weight.astype(np.float32)).astype(dtype)


def gradient(gradients, tokens=None, wire=np.float32, replicas=1):
    """Micro-batches in float32, then a factor, a reduce-scatter, an all-reduce over replicas, and the rest."""
    P, M = gradients.shape[:2]
    whole = float(P * M if tokens is None else tokens.sum())
    first = np.float32(2.0 ** np.floor(np.log2(whole) / 2.0))
    own = [(added(list(g), np.float32) / first).astype(wire) for g in gradients]
    size = P // replicas
    shards = [added(own[r * size : (r + 1) * size], wire) for r in range(replicas)]
    return (added(shards, wire) / (np.float32(whole) / first)).astype(wire)


def adam(p, g, rate, betas, eps, decay, m, v, step):
    """A step in float32, whose constants are made in float64."""
    (a, b), (rest, squares) = np.array(betas, np.float32), np.float32(1 - np.array(betas))  # 1 - beta in float64
    m, v = a * m + rest * g, b * v + squares * g * g
    root = np.sqrt(v / np.float32(1 - betas[1] ** step)) + np.float32(eps)
    return p * np.float32(1 - rate * decay) - np.float32(rate) * (m / np.float32(1 - betas[0] ** step)) / root
