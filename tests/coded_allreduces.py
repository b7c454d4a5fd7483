"""Right all-reduces of codes of a few bits, in float32 as kernels compute them, from what `Codes` promises."""

import ml_dtypes
import numpy as np

from commbounds.collectives.cuts import even_cuts

FLOAT8 = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}


def coded(x, kind, bits, group, scale, inverse):
    """What is read of the codes of a vector."""
    x, out = x.astype(np.float32), np.empty(x.shape, np.float32)
    size = min(group or x.size, x.size)
    for start in range(0, x.size, size):
        part = x[start : start + size]
        zero = part.min() if kind == "asymmetric" else np.float32(0)
        most = part.max() - zero if kind == "asymmetric" else np.abs(part).max()
        known = {"asymmetric": 2**bits - 1, "symmetric": 2 ** (bits - 1) - 1, "signed": 2 ** (bits - 1)}
        levels = known.get(kind) or FLOAT8[kind]
        turn = np.float32(-1 if kind == "signed" and part[np.abs(part).argmax()] > 0 else 1)
        step = most / np.float32(levels)
        if scale == "e8m0":
            step = np.exp2(np.ceil(np.log2(step))) if step else step
        elif scale != "float32":
            form = np.dtype(getattr(ml_dtypes, scale, scale))
            step = step.astype(form).astype(np.float32)
            zero = zero.astype(form).astype(np.float32)
        if not step:
            out[start : start + size] = zero
            continue
        steps = (part - zero) * (np.float32(1) / step) if inverse else (part - zero) / step
        if kind in FLOAT8:
            codes = np.clip(steps, -levels, levels).astype(getattr(ml_dtypes, kind)).astype(np.float32)
        else:
            highest = levels - (kind == "signed")
            codes = turn * np.clip(np.rint(turn * steps), 0 if kind == "asymmetric" else -levels, highest)
        out[start : start + size] = codes * step + zero
    return out


def allreduce(x, schedule, dtype, rng, *how):
    """What all ranks end with; the ranks' terms are added in a random order."""
    P, n = x.shape
    if schedule == "ring":
        out = np.empty(n, np.float32)
        cuts = even_cuts(n, P)
        for block in range(P):
            at = slice(int(cuts[block]), int(cuts[block + 1]))
            if at.start == at.stop:
                continue
            total = coded(x[(block + 1) % P, at], *how)
            for step in range(2, P + 1):
                total = coded(total + x[(block + step) % P, at].astype(np.float32), *how)
            out[at] = total
        return out.astype(dtype)
    read = [coded(row, *how) for row in x]
    total = np.zeros(n, np.float32)
    for rank in rng.permutation(P):
        total = total + read[rank]
    return (coded(total, *how) if schedule == "two_step" else total).astype(dtype)
