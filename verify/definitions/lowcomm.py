"""Low-communication rounds, one entry at a time, from the papers and the authors' codes; imports nothing of ours."""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from commbounds.verify.definitions import dense


def outer_round(rows, anchor, momentum, lr, mu, rule, direction, start, stop, blend):
    """Parameters of all workers, anchor and momentum, in the dtype of the rows; what the all-reduce moved."""
    P, kind = len(rows), rows[0][0].dtype.type
    new, m, parameters = list(anchor), list(momentum), [list(row) for row in rows]
    turn = 1 if direction == "anchor - local" else -1
    changes = [[anchor[i] - row[i] if turn == 1 else row[i] - anchor[i] for i in range(start, stop)] for row in rows]
    blocks, first = dense.reduce_scatter(changes, "ring")
    sums, second = [v for block in blocks for v in block], dense.gather_blocks([len(block) for block in blocks], "ring")
    phases = {"reduce-scatter": first, "all-gather": second}
    traffic = {**after_another(P, [first, second]), "phases": phases}
    for i in range(start, stop):
        g = sums[i - start] / kind(P)
        m[i] = kind(mu) * m[i] + g
        new[i] = anchor[i] - kind(lr) * (g + kind(mu) * m[i] if rule == "nesterov" else m[i])
        for p in range(P):
            mixed = (kind(1) - kind(blend)) * new[i] + kind(blend) * rows[p][i]
            parameters[p][i] = mixed if blend else new[i]
    return parameters, new, m, traffic


def one_step(P, moved):
    """The traffic of one step of (sender, receiver, words)."""
    sent, received, messages = ([0] * P for _ in range(3))
    for p, q, words in moved:
        sent[p] += words
        received[q] += words
        messages[p] += 1
    path = max(map(max, zip(sent, received, strict=True)))
    return {"sent": sent, "received": received, "messages": messages, "steps": 1, "critical_path": path}


def after_another(P, parts):
    """Traffic, one step after another."""
    none = {"sent": [0] * P, "received": [0] * P, "messages": [0] * P, "steps": 0, "critical_path": 0}
    whole = {name: [sum(e) for e in zip(*(t[name] for t in [none, *parts]), strict=True)] for name in list(none)[:3]}
    return {**whole, **{name: sum(t[name] for t in parts) for name in ("steps", "critical_path")}}


def middle(a, b):
    """The mean of two floats, rounded once."""
    largest = float(np.finfo(type(a)).max)
    return (a + b) / type(a)(2) if abs(Fraction(float(a)) + Fraction(float(b))) <= largest else a / 2 + b / 2


def pair_round(workers, order, momentum, lr, pull):
    """Slow weights and momenta of all workers, in their dtype, and what was moved."""
    P, kind = len(workers), workers[0][0][0].dtype.type
    partner = {order[i]: order[i] for i in range(P)}
    for i in range(0, P - 1, 2):
        partner[order[i]], partner[order[i + 1]] = order[i + 1], order[i]
    result = []
    for p in range(P):
        (w, v, g), (other_w, _, other_g) = workers[p], workers[partner[p]]
        slow, new = [], []
        for e in range(len(w)):
            alone = partner[p] == p
            mean, change = (w[e], g[e]) if alone else (middle(w[e], other_w[e]), middle(g[e], other_g[e]))
            new.append(kind(momentum) * v[e] - kind(lr) * change - kind(pull) * (w[e] - mean))
            slow.append(w[e] + new[e])
        result.append([slow, new])
    moved = [(p, partner[p], 2 * len(workers[p][0])) for p in range(P) if partner[p] != p]
    return result, after_another(P, [one_step(P, moved)] if P > 1 else [])


def merge(rows, tokens, arrived, divisor):
    """The merged vector, or None where nobody is there: in float64, one rank after another, rounded once."""
    there = [p for p in range(len(rows)) if arrived[p]]
    if not there:
        return None
    whole = 0.0
    for p in there if divisor == "arrived" else range(len(rows)):
        whole += tokens[p]
    merged = []
    for i in range(len(rows[0])):
        total = 0.0
        for p in there:
            total += tokens[p] * float(rows[p][i])
        merged.append(total / whole if divisor == "arrived" else total * len(rows) / (whole * len(there)))
    return merged


