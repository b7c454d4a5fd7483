"""Muon's and Dion's updates, entry by entry, from the algorithms; imports nothing of ours."""

import math

import numpy as np

from commbounds.verify.definitions.dense import everywhere, gather_blocks, ring_allreduce

EXPRESS = (
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
    (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
    (1.891301407787398, -1.2679958271945868, 0.37680408948524835),
    (1.8750014808534479, -1.2500016453999487, 0.3750001645474248),
)


def coefficients(iteration, step):
    """Of one step; those of Polar Express at x over 1.01, and the first at that over 1.01 again."""
    if iteration != "polar_express" or step >= len(EXPRESS):
        return {"muon": (3.4445, -4.7750, 2.0315), "cubic": (1.5, -0.5, 0.0)}.get(iteration, (1.875, -1.25, 0.375))
    found = EXPRESS[step]
    for _ in range(2 if step == 0 else 1):
        found = tuple(value / 1.01**power for value, power in zip(found, (1, 3, 5), strict=True))
    return found


def product(x, y):
    found = []
    for row in x:
        entries = []
        for j in range(len(y[0])):
            total = row[0] * y[0][j]
            for k in range(1, len(row)):
                total = total + row[k] * y[k][j]
            entries.append(total)
        found.append(entries)
    return found


def transposed(x):
    return [list(column) for column in zip(*x, strict=True)]


def norm(values):
    total = 0.0
    for value in values:
        total += float(value) * float(value)
    return math.sqrt(total)


def mean(matrices):
    """Added up on a ring, and divided; and the traffic."""
    P, m, n = len(matrices), len(matrices[0]), len(matrices[0][0])
    kind = type(matrices[0][0][0])
    rows, traffic = ring_allreduce([[v for row in matrix for v in row] for matrix in matrices], phased=True)
    flat = [value / kind(P) for value in rows[0]]
    return [flat[i * n : (i + 1) * n] for i in range(m)], traffic


def muon(matrices, steps, iteration, arithmetic="dtype"):
    x, traffic = mean(matrices)
    return (near_one_in_bfloat16 if arithmetic == "bfloat16" else near_one)(x, steps, iteration), traffic


def bfloat16(value):
    """The nearest number whose last sixteen bits as a float32 are zero; of two the one that is even without them."""
    given = np.float32(value)
    if not np.isfinite(given):
        return given
    bits = int(given.view(np.uint32))
    return np.uint32((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)


def near_one_in_bfloat16(x, steps, iteration):
    """`zeropower_via_newtonschulz5` of muon.py (KellerJordan/Muon@857d1ad), where X is a tensor of bfloat16.

    A number times a tensor, a sum, a quotient and a norm are computed in float32 and rounded; a product of matrices is
    summed in float32 and rounded; `c * A @ A` is `(c * A) @ A`.
    """

    def rounded(rows):
        return [[bfloat16(v) for v in row] for row in rows]

    def scaled(factor, rows):
        return [[bfloat16(np.float32(factor) * v) for v in row] for row in rows]

    def added(left, right):
        return [[bfloat16(v + w) for v, w in zip(*rows, strict=True)] for rows in zip(left, right, strict=True)]

    kind, tall = type(x[0][0]), len(x) > len(x[0])
    x = rounded(transposed(x) if tall else x)
    size = bfloat16(bfloat16(norm([v for row in x for v in row])) + np.float32(1e-7))
    x = [[bfloat16(v / size) for v in row] for row in x]
    for step in range(steps):
        a, b, c = coefficients(iteration, step)
        gram = rounded(product(x, transposed(x)))
        inner = added(scaled(b, gram), rounded(product(scaled(c, gram), gram)))
        x = added(scaled(a, x), rounded(product(inner, x)))
    x = [[kind(v) for v in row] for row in x]
    return transposed(x) if tall else x


def near_one(x, steps, iteration):
    kind = type(x[0][0])
    tall = len(x) > len(x[0])
    x = transposed(x) if tall else x
    size = kind(norm([v for row in x for v in row]))
    if size == 0:
        x = [[kind(0)] * len(x[0]) for _ in x]
    else:
        x = [[v / size for v in row] for row in x]
        for step in range(steps):
            a, b, c = map(kind, coefficients(iteration, step))
            gram = product(x, transposed(x))
            square = product(gram, gram)
            inner = [[b * g + c * s for g, s in zip(*rows, strict=True)] for rows in zip(gram, square, strict=True)]
            added = product(inner, x)
            x = [[a * v + w for v, w in zip(*rows, strict=True)] for rows in zip(x, added, strict=True)]
    return transposed(x) if tall else x


def tracked(gradients, own, estimate, k, steps, iteration):
    """Update, what all have as the ranks' gradients and as their average, and the traffic."""
    kind, n = type(gradients[0][0][0]), len(gradients[0][0])
    total, after = [[kind(0)] * n for _ in gradients[0]], []
    for gradient, held in zip(gradients, own, strict=True):
        missing = [g - h for rows in zip(gradient, held, strict=True) for g, h in zip(*rows, strict=True)]
        order = sorted(range(len(missing)), key=lambda j: (-abs(float(missing[j])), j))
        known = [list(row) for row in held]
        for j in order[:k]:
            known[j // n][j % n] = known[j // n][j % n] + missing[j]
            total[j // n][j % n] = total[j // n][j % n] + missing[j]
        after.append(known)
    ranks = kind(len(gradients))
    traffic_of = [[e + t / ranks for e, t in zip(*rows, strict=True)] for rows in zip(estimate, total, strict=True)]
    return near_one(traffic_of, steps, iteration), after, traffic_of, gather_blocks([2 * k] * len(gradients), "ring")


def dot(x, y):
    total = x[0] * y[0]
    for a, b in zip(x[1:], y[1:], strict=True):
        total = total + a * b
    return total


def orthonormal(x):
    """Columns by Gram and Schmidt, twice; what nothing is left of is zero."""
    kind, found = type(x[0][0]), []
    for given in transposed(x):
        column, before = list(given), norm(given)
        for _ in range(2):
            for other in found:
                part = dot(other, column)
                column = [v - part * w for v, w in zip(column, other, strict=True)]
        size = norm(column)
        small = size <= 4 * len(column) * float(np.finfo(kind).eps) * before
        found.append([kind(0)] * len(column) if small else [v / kind(size) for v in column])
    return transposed(found)


def one_after_another(**parts):
    """The counts of phases, and their sum."""
    names = [name for name in parts["left"] if name != "phases"]
    counts = {name: [part[name] for part in parts.values()] for name in names}
    whole = {
        name: [sum(at) for at in zip(*each, strict=True)] if isinstance(each[0], list) else sum(each)
        for name, each in counts.items()
    }
    return {**whole, "phases": parts}


def dion(gradients, momentum, basis, mu, factor="columns"):
    kind = type(gradients[0][0][0])
    b = [
        [[g + h for g, h in zip(*rows, strict=True)] for rows in zip(*pair, strict=True)]
        for pair in zip(momentum, gradients, strict=True)
    ]
    left, first = mean([product(own, basis) for own in b])
    u = orthonormal(left)
    rights = [product(transposed(own), u) for own in b]
    right, second = mean(rights)
    columns = transposed(orthonormal(right)) if factor == "orthonormal" else []
    for column in transposed(right) if factor == "columns" else []:
        size = norm(column)
        columns.append([v / kind(size) for v in column] if size > 0 else [kind(0)] * len(column))
    kept = []
    for own, part in zip(b, rights, strict=True):
        taken = product(u, transposed(part))
        kept.append(
            [[v - kind(1 - mu) * w for v, w in zip(*rows, strict=True)] for rows in zip(own, taken, strict=True)]
        )
    traffic = one_after_another(left=first, right=second)
    return product(u, columns), kept, transposed(columns), traffic


# --- test vectors: what one gives -> what the twin says of it ---------------------------------------------------------


def lists(stack):
    return [[list(row) for row in matrix] for matrix in stack]


DEFAULTS = {"steps": 5, "iteration": "muon", "arithmetic": "dtype", "mu": 0.95, "right": "columns"}
"""As documented."""


def orthogonalised(held):
    stack, options = held["inputs"]["stack"], {**DEFAULTS, **held["parameters"]}
    update, traffic = muon(lists(stack), options["steps"], options["iteration"], options["arithmetic"])
    return {"update": everywhere(update, stack), "traffic": traffic}


def lowered(held):
    given, options = held["inputs"], {**DEFAULTS, **held["parameters"]}
    stack, basis = given["stack"], [list(row) for row in given["basis"]]
    update, kept, basis, traffic = dion(lists(stack), lists(given["momentum"]), basis, options["mu"], options["right"])
    found = {"update": everywhere(update, stack), "momentum": np.array(kept, stack.dtype)}
    return {**found, "basis": np.array(basis, stack.dtype), "traffic": traffic}


def traffic_of(held):
    given, options = held["inputs"], {**DEFAULTS, **held["parameters"]}
    stack, estimate = given["stack"], [list(row) for row in given["estimate"]]
    more = options["k"], options["steps"], options["iteration"]
    update, own, estimate, traffic = tracked(lists(stack), lists(given["own"]), estimate, *more)
    found = {"update": everywhere(update, stack), "own": np.array(own, stack.dtype)}
    return {**found, "estimate": everywhere(estimate, stack), "traffic": traffic}


CARRIED = {"muon_update": (), "ef21_muon": ("own", "estimate"), "dion_update": ("momentum", "basis")}
"""What the next round begins with."""


def carried(name, inputs, said):
    """The inputs of the next round; of matrices that all ranks have the first."""
    values = {part: np.asarray(said[part], inputs[part].dtype) for part in CARRIED[name]}
    return {**inputs, **{part: v[0] if v.ndim > inputs[part].ndim else v for part, v in values.items()}}


def in_rounds(name):
    """What the definition says of every round of "stacks"; or of a single one."""
    step = {"muon_update": orthogonalised, "ef21_muon": traffic_of, "dion_update": lowered}[name]

    def found(held):
        if "stack" in held["inputs"]:
            return step(held)
        inputs, done = {part: value for part, value in held["inputs"].items() if part != "stacks"}, []
        for stack in held["inputs"]["stacks"]:
            inputs = {**inputs, "stack": stack}
            done.append(step({**held, "inputs": inputs}))
            inputs = carried(name, inputs, done[-1])
        return {"steps": done}

    return found
