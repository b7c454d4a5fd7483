"""Compression with memory, entry by entry, from the papers' algorithms; imports nothing of ours."""

import math

import numpy as np

from commbounds.verify.definitions.dense import everywhere, gather_blocks, lists, ring_allreduce


def largest(row, k):
    """The k entries that are largest in magnitude, ascending; the first of equal ones."""
    order = sorted(range(len(row)), key=lambda j: (-abs(float(row[j])), j))
    return sorted(order[:k])


def message(row, k, chosen):
    """{entry: value}: the chosen ones times n/k, or the largest as they are."""
    kind = type(row[0])
    if chosen is None:
        return {j: row[j] for j in largest(row, k)}
    return {int(j): row[int(j)] * kind(len(row) / k) for j in chosen}


def mean(messages, n, kind):
    """Added up rank by rank, and divided once."""
    total = [kind(0)] * n
    for sent in messages:
        for j, value in sent.items():
            total[j] = total[j] + value
    return [value / kind(len(messages)) for value in total]


def plus(row, factor, sent):
    """The row, and factor times what was sent."""
    return [row[j] + factor * sent[j] if j in sent else row[j] + factor * type(row[j])(0) for j in range(len(row))]


def traffic_of(messages):
    """The traffic of the messages round a ring: an index and a value an entry."""
    return gather_blocks([2 * len(sent) for sent in messages], "ring")


def chosen_by(kept, rank):
    return None if kept is None else kept[rank]


def diana(gradients, shifts, centre, k, weight, kept):
    """Estimate, new shifts, their new average, and the traffic."""
    kind, n = type(gradients[0][0]), len(centre)
    sent = [
        message([g - h for g, h in zip(*rows, strict=True)], k, chosen_by(kept, p))
        for p, rows in enumerate(zip(gradients, shifts, strict=True))
    ]
    average = mean(sent, n, kind)
    estimate = [c + a for c, a in zip(centre, average, strict=True)]
    after = [c + kind(weight) * a for c, a in zip(centre, average, strict=True)]
    return estimate, [plus(h, kind(weight), s) for h, s in zip(shifts, sent, strict=True)], after, traffic_of(sent)


def marina(gradients, previous, estimate, k, full, kept):
    """Estimate and traffic."""
    kind, P = type(gradients[0][0]), len(gradients)
    if full:
        rows, traffic = ring_allreduce(gradients, phased=True)
        return [value / kind(P) for value in rows[0]], traffic
    sent = [
        message([g - h for g, h in zip(*rows, strict=True)], k, chosen_by(kept, p))
        for p, rows in enumerate(zip(gradients, previous, strict=True))
    ]
    average = mean(sent, len(estimate), kind)
    return [c + a for c, a in zip(estimate, average, strict=True)], traffic_of(sent)


def dasha(gradients, previous, own, estimate, k, weight, kept):
    """Estimate, the workers' parts, and the traffic."""
    kind, sent = type(gradients[0][0]), []
    for p, (now, before, part) in enumerate(zip(gradients, previous, own, strict=True)):
        row = [g - b - kind(weight) * (o - b) for g, b, o in zip(now, before, part, strict=True)]
        sent.append(message(row, k, chosen_by(kept, p)))
    average = mean(sent, len(estimate), kind)
    parts = [plus(o, kind(1), s) for o, s in zip(own, sent, strict=True)]
    return [c + a for c, a in zip(estimate, average, strict=True)], parts, traffic_of(sent)


def norm_squared(row):
    total = 0.0
    for value in row:
        total += float(value) * float(value)
    return total


def lazy(gradients, previous, own, estimate, k, trigger, kept):
    """Estimate, the workers' parts, who sent, and the traffic."""
    kind, sent, spoke = type(gradients[0][0]), [], []
    for p, (now, before, part) in enumerate(zip(gradients, previous, own, strict=True)):
        missing = [g - o for g, o in zip(now, part, strict=True)]
        turn = [g - b for g, b in zip(now, before, strict=True)]
        spoke.append(norm_squared(missing) > trigger * norm_squared(turn))
        sent.append(message(missing, k, chosen_by(kept, p)) if spoke[-1] else {})
    average = mean(sent, len(estimate), kind)
    parts = [plus(o, kind(1), s) for o, s in zip(own, sent, strict=True)]
    return [c + a for c, a in zip(estimate, average, strict=True)], parts, spoke, traffic_of(sent)