def largest_of_chunks(x, k, chunk):
    """Indices of the k largest of every chunk, ascending; ties to the lowest."""
    kept = []
    for start in range(0, len(x), chunk):
        part = sorted(range(start, min(start + chunk, len(x))), key=lambda i: (-abs(x[i]), i))
        kept += sorted(part[:k])
    return kept


def in_bins(values, bins, reach):
    """Values replaced by the means of their bins, in exact sums, and by how much sums in float64 may be off."""
    exact = [Fraction(float(v)) for v in values]
    mean = sum(exact) / len(exact)
    centred = [float(v) - float(mean) for v in exact]
    squares = [v * v for v in centred]
    finite = sum(squares) < math.inf
    sd = math.sqrt(math.fsum(squares) / max(1, len(exact) - 1)) if finite else math.inf
    # n values are added up, twice: each sum is off by n u times all of them, and so are their means
    off = 2 * (len(exact) + 4) * Fraction(1, 2**53) * 2 * max(map(abs, exact))
    if sd == 0 or not finite:  # nothing, or no float, to be told apart by
        return [mean] * len(exact), off
    codes = [min(bins - 1, max(0, round(v * (bins / (reach * sd))) + bins // 2)) for v in centred]
    means = {c: sum(v for v, d in zip(exact, codes, strict=True) if d == c) / codes.count(c) for c in set(codes)}
    return [means[c] for c in codes], off


def unit(kind):
    """By which share of itself a number is moved at most where it is rounded."""
    return Fraction(1, 2**24) if np.dtype(kind) == np.float32 else Fraction(1, 2**53)


def sparse_round(workers, k, chunk, beta, bins, share):
    """The update and the workers' residuals in their dtype, entries a worker sends, allowances of both."""
    P, n, kind = len(workers), len(workers[0][0]), workers[0][0][0].dtype.type
    total, senders, residuals, slack = [0.0] * n, [0] * n, [], [Fraction(0)] * n
    for change, residual in workers:
        e = [kind(beta) * r + c for r, c in zip(residual, change, strict=True)]
        kept = largest_of_chunks(e, k, chunk)
        values, off = [e[i] for i in kept], Fraction(0)
        if bins:
            means, off = in_bins(values, bins, 6.0)
            off += unit(kind) * max(map(abs, means))
            values = [kind(float(v)) for v in means]
        for i, v in zip(kept, values, strict=True):
            total[i] += float(v)
            senders[i] += 1
            slack[i] += off
            e[i] = e[i] - v
        residuals.append((e, off))
    update = [kind(t / (P if share == "ranks" else max(1, s))) for t, s in zip(total, senders, strict=True)]
    if not bins:
        return update, [e for e, _ in residuals], len(kept), None
    # what bins are off by, and once more the last rounding
    most = max(Fraction(abs(float(v))) for row in workers for part in row for v in part) * (2 + n)
    allowed = [[s + 2 * unit(kind) * most for s in slack], [[off + 2 * unit(kind) * most] * n for _, off in residuals]]
    return update, [e for e, _ in residuals], len(kept), allowed


def cosines(size):
    """The orthonormal DCT-II; a cosine by its formula up to an eighth of a turn, then a sine, and so by reflection."""

    def cosine(quarters):
        """cos(pi / 2 quarters / size)."""
        turned = min(quarters % (4 * size), -quarters % (4 * size))
        if turned > size:
            return -cosine(2 * size - turned)
        left = math.pi * (size - turned) / (2 * size)
        return math.cos(math.pi * turned / (2 * size)) if 2 * turned <= size else math.sin(left)

    return [
        [math.sqrt((1 if j == 0 else 2) / size) * cosine((2 * i + 1) * j) for i in range(size)] for j in range(size)
    ]


def cosine_round(workers, k, chunk, beta, share, signed):
    """The update and the workers' momenta, both with what they may be off by, and the amplitudes a worker sends."""
    P, n, kind = len(workers), len(workers[0][0]), workers[0][0][0].dtype.type
    basis, total, senders, left = cosines(chunk), [0.0] * n, [0] * n, []
    for gradient, momentum in workers:
        m = [kind(beta) * v + g for v, g in zip(momentum, gradient, strict=True)]
        held = [m[start : start + chunk] for start in range(0, n, chunk)]
        found = [sum(float(v) * b for v, b in zip(part, row, strict=True)) for part in held for row in basis]
        kept = largest_of_chunks(found, k, chunk)
        for i in kept:
            total[i] += found[i]
            senders[i] += 1
        sent = [found[i] if i in kept else 0.0 for i in range(n)]
        left.append([float(v) - w for v, w in zip(m, back(sent, basis), strict=True)])
    update = back([t / (P if share == "ranks" else max(1, s)) for t, s in zip(total, senders, strict=True)], basis)
    # Momenta are below A. A cosine is off by 24 u sqrt(2/c): its angle, 2 pi at most, is rounded thrice. So an
    # amplitude, a sum of c products, is off by d = sqrt(2 c) A (c + 26) u; it is below sqrt(c) A. Back again c of
    # them, each a mean of P, are added up: c (d + (26 + c + P) u sqrt(c) A) sqrt(2), and the momentum is rounded.
    u, c = 2.0**-53, chunk
    A = max([abs(float(v)) for row in workers for part in row for v in part]) * (1 + beta)
    d = 0.0 if c == 1 else math.sqrt(2 * c) * A * (c + 26) * u
    off = c * (d + (26 + c + P) * u * math.sqrt(c) * A) * math.sqrt(2)
    near = [off + 2 * float(unit(kind)) * (abs(v) + off) for v in update]
    if signed:
        near = [1.0 if abs(v) <= off > 0 else 0.0 for v in update]
        update = [(v > 0) - (v < 0) for v in update]
    return (
        update,
        left,
        near,
        [[off + 2 * float(unit(kind)) * (A + abs(v) + off) for v in row] for row in left],
        len(kept),
    )


def back(amplitudes, basis):
    c = len(basis)
    return [
        sum(amplitudes[start + j] * basis[j][i] for j in range(c))
        for start in range(0, len(amplitudes), c)
        for i in range(c)
    ]


def rounded(x, step, bits):
    """The code of x: the nearest multiple of the step, of halves the even one, as far as the bits reach."""
    top = 2 ** (bits - 1) - 1
    return int(min(top, max(-top, np.rint(np.float64(x) / step))))


def low_bit_round(workers, step, bits, fresh, reset, kept=None):
    """The average of what is sent, and the workers' compensations, in eight bits where they have a step: in float64."""
    P, n = len(workers), len(workers[0][0])
    total, errors = [0.0] * n, []
    for gradient, error in workers:
        row = []
        for i in range(n):
            h = float(gradient[i]) + float(error[i])
            sent = rounded(h, step, bits) * step
            total[i] += sent
            left = 0.0 if reset else (1.0 - fresh) * float(error[i]) + fresh * (h - sent)
            row.append(left if kept is None else rounded(left, kept, 8) * kept)
        errors.append(row)
    return [t / P for t in total], errors


def nearest_powers(values):
    """The nearest of zero and the largest value's halves, quarters, ... down to its 64th."""
    top, found = max(abs(Fraction(float(v))) for v in values), []
    for v in values:
        numbers = [Fraction(0), *(top / 2**k for k in range(6, -1, -1))]
        # of two that are as near the one with the even place
        near = min(range(8), key=lambda k: (abs(abs(Fraction(float(v))) - numbers[k]), k % 2))
        found.append(float(numbers[near]) * (-1 if v < 0 and near else 1))
    return np.array(found, values.dtype)


def scattered(rows, step, bits, way, node, reorder):
    """Every rank's block, by the way that it takes, in float64, and what every phase moved."""
    P, width = len(rows), len(rows[0]) // len(rows)
    x = [[[float(v) for v in row[b * width : (b + 1) * width]] for b in range(P)] for row in rows]

    def sent(values, size):
        return [rounded(v, size, bits) * size for v in values]

    def added(parts):
        totals = [0.0] * width
        for part in parts:
            totals = [t + v for t, v in zip(totals, part, strict=True)]
        return totals

    teams, ends = P // node, []
    for r in range(P):
        if way == "one-hop":
            ends.append(added([sent(x[p][r], step) for p in range(P)]))
        elif way == "hierarchical":
            block = r if reorder else r % node * teams + r // node
            sums = [added([sent(x[m * node + j][block], step) for j in range(node)]) for m in range(teams)]
            ends.append(added([sent(total, node * step) for total in sums]))
        else:
            partial = x[(r + 1) % P][r]
            for hop in range(1, P):
                passed = sent(partial, hop * step)
                partial = [a + b for a, b in zip(passed, x[(r + 1 + hop) % P][r], strict=True)]
            ends.append(partial)
    pairs = [(p, q) for p in range(P) for q in range(P) if p != q]
    near = [(p, q) for p, q in pairs if p // node == q // node]
    if way == "ring":
        phases = {"ring": [one_step(P, [(p, (p + 1) % P, width) for p in range(P)])] * (P - 1)}
    elif way == "one-hop":
        far = [(p, q) for p, q in pairs if p // node != q // node]
        phases = {"within": [one_step(P, [(*pair, width) for pair in near])] if near else [],
                  "across": [one_step(P, [(*pair, width) for pair in far])] if far else []}  # fmt: skip
    else:
        far = [(p, q) for p, q in pairs if p % node == q % node]
        phases = {"within": [one_step(P, [(*pair, teams * width) for pair in near])] if near else [],
                  "across": [one_step(P, [(*pair, width) for pair in far])] if far else []}  # fmt: skip
    named = {name: after_another(P, steps) for name, steps in phases.items()}
    return ends, {**after_another(P, list(named.values())), "phases": named}


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


# --- what is given -> all that is returned ----------------------------------------------------------------------------


def lists(array):
    """Nested lists of numpy's numbers, which keep their dtype."""
    return [lists(row) if row.ndim else row[()] for row in np.asarray(array)] if np.ndim(array) > 1 else list(array)


def in_rounds(one):
    """What one round says, and under "later" the rounds after it, each from the state that the one before left."""

    def said(held):
        found, state = one(held["inputs"], held["parameters"])
        later = []
        for more in held["inputs"].get("later", []):
            again, state = one({**held["inputs"], **state, **more}, held["parameters"], state)
            later.append(again)
        return {**found, **({"later": later} if "later" in held["inputs"] else {})}

    return said


def of_outer_round(given, options, _=None):
    stack = given["stack"]
    P, n = stack.shape
    defaults = {"outer_lr": 0.7, "mu": 0.9, "rule": "nesterov", "direction": "anchor - local", "start": 0, "blend": 0.0}
    chosen = {**defaults, **options, "stop": options.get("stop") or n}
    momentum = given.get("momentum", np.zeros(n, stack.dtype))
    names = ("outer_lr", "mu", "rule", "direction", "start", "stop", "blend")
    settings = [chosen[name] for name in names]
    rows, anchor, m, traffic = outer_round(lists(stack), list(given["anchor"]), list(momentum), *settings)
    found = {"parameters": rows, "anchor": [anchor] * P, "momentum": [m] * P}
    kinds = {name: np.array(value, stack.dtype) for name, value in found.items()}
    state = {"anchor": kinds["anchor"][0], "momentum": kinds["momentum"][0]}
    return {**kinds, "traffic": traffic}, state


def of_pair_round(given, options, state=None):
    workers = given["workers"] if state is None else np.concatenate([state["held"], given["change"][:, None]], 1)
    chosen = {"momentum": 0.5, "outer_lr": 0.7, "pull": 1.0, **options}
    settings = chosen["momentum"], chosen["outer_lr"], chosen["pull"]
    rows, traffic = pair_round(lists(workers), list(given["order"]), *settings)
    result = np.array(rows, workers.dtype)
    return {"result": result, "traffic": traffic}, {"held": result}


def of_merge(held):
    stack, given = held["inputs"]["stack"], held["inputs"]
    P, n = stack.shape
    there = given.get("arrived", [True] * P)
    tokens = [float(t) for t in given["tokens"]]
    row = merge(lists(stack), tokens, there, held["parameters"].get("divisor", "arrived"))
    if row is None:
        return {"result": stack, "traffic": after_another(P, [])}
    late = [(p, 0, n) for p in range(1, P) if there[p]]
    steps = [one_step(P, moved) for moved in (late, [(0, p, n) for p in range(1, P)]) if moved]
    return {"result": np.array([row] * P, stack.dtype), "traffic": after_another(P, steps)}


def with_state(given, state):
    """Workers as they are given, or new gradients beside what the round before left."""
    return given["workers"] if state is None else np.stack([given["gradient"], state["left"]], 1)


def of_sparse_round(given, options, state=None):
    workers = with_state(given, state)
    chosen = {"chunk": 4096, "beta": 0.95, "bins": 0, "share": "ranks", **options}
    settings = [chosen[name] for name in ("k", "chunk", "beta", "bins", "share")]
    update, residuals, count, allowed = sparse_round(lists(workers), *settings)
    P = len(workers)
    result = np.array([[update, e] for e in residuals], workers.dtype)
    said = result
    if allowed is not None:
        off = [entry for row in allowed[1] for part in (allowed[0], row) for entry in part]
        said = {"near": result, "allowance": np.array(off, object)}
    traffic = dense.gather_blocks([2 * count] * P, "ring")
    return {"result": said, "traffic": traffic}, {"left": result[:, 1]}


def of_demo(held):
    """Rounds, and the matrix that they transform by, in bits."""
    basis = cosines(held["parameters"].get("chunk", 64))
    found = in_rounds(of_demo_round)(held)
    return {**found, "basis": np.array(basis), "sizes refused": ["ValueError"] * 2}


def of_demo_round(given, options, state=None):
    workers = with_state(given, state)
    chosen = {"chunk": 64, "beta": 0.999, "share": "senders", "signed": False, **options}
    settings = [chosen[name] for name in ("k", "chunk", "beta", "share", "signed")]
    update, left, near, off, count = cosine_round(lists(workers), *settings)
    result = np.array([[update, m] for m in left], workers.dtype)
    allowance = np.array([[near, row] for row in off])
    traffic = dense.gather_blocks([2 * count] * len(workers), "ring")
    said = {"near": result, "allowance": allowance}
    return {"result": said, "traffic": traffic}, {"left": result[:, 1].astype(workers.dtype)}


def of_low_bit_round(given, options, state=None):
    workers = with_state(given, state)
    chosen = {"bits": 4, "fresh": 0.2, "reset": False, "kept": None, **options}
    settings = [chosen[name] for name in ("step", "bits", "fresh", "reset", "kept")]
    update, errors = low_bit_round(lists(workers), *settings)
    result = np.array([[update, e] for e in errors], workers.dtype)
    traffic = dense.gather_blocks([workers.shape[2]] * len(workers), "ring")
    return {"result": result, "traffic": traffic}, {"left": result[:, 1]}


def of_scattered(held):
    stack = held["inputs"]["stack"]
    chosen = {"bits": 8, "way": "hierarchical", "node": 1, "reorder": True, **held["parameters"]}
    settings = [chosen[name] for name in ("step", "bits", "way", "node", "reorder")]
    blocks, traffic = scattered(lists(stack), *settings)
    return {"result": np.array(blocks, stack.dtype), "traffic": traffic}


def of_bins(held):
    values, chosen = held["inputs"]["values"], {"bins": 4, "reach": 6.0, **held["parameters"]}
    found, off = in_bins(list(values), chosen["bins"], chosen["reach"])
    smallest = Fraction(float(np.finfo(values.dtype).smallest_subnormal))
    allowed = [off + unit(values.dtype) * abs(v) + smallest for v in found]
    return {"values": {"near": found, "allowance": np.array(allowed, object)}}


def of_powers(held):
    return {"values": nearest_powers(held["inputs"]["values"])}


def of_length(held):
    return {"length": np.array([largest_divisor(**{"target": 64, **held["parameters"]})])}


def of_resets(held):
    return {"resets": np.array(reset_counts(**held["parameters"]))}


def of_bits(held):
    chosen = {"value_bits": 2, "positions": "one by one", **held["parameters"]}
    if chosen["chunk"] > 2**16:
        return {"refused": "ValueError"}
    return {"bits": np.array([message_bits(**chosen)])}
