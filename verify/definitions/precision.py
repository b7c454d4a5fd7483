"""Sums in narrow formats, one entry and one rank at a time, in fractions; imports nothing of ours."""

from fractions import Fraction

import numpy as np

FORMATS = {
    "float64": (53, -1074, Fraction(2) ** 1024 - Fraction(2) ** 971),
    "float32": (24, -149, Fraction(2) ** 128 - Fraction(2) ** 104),
    "float16": (11, -24, Fraction(65504)),
    "bfloat16": (8, -133, Fraction(2) ** 128 - Fraction(2) ** 120),
    "float8_e4m3fn": (4, -9, Fraction(448)),
    "float8_e5m2": (3, -16, Fraction(57344)),
}
"""Digits, exponent of the smallest number, largest number."""
BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}


def rounded(value, name, uniform=None):
    """To the nearest number of the format, ties to even; or up where the uniform number is below the share."""
    digits, lowest, largest = FORMATS[name]
    # from a power of two that is surely below: those of the smallest number are a thousand away
    exponent = max(lowest, value.numerator.bit_length() - value.denominator.bit_length() - digits - 1)
    while abs(value) >= Fraction(2) ** (exponent + digits):
        exponent += 1
    scaled = value / Fraction(2) ** exponent
    if uniform is None:
        whole = round(scaled)
    else:
        below = scaled.numerator // scaled.denominator
        whole = below + (Fraction(uniform) < scaled - below)
    result = whole * Fraction(2) ** exponent
    assert abs(result) <= largest, "this twin knows no overflow"
    return result


def blocks_of(n, count):
    """Entry -> its block; the first n mod count are longer."""
    sizes = [n // count + (b < n % count) for b in range(count)]
    return [b for b, size in enumerate(sizes) for _ in range(size)]


def ring_order(block, P):
    """A block goes from the rank after its own once round to it."""
    return [(block + 1 + i) % P for i in range(P)]


def direct_order(block, P):
    """The owner takes its own, then those of the ranks before it."""
    return [(block - i) % P for i in range(P)]


def one_by_one(terms, order, wire, accumulate, each):
    """A running sum, rounded to the accumulator's format, and to the wire's when `each` time it is passed on."""
    total = terms[order[0]]
    for rank in order[1:]:
        total = rounded(total + terms[rank], accumulate)
        if each:
            total = rounded(total, wire)
    return rounded(total, wire)


def tree(terms, wire, accumulate, each):
    """Ranks with a number of trailing zeros pass on what they have; a sum is rounded to the wire when it is sent."""
    held, gap = list(terms), 1
    while gap < len(held):
        for rank in range(gap, len(held), 2 * gap):
            sent = rounded(held[rank], wire) if each else held[rank]
            held[rank - gap] = rounded(held[rank - gap] + sent, accumulate)
        gap *= 2
    return rounded(held[0], wire)


def doubling(terms, wire, accumulate, each):
    """Folded to a power of two, then partners add what both have, rounded to the wire before."""
    core = 1
    while 2 * core <= len(terms):
        core *= 2
    extra = len(terms) - core
    held = []
    for member in range(core):
        if member < extra:
            held.append(rounded(terms[2 * member] + terms[2 * member + 1], accumulate))
        else:
            held.append(terms[member + extra])
    while len(held) > 1:
        sent = [rounded(v, wire) if each else v for v in held]
        held = [rounded(a + b, accumulate) for a, b in zip(sent[::2], sent[1::2], strict=True)]
    return rounded(held[0], wire)


def allreduce(rows, schedule, wire, accumulate=None, per_hop=True, average=None):
    """The sum, or average, that all ranks end with."""
    P, n, accumulate = len(rows), len(rows[0]), accumulate or wire
    result = []
    for i, block in enumerate(blocks_of(n, P)):
        terms = [rounded(Fraction(row[i]), wire) for row in rows]
        if average == "before":
            terms = [rounded(term / P, wire) for term in terms]
        if schedule == "ring":
            total = one_by_one(terms, ring_order(block, P), wire, accumulate, per_hop)
        elif schedule == "direct":
            total = one_by_one(terms, direct_order(block, P), wire, accumulate, False)
        else:
            total = {"tree": tree, "recursive_doubling": doubling}[schedule](terms, wire, accumulate, per_hop)
        result.append(float(rounded(total / P, wire) if average == "after" else total))
    return result


def traffic(P, n, schedule, wire, accumulate=None, per_hop=True):
    """Bytes of a ring or a direct all-reduce, step by step."""
    width = BYTES[wire] if per_hop or schedule == "direct" else BYTES[accumulate or wire]
    sizes = [n // P + (b < n % P) for b in range(P)]
    steps = []
    for s in range(P - 1):  # block b is at rank b + 1 + s, and goes on
        if schedule == "ring":
            steps.append([((b + 1 + s) % P, (b + 2 + s) % P, sizes[b] * width) for b in range(P)])
        else:  # the last of the owner's predecessors sends last
            steps.append([((b - 1 - s) % P, b, sizes[b] * width) for b in range(P)])
    for s in range(P - 1):
        hop = [((b + s) % P, (b + s + 1) % P) if schedule == "ring" else (b, (b + s + 1) % P) for b in range(P)]
        steps.append([(p, r, sizes[b] * BYTES[wire]) for b, (p, r) in enumerate(hop)])
    sent, received, count, path = [0] * P, [0] * P, [0] * P, 0
    for step in steps:
        out, into = [0] * P, [0] * P
        for p, r, size in step:
            out[p] += size
            into[r] += size
            count[p] += 1
        sent = [a + b for a, b in zip(sent, out, strict=True)]
        received = [a + b for a, b in zip(received, into, strict=True)]
        path += max(map(max, zip(out, into, strict=True)))
    return {"sent": sent, "received": received, "messages": count, "steps": len(steps), "critical_path": path}


# --- test vectors: what one gives -> what the twin says of it ---------------------------------------------------------


def reduced(held):
    stack, options = held["inputs"]["stack"], held["parameters"]
    if options["schedule"] in ("rabenseifner", "hierarchical") or held["randomness"] or "rounds_own" in options:
        return None
    given = {
        name: options[name] for name in ("schedule", "wire", "accumulate", "per_hop", "average") if name in options
    }
    row = allreduce(stack.astype(float).tolist(), **given)
    found = {"result": np.array([row] * len(stack), stack.dtype)}
    if given["schedule"] in ("ring", "direct"):
        given.pop("average", None)
        found["traffic"] = traffic(*stack.shape, **given)
    return found


TWINS = {"mixed_precision_allreduce": reduced}
"""Of the collectives by name."""