def primal(gradients, weights, model, k, gamma):
    """The server's weights, the workers' model, and the traffic."""
    kind, P, n = type(gradients[0][0]), len(gradients), len(weights)
    total = list(gradients[0])
    for row in gradients[1:]:
        total = [a + b for a, b in zip(total, row, strict=True)]
    after = [w - kind(gamma) * (v / kind(P)) for w, v in zip(weights, total, strict=True)]
    difference = [a - m for a, m in zip(after, model, strict=True)]
    moved = list(model)
    for j in largest(difference, k):
        moved[j] = moved[j] + difference[j]
    others = P - 1
    up = phase([0] + [n] * others, [n * others] + [0] * others, [0] + [1] * others)
    down = phase([2 * k * others] + [0] * others, [0] + [2 * k] * others, [others] + [0] * others)
    return after, moved, together({"up": up, "down": down})


def phase(sent, received, messages):
    """One step, or none where a rank is by itself."""
    steps = int(len(sent) > 1)
    path = max(*sent, *received) * steps
    return {"sent": sent, "received": received, "messages": messages, "steps": steps, "critical_path": path}


def together(phases):
    """Phases one after another."""
    parts = list(phases.values())
    whole = {key: [sum(at) for at in zip(*(part[key] for part in parts), strict=True)]
             for key in ("sent", "received", "messages")}  # fmt: skip
    return {**whole, **{key: sum(part[key] for part in parts) for key in ("steps", "critical_path")}, "phases": phases}


def to_owners_and_back(sizes, names):
    """Of P blocks every rank sends each to its owner, who sends what it makes of them to all others."""
    P = len(sizes)
    to_others, of_others = [sum(sizes) - size for size in sizes], [size * (P - 1) for size in sizes]
    messages = [P - 1] * P
    up, down = phase(to_others, of_others, messages), phase(of_others, to_others, messages)
    return together(dict(zip(names, (up, down), strict=True)))


def signs(row, scale):
    """Signs, the scale, and what is left out."""
    if not row:
        return [], None, []
    kind, total = type(row[0]), 0.0
    for value in row:
        total += float(value) * float(value) if scale == "norm" else abs(float(value))
    size = kind(math.sqrt(total / len(row)) if scale == "norm" else total / len(row))
    plain = [1 if value >= 0 else -1 for value in row]
    return plain, size, [value - (size if s > 0 else -size) for value, s in zip(row, plain, strict=True)]


def blocks(row, P):
    """The first len(row) mod P blocks are one longer."""
    found, start = [], 0
    for p in range(P):
        size = len(row) // P + (p < len(row) % P)
        found.append(list(row[start : start + size]))
        start += size
    return found


def onebit(gradients, momentum, errors, served, beta, scale):
    """Momentum, the workers' errors and the servers', and the bytes."""
    kind = type(gradients[0][0])
    offered = [
        [kind(beta) * u + kind(1 - beta) * g + e for u, g, e in zip(momentum, row, missing, strict=True)]
        for row, missing in zip(gradients, errors, strict=True)
    ]
    return averaged(offered, served, scale)


