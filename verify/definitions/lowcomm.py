"""Low-communication rounds, one entry at a time, from the papers and the authors' codes; imports nothing of ours."""

import math
from fractions import Fraction
from itertools import product

import numpy as np


def ring_words(P, n):
    """Words that every rank sends in a ring all-reduce of n entries, in blocks as equal as can be."""
    sizes = [n // P + (b < n % P) for b in range(P)]
    if P == 1:
        return [0]
    # of the sums a rank passes on all blocks but its own, which it ends with; of the results all but the next one's
    return [2 * n - sizes[p] - sizes[(p + 1) % P] for p in range(P)]


def outer_round(rows, anchor, momentum, lr, mu, rule, direction, start, stop, blend):
    """Parameters of all workers, anchor and momentum."""
    P, n = len(rows), len(anchor)
    new, m, parameters = list(anchor), list(momentum), [list(row) for row in rows]
    for i in range(start, stop):
        changes = [anchor[i] - row[i] if direction == "anchor - local" else row[i] - anchor[i] for row in rows]
        g = sum(changes) / P
        m[i] = mu * m[i] + g
        new[i] = anchor[i] - lr * (g + mu * m[i] if rule == "nesterov" else m[i])
        for p in range(P):
            parameters[p][i] = (1 - blend) * new[i] + blend * rows[p][i] if blend else new[i]
    return parameters, new, m, n


def pair_round(workers, order, momentum, lr, pull):
    """Slow weights and momenta of all workers."""
    P = len(workers)
    partner = {order[i]: order[i] for i in range(P)}
    for i in range(0, P - 1, 2):
        partner[order[i]], partner[order[i + 1]] = order[i + 1], order[i]
    result = []
    for p in range(P):
        (w, v, g), (other_w, _, other_g) = workers[p], workers[partner[p]]
        new = [
            momentum * v[e] - lr * (g[e] + other_g[e]) / 2 - pull * (w[e] - (w[e] + other_w[e]) / 2)
            for e in range(len(w))
        ]
        result.append([[a + b for a, b in zip(w, new, strict=True)], new])
    return result, [0 if partner[p] == p else 2 * len(workers[p][0]) for p in range(P)]


def merge(rows, tokens, arrived, divisor):
    """The merged vector, or None where nobody is there."""
    there = [p for p in range(len(rows)) if arrived[p]]
    if not there:
        return None
    whole = sum(Fraction(tokens[p]) for p in there)
    if divisor == "expected":
        whole = sum(map(Fraction, tokens)) * len(there) / len(rows)
    return [float(sum(Fraction(tokens[p]) * Fraction(rows[p][i]) for p in there) / whole) for i in range(len(rows[0]))]


def largest_of_chunks(x, k, chunk):
    """Indices of the k largest of every chunk, ascending; ties to the lowest."""
    kept = []
    for start in range(0, len(x), chunk):
        part = sorted(range(start, min(start + chunk, len(x))), key=lambda i: (-abs(x[i]), i))
        kept += sorted(part[:k])
    return kept


def in_bins(values, bins, reach):
    """Values replaced by the means of their bins."""
    exact = [Fraction(float(v)) for v in values]
    mean = sum(exact) / len(exact)
    sd = math.sqrt(sum((v - mean) ** 2 for v in exact) / max(1, len(exact) - 1))
    if sd == 0:
        return [float(mean)] * len(exact)
    codes = [min(bins - 1, max(0, round(float(v - mean) * bins / (reach * sd)) + bins // 2)) for v in exact]
    means = {c: sum(v for v, d in zip(exact, codes, strict=True) if d == c) / codes.count(c) for c in codes}
    return [float(means[c]) for c in codes]


def sparse_round(workers, k, chunk, beta, bins, share):
    """The update and the workers' residuals."""
    P, n = len(workers), len(workers[0][0])
    total, senders, residuals = [0.0] * n, [0] * n, []
    for change, residual in workers:
        e = [beta * r + c for r, c in zip(residual, change, strict=True)]
        kept = largest_of_chunks(e, k, chunk)
        values = [e[i] for i in kept]
        if bins:
            values = in_bins(values, bins, 6.0)
        for i, v in zip(kept, values, strict=True):
            total[i] += v
            senders[i] += 1
            e[i] -= v
        residuals.append(e)
    update = [t / (P if share == "ranks" else max(1, s)) for t, s in zip(total, senders, strict=True)]
    return update, residuals, len(kept)


def cosines(size):
    """The orthonormal DCT-II, by its formula."""
    return [
        [math.sqrt((1 if j == 0 else 2) / size) * math.cos(math.pi * (2 * i + 1) * j / (2 * size)) for i in range(size)]
        for j in range(size)
    ]


def rounded(x, step, bits):
    """The multiple of the step that x is sent as, over the step."""
    top = 2 ** (bits - 1) - 1
    return min(top, max(-top, round(Fraction(x) / Fraction(float(step)))))


def low_bit_round(workers, step, bits, fresh, reset, kept=None):
    """The average of what is sent, and the workers' compensations, in eight bits where they have a step."""
    P, n = len(workers), len(workers[0][0])
    total, errors = [Fraction(0)] * n, []
    for gradient, error in workers:
        h = [Fraction(float(g)) + Fraction(float(e)) for g, e in zip(gradient, error, strict=True)]
        sent = [rounded(v, step, bits) * Fraction(float(step)) for v in h]
        total = [t + s for t, s in zip(total, sent, strict=True)]
        errors.append(
            [
                0.0
                if reset
                else float((1 - Fraction(float(fresh))) * Fraction(float(e)) + Fraction(float(fresh)) * (a - b))
                for a, b, e in zip(h, sent, error, strict=True)
            ]
        )
    if kept is not None:
        errors = [[float(rounded(Fraction(e), kept, 8) * Fraction(float(kept))) for e in row] for row in errors]
    return [float(t / P) for t in total], errors


def nearest_powers(values):
    """The nearest of zero and the largest value's halves, quarters, ... down to its 64th."""
    top, found = max(abs(Fraction(float(v))) for v in values), []
    for v in values:
        numbers = [Fraction(0), *(top / 2**k for k in range(6, -1, -1))]
        # of two that are as near the one with the even place
        near = min(range(8), key=lambda k: (abs(abs(Fraction(float(v))) - numbers[k]), k % 2))
        found.append(float(numbers[near]) * (-1 if v < 0 else 1))
    return np.array(found, values.dtype)


def scattered(rows, step, bits, way, node, reorder):
    """Every rank's block, by the way that it takes."""
    P, width, step = len(rows), len(rows[0]) // len(rows), Fraction(float(step))
    x = [[[Fraction(float(v)) for v in row[b * width : (b + 1) * width]] for b in range(P)] for row in rows]

    def sent(values, size):
        return [rounded(v, size, bits) * size for v in values]

    def added(parts):
        return [sum(column) for column in zip(*parts, strict=True)]

    ends = []
    for r in range(P):
        if way == "one-hop":
            ends.append(added([sent(x[p][r], step) for p in range(P)]))
        elif way == "hierarchical":
            teams = P // node
            block = r if reorder else r % node * teams + r // node
            sums = [added([sent(x[m * node + j][block], step) for j in range(node)]) for m in range(teams)]
            ends.append(added([sent(total, node * step) for total in sums]))
        else:
            partial = x[(r + 1) % P][r]
            for hop in range(1, P):
                partial = added([sent(partial, hop * step), x[(r + 1 + hop) % P][r]])
            ends.append(partial)
    return [[float(v) for v in block] for block in ends]


def largest_divisor(n, target):
    return max(d for d in range(1, min(n, target) + 1) if n % d == 0)


def reset_counts(tensors, reset_after, passes):
    """One update after another, as the code goes."""
    found, counter = [0] * tensors, 1
    for _, tensor in product(range(passes), range(tensors)):
        if counter > reset_after:
            counter = 0
            found[tensor] += 1
        counter += 1
    return found


def message_bits(n, k, chunk, value_bits, positions):
    def logarithm(count):
        bits = 0
        while 2**bits < count:
            bits += 1
        return bits

    where = logarithm(math.comb(chunk, k)) if positions == "as a set" else k * logarithm(chunk)
    return n // chunk * (where + k * value_bits)


# --- test vectors: what one gives -> what the twin says of it ---------------------------------------------------------


def of_outer_round(held):
    stack, given, options = held["inputs"]["stack"], held["inputs"], held["parameters"]
    P, n = stack.shape
    start, stop = options.get("start", 0), options.get("stop") or n
    momentum = given.get("momentum", np.zeros(n))
    chosen = (options.get("rule", "nesterov"), options.get("direction", "anchor - local"))
    rows, anchor, m, _ = outer_round(
        stack.tolist(), given["anchor"].tolist(), momentum.tolist(), options["outer_lr"], options["mu"], *chosen,
        start, stop, options.get("blend", 0.0),
    )  # fmt: skip
    found = {"parameters": rows, "anchor": [anchor] * P, "momentum": [m] * P}
    kinds = {name: np.array(value, stack.dtype) for name, value in found.items()}
    return {**kinds, "traffic": {"sent": ring_words(P, stop - start)}}


def of_pair_round(held):
    workers, options = held["inputs"]["workers"], held["parameters"]
    rows, sent = pair_round(
        workers.tolist(), list(held["inputs"]["order"]), options["momentum"], options["outer_lr"], options["pull"]
    )
    return {"result": np.array(rows, workers.dtype), "traffic": {"sent": sent}}


def of_merge(held):
    stack, given = held["inputs"]["stack"], held["inputs"]
    there = given.get("arrived", [True] * len(stack))
    row = merge(
        stack.tolist(), [float(t) for t in given["tokens"]], there, held["parameters"].get("divisor", "arrived")
    )
    return {"result": stack if row is None else np.array([row] * len(stack), stack.dtype)}


def of_sparse_round(held):
    workers, options = held["inputs"]["workers"], held["parameters"]
    chosen = options["beta"], options.get("bins", 0), options.get("share", "ranks")
    update, residuals, count = sparse_round(workers.tolist(), options["k"], options["chunk"], *chosen)
    P = len(workers)
    result = np.array([[update, e] for e in residuals], workers.dtype)
    return {"result": result, "traffic": {"sent": [2 * count * (P - 1)] * P}}


def of_demo_round(held):
    workers, options = held["inputs"]["workers"], held["parameters"]
    P, _, n = workers.shape
    traffic = {"sent": [2 * n // options["chunk"] * options["k"] * (P - 1)] * P}
    if options["chunk"] > 1:  # cosines are rounded: tests compare them with a tolerance
        return {"traffic": traffic}
    update, momenta, _ = sparse_round(
        workers.tolist(), options["k"], 1, options["beta"], 0, options.get("share", "senders")
    )
    return {"result": np.array([[update, m] for m in momenta], workers.dtype), "traffic": traffic}


def of_low_bit_round(held):
    workers, options = held["inputs"]["workers"], held["parameters"]
    chosen = options["step"], options["bits"], options["fresh"], options.get("reset", False), options.get("kept")
    update, errors = low_bit_round(workers.tolist(), *chosen)
    return {"result": np.array([[update, e] for e in errors], workers.dtype)}


def of_scattered(held):
    stack, options = held["inputs"]["stack"], held["parameters"]
    chosen = options["bits"], options["way"], options["node"], options.get("reorder", True)
    return {"result": np.array(scattered(stack.tolist(), options["step"], *chosen), stack.dtype)}


TWINS = {
    "binned": lambda held: {"values": np.array(in_bins(held["inputs"]["values"], held["parameters"]["bins"], 6.0))},
    "chunk_length": lambda held: {"length": np.array([largest_divisor(**held["parameters"])])},
    "demo_round": of_demo_round,
    "diloco_round": of_outer_round,
    "e3m0": lambda held: {"values": nearest_powers(held["inputs"]["values"])},
    "loco_round": of_low_bit_round,
    "noloco_round": of_pair_round,
    "quantised_reduce_scatter": of_scattered,
    "quorum_merge": of_merge,
    "resets": lambda held: {"resets": np.array(reset_counts(**held["parameters"]))},
    "sparse_bits": lambda held: {"bits": np.array([message_bits(**held["parameters"])])},
    "sparseloco_round": of_sparse_round,
}
"""Of the collectives by name."""