def averaged(offered, served, scale):
    """The mean of vectors, compressed both ways; errors and bytes."""
    kind, P = type(offered[0][0]), len(offered)
    values, left = [], []
    for row in offered:
        plain, size, error = signs(row, scale)
        values.append(blocks([size if s > 0 else -size for s in plain], P))
        left.append(error)
    after, kept_back, sizes = [], [], []
    for owner, own in enumerate(blocks(served, P)):
        total = [kind(0)] * len(own)
        for p in range(P):
            total = [a + b for a, b in zip(total, values[p][owner], strict=True)]
        plain, size, error = signs([v / kind(P) + e for v, e in zip(total, own, strict=True)], scale)
        after += [size if s > 0 else -size for s in plain]
        kept_back += error
        sizes.append(-(-len(own) // 8) + np.dtype(kind).itemsize if own else 0)
    return after, left, kept_back, to_owners_and_back(sizes, ("up", "down"))


def whole_average(rows):
    """The mean of vectors, block by block at its owner; and the bytes."""
    kind, P = type(rows[0][0]), len(rows)
    found = []
    for j in range(len(rows[0])):
        total = kind(0)
        for row in rows:
            total = total + row[j]
        found.append(total / kind(P))
    sizes = [len(block) * np.dtype(kind).itemsize for block in blocks(rows[0], P)]
    return found, to_owners_and_back(sizes, ("whole up", "whole down"))


def zeroone_gradient(gradients, momentum, variance, errors, served, clock, kappa, beta, second, scale):
    """Momentum, variance, errors of both, the clock, and the bytes."""
    kind = type(gradients[0][0])
    steps, interval, count = (int(value) for value in clock)
    steps += 1
    if steps % interval == 0:
        mean_, traffic = whole_average(gradients)
        variance = [kind(second) * v + kind(1 - second) * (g * g) for v, g in zip(variance, mean_, strict=True)]
        count += 1
        if count == kappa:
            count, interval = 0, 2 * interval
    else:
        offered = [[g + e for g, e in zip(*rows, strict=True)] for rows in zip(gradients, errors, strict=True)]
        mean_, errors, served, traffic = averaged(offered, served, scale)
    momentum = [kind(beta) * u + kind(1 - beta) * g for u, g in zip(momentum, mean_, strict=True)]
    return momentum, variance, errors, served, [steps, interval, count], traffic


def zeroone_local(gradients, weights, momentum, moved, variance, errors, served, elapsed, average, gamma, beta, decay,
                  epsilon, scale):  # fmt: skip
    """Weights, momenta and what was moved of all ranks, errors of both, step sizes since, and the bytes."""
    kind, P = type(gradients[0][0]), len(gradients)
    root = [kind(math.sqrt(v)) if kind is np.float64 else np.sqrt(v) for v in variance]
    root = [v + kind(epsilon) for v in root]
    at, held, fallen = [], [], []
    for g, x, u, c in zip(gradients, weights, momentum, moved, strict=True):
        held.append([kind(beta) * a + kind(1 - beta) * b for a, b in zip(u, g, strict=True)])
        step = [a / d + kind(decay) * b for a, d, b in zip(held[-1], root, x, strict=True)]
        at.append([a - kind(gamma) * b for a, b in zip(x, step, strict=True)])
        fallen.append([a + kind(gamma) * b for a, b in zip(c, step, strict=True)])
    nothing = {"sent": [0] * P, "received": [0] * P, "messages": [0] * P, "steps": 0, "critical_path": 0}
    if not average:
        return at, held, fallen, errors, served, elapsed + gamma, nothing
    offered = [
        [c * d + e for c, d, e in zip(row, root, missing, strict=True)]
        for row, missing in zip(fallen, errors, strict=True)
    ]
    mean_, errors, served, traffic = averaged(offered, served, scale)
    back = [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(at, fallen, strict=True)]
    at = [[a - b / d for a, b, d in zip(row, mean_, root, strict=True)] for row in back]
    held = [[v / kind(elapsed + gamma) for v in mean_] for _ in range(P)]
    return at, held, [[kind(0)] * len(mean_) for _ in range(P)], errors, served, 0.0, traffic


def layered(row, layers):
    """The layers of a row."""
    found, start = [], 0
    for size in layers:
        found.append(list(row[start : start + size]))
        start += size
    return found


def along(values, layers, kind):
    """Of every entry the value of its layer."""
    return [kind(value) for value, size in zip(values, layers, strict=True) for _ in range(size)]


def lamb_warmup(gradients, weights, momentum, variance, trust, layers, gamma, beta, second, decay, epsilon, low, high,
                average):  # fmt: skip
    """Weights, momentum, variance, the averages of the coefficients, and the bytes."""
    kind = type(gradients[0][0])
    mean_, traffic = whole_average(gradients)
    momentum = [kind(beta) * u + kind(1 - beta) * g for u, g in zip(momentum, mean_, strict=True)]
    variance = [kind(second) * v + kind(1 - second) * (g * g) for v, g in zip(variance, mean_, strict=True)]
    update = [
        u / (np.sqrt(v) + kind(epsilon)) + kind(decay) * x for u, v, x in zip(momentum, variance, weights, strict=True)
    ]
    lengths, averages = [], []
    for x, d, before in zip(layered(weights, layers), layered(update, layers), trust, strict=True):
        own, other = math.sqrt(norm_squared(x)), math.sqrt(norm_squared(d))
        coefficient = 1.0
        if own != 0 and other != 0:
            coefficient = own / other
            if coefficient > high:
                coefficient = high
            if coefficient < low:
                coefficient = low
        averages.append(average * before + (1 - average) * coefficient if coefficient != 1.0 else before)
        lengths.append(gamma * coefficient)
    weights = [x - c * d for x, c, d in zip(weights, along(lengths, layers, kind), update, strict=True)]
    return weights, momentum, variance, averages, traffic


def onebit_lamb(gradients, weights, momentum, variance, fresh, errors, served, coefficients, trust, factors, layers,
                gamma, beta, second, decay, epsilon, low, high, threshold, scale, mask=None):  # fmt: skip
    """Weights, momentum with the padding, the fresh variance, errors of both, factors, and the bytes."""
    kind, n = type(gradients[0][0]), len(weights)
    each = along(coefficients, layers, kind)
    offered = []
    for row, missing in zip(gradients, errors, strict=True):
        own = [(kind(beta) * u + kind(1 - beta) * g) * c for u, g, c in zip(momentum[:n], row, each, strict=True)]
        offered.append([a + e for a, e in zip([*own, *momentum[n:]], missing, strict=True)])
    mean_, left, kept_back, traffic = averaged(offered, served, scale)
    after = [v / c for v, c in zip(mean_[:n], each, strict=True)]
    if mask is not None:
        after = [a if kept else kind(0) for a, kept in zip(after, mask, strict=True)]
    rebuilt = [(a - kind(beta) * u) / kind(1 - beta) for a, u in zip(after, momentum[:n], strict=True)]
    fresh = [kind(second) * v + kind(1 - second) * (r * r) for v, r in zip(fresh, rebuilt, strict=True)]
    root = [np.sqrt(v) + kind(epsilon) for v in variance]
    plain = [a / d for a, d in zip(after, root, strict=True)]
    update = [a + kind(decay) * x for a, x in zip(plain, weights, strict=True)]
    ratios = [d / (np.sqrt(v) + kind(epsilon)) for d, v in zip(root, fresh, strict=True)]
    found = []
    for ratio, own, whole, before in zip(
        layered(ratios, layers), layered(plain, layers), layered(update, layers), factors, strict=True
    ):
        factor = float(max(ratio))
        if decay:
            share = math.sqrt(norm_squared(own)) / math.sqrt(norm_squared(whole)) if norm_squared(whole) else 1.0
            share = min(1.0, share)
            factor = factor * share + (1.0 - share)
        if factor > high:
            factor = high
        if factor < low:
            factor = low
        if factor > before * (1.0 + threshold):
            factor = before * (1.0 + threshold)
        if factor < before * (1.0 - threshold):
            factor = before * (1.0 - threshold)
        found.append(factor)
    lengths = along([gamma * t * f for t, f in zip(trust, found, strict=True)], layers, kind)
    weights = [x - c * d for x, c, d in zip(weights, lengths, update, strict=True)]
    return weights, [*after, *mean_[n:]], fresh, left, kept_back, found, traffic


# --- test vectors: what one gives -> what the twin says of it ---------------------------------------------------------


def kept_of(held, given):
    return None if given.get("keep", held) == "largest" else given["kept"]


def shifted(held):
    given = {**held["inputs"], **held["parameters"], **held["randomness"]}
    stack = given["stack"]
    estimate, shifts, centre, traffic = diana(
        lists(stack), lists(given["shifts"]), list(given["mean"]), given["k"], given["weight"], kept_of("random", given)
    )
    return {"estimate": everywhere(estimate, stack), "shifts": shifts, "mean": centre, "traffic": traffic}


def tossed(held):
    given = {**held["inputs"], **held["parameters"], **held["randomness"]}
    stack = given["stack"]
    kept = None if given["full"] else kept_of("random", given)
    estimate, traffic = marina(
        lists(stack), lists(given["previous"]), list(given["estimate"]), given["k"], given["full"], kept
    )
    return {"estimate": everywhere(estimate, stack), "traffic": traffic}


def tracked(held):
    given = {**held["inputs"], **held["parameters"], **held["randomness"]}
    stack, rows = given["stack"], [lists(given[name]) for name in ("stack", "previous", "own")]
    estimate, own, traffic = dasha(
        *rows, list(given["estimate"]), given["k"], given["weight"], kept_of("random", given)
    )
    return {"estimate": everywhere(estimate, stack), "own": own, "traffic": traffic}


def lazily(held):
    given = {**held["inputs"], **held["parameters"], **held["randomness"]}
    stack, rows = given["stack"], [lists(given[name]) for name in ("stack", "previous", "own")]
    estimate, own, spoke, traffic = lazy(
        *rows, list(given["estimate"]), given["k"], given["trigger"], kept_of("largest", given)
    )
    return {"estimate": everywhere(estimate, stack), "own": own, "sent": np.array(spoke), "traffic": traffic}


def served(held):
    given = {**held["inputs"], **held["parameters"]}
    stack = given["stack"]
    weights, model, traffic = primal(
        lists(stack), list(given["weights"]), list(given["model"]), given["k"], given["step_size"]
    )
    return {"weights": weights, "model": everywhere(model, stack), "traffic": traffic}


def halved(held):
    given = {**held["inputs"], **held["parameters"]}
    stack = given["stack"]
    momentum, left, kept_back, traffic = onebit(
        lists(stack), list(given["momentum"]), lists(given["worker_errors"]), list(given["server_errors"]),
        given["beta"], given["scale"],
    )  # fmt: skip
    return {
        "momentum": everywhere(momentum, stack), "worker_errors": left, "server_errors": kept_back, "traffic": traffic
    }  # fmt: skip


def refreshed(held):
    given = {**held["inputs"], **held["parameters"]}
    stack = given["stack"]
    momentum, variance, left, kept_back, clock, traffic = zeroone_gradient(
        lists(stack), list(given["momentum"]), list(given["variance"]), lists(given["worker_errors"]),
        list(given["server_errors"]), given["clock"], given["kappa"], given["beta"], given["second_beta"],
        given["scale"],
    )  # fmt: skip
    return {
        "momentum": everywhere(momentum, stack), "variance": variance, "worker_errors": left,
        "server_errors": kept_back, "clock": clock, "traffic": traffic,
    }  # fmt: skip


def stepped(held):
    given = {**held["inputs"], **held["parameters"]}
    rows = [lists(given[name]) for name in ("stack", "weights", "momentum", "moved")]
    settings = [given[name] for name in ("average", "step_size", "beta", "decay", "epsilon", "scale")]
    weights, momentum, moved, left, kept_back, elapsed, traffic = zeroone_local(
        *rows, list(given["variance"]), lists(given["worker_errors"]), list(given["server_errors"]),
        float(given["elapsed"][0]), *settings,
    )  # fmt: skip
    return {
        "weights": weights, "momentum": momentum, "moved": moved, "worker_errors": left, "server_errors": kept_back,
        "elapsed": [elapsed], "traffic": traffic,
    }  # fmt: skip


def warmed(held):
    given = {**held["inputs"], **held["parameters"]}
    stack, rows = given["stack"], [list(given[name]) for name in ("weights", "momentum", "variance", "trust", "layers")]
    names = ("step_size", "beta", "second_beta", "decay", "epsilon", "coefficient_min", "coefficient_max",
             "coefficient_beta")  # fmt: skip
    weights, momentum, variance, trust, traffic = lamb_warmup(lists(stack), *rows, *(given[name] for name in names))
    return {
        "weights": everywhere(weights, stack), "momentum": everywhere(momentum, stack), "variance": variance,
        "trust": trust, "traffic": traffic,
    }  # fmt: skip


def compressed(held):
    given = {**held["inputs"], **held["parameters"]}
    stack, first = given["stack"], [list(given[name]) for name in ("weights", "momentum", "variance", "fresh")]
    last = [list(given[name]) for name in ("server_errors", "coefficients", "trust", "factors", "layers")]
    names = ("step_size", "beta", "second_beta", "decay", "epsilon", "factor_min", "factor_max", "threshold", "scale")
    weights, momentum, fresh, left, kept_back, factors, traffic = onebit_lamb(
        lists(stack), *first, lists(given["worker_errors"]), *last, *(given[name] for name in names), given.get("mask")
    )
    return {
        "weights": everywhere(weights, stack), "momentum": everywhere(momentum, stack), "fresh": fresh,
        "worker_errors": left, "server_errors": kept_back, "factors": factors, "traffic": traffic,
    }  # fmt: skip


# --- several rounds: what the definition says of one is what the next begins with -------------------------------------

STEPS = {
    "diana_step": (shifted, {"shifts": "shifts", "mean": "mean"}),
    "marina_step": (tossed, {"previous": "stack", "estimate": "estimate"}),
    "dasha_step": (tracked, {"previous": "stack", "own": "own", "estimate": "estimate"}),
    "lazy_step": (lazily, {"previous": "stack", "own": "own", "estimate": "estimate"}),
    "primal_step": (served, {"weights": "weights", "model": "model"}),
    "onebit_momentum": (halved, {name: name for name in ("momentum", "worker_errors", "server_errors")}),
    "zeroone_gradient": (
        refreshed, {name: name for name in ("momentum", "variance", "worker_errors", "server_errors", "clock")},
    ),
    "zeroone_local": (
        stepped,
        {name: name for name in ("weights", "momentum", "moved", "worker_errors", "server_errors", "elapsed")},
    ),
    "lamb_warmup": (warmed, {name: name for name in ("weights", "momentum", "variance", "trust")}),
    "onebit_lamb": (
        compressed,
        {name: name for name in ("weights", "momentum", "fresh", "worker_errors", "server_errors", "factors")},
    ),
}  # fmt: skip
"""Of the collectives by name: what a round says, and which of it goes into which input of the next."""

DEFAULTS = {
    "onebit_momentum": {"beta": 0.9, "scale": "norm"},
    "zeroone_gradient": {"kappa": 16, "beta": 0.9, "second_beta": 0.999, "scale": "norm"},
    "zeroone_local": {"step_size": 1e-3, "beta": 0.9, "decay": 0.0, "epsilon": 1e-8, "scale": "norm"},
    "lamb_warmup": {
        "step_size": 1e-3, "beta": 0.9, "second_beta": 0.999, "decay": 0.0, "epsilon": 1e-8, "coefficient_min": 0.01,
        "coefficient_max": 10.0, "coefficient_beta": 0.9,
    },
    "onebit_lamb": {
        "step_size": 1e-3, "beta": 0.9, "second_beta": 0.999, "decay": 0.0, "epsilon": 1e-8, "factor_min": 0.5,
        "factor_max": 4.0, "threshold": 0.1, "scale": "norm",
    },
}  # fmt: skip
"""As documented; for the last two they are those of the authors' code."""


def carried(name, inputs, said):
    """The inputs of the next round, in the dtypes and shapes of this one's: of rows that all ranks have the first."""
    after = dict(inputs)
    for target, source in STEPS[name][1].items():
        value = inputs["stack"] if source == "stack" else np.array(said[source], inputs[target].dtype)
        after[target] = value[0] if value.ndim > inputs[target].ndim else value
    return after


def in_numbers(said):
    """The same with Python's numbers in lists."""
    return {key: np.array(value).tolist() if isinstance(value, list) else value for key, value in said.items()}


def in_rounds(name):
    """What the definition says of every round of "stacks", each with what it draws; or of a single one."""

    def found(held):
        held = {**held, "parameters": {**DEFAULTS.get(name, {}), **held["parameters"]}}
        if "stack" in held["inputs"]:
            return in_numbers(STEPS[name][0](held))
        inputs, done = {key: value for key, value in held["inputs"].items() if key != "stacks"}, []
        for t, stack in enumerate(held["inputs"]["stacks"]):
            drawn = {key: values[t] for key, values in held["randomness"].items()}
            inputs = {**inputs, "stack": stack}
            step = {"inputs": inputs, "parameters": of_round(held["parameters"], t), "randomness": drawn}
            done.append(in_numbers(STEPS[name][0](step)))
            inputs = carried(name, inputs, done[-1])
        return {"steps": done}

    return found


def of_round(parameters, t):
    """The parameters, of which those that are lists have a value for every round."""
    return {key: value[t] if isinstance(value, list | tuple) else value for key, value in parameters.items()}
