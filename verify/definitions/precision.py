"""Sums in narrow formats, an entry, a rank and a message at a time, rounded in fractions; imports nothing of ours."""

import math
from fractions import Fraction
from functools import cache

import numpy as np

from commbounds.verify.definitions import counter
from commbounds.verify.definitions.dense import Wire, speakers_and_silent

FORMATS = {
    "float64": (53, -1074, 2**1024 - 2**971),
    "float32": (24, -149, 2**128 - 2**104),
    "float16": (11, -24, 65504),
    "bfloat16": (8, -133, 2**128 - 2**120),
    "float8_e4m3fn": (4, -9, 448),
    "float8_e5m2": (3, -16, 57344),
}
"""Digits, exponent of the smallest number, largest number."""
BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}
BEYOND = {name: math.nan if name == "float8_e4m3fn" else math.inf for name in FORMATS}
"""What a number beyond the largest becomes."""


@cache
def two_to(exponent):
    """The power where it is whole, else 1: two_to(e) / two_to(-e) is 2^e."""
    return 2 ** max(exponent, 0)


def stored(value, sign, name, uniform=None):
    """A float or a fraction as a number of the format; a zero has this sign.

    The nearest one, ties to even; or the one above where the uniform number is below the share.
    """
    digits, lowest, largest = FORMATS[name]
    over, under = value.as_integer_ratio()
    # from a power of two that is surely below: those of the smallest number are a thousand away
    exponent = max(lowest, over.bit_length() - under.bit_length() - digits)
    while abs(over) * two_to(-exponent - digits) >= under * two_to(exponent + digits):
        exponent += 1
    up, down = two_to(exponent), two_to(-exponent)
    below, rest = divmod(over * down, under * up)
    if uniform is not None:
        share, whole = uniform.as_integer_ratio()
        above = share * under * up < rest * whole
    else:
        above = 2 * rest > under * up or (2 * rest == under * up and below % 2 == 1)
    size = abs(below + above) * up
    return math.copysign(BEYOND[name] if size > largest * down else size / down, sign)


def number(x, name, uniform=None):
    """A float in the format; what is not finite stays as it is."""
    return stored(x, x, name, uniform) if math.isfinite(x) else x


def added(a, b, name, uniform=None):
    """The sum, rounded to the format once."""
    total = a + b
    return stored(Fraction(a) + Fraction(b), total, name, uniform) if math.isfinite(total) else total


def divided(x, P, name):
    """The quotient, rounded to the format once."""
    return stored(Fraction(x) / P, x, name) if math.isfinite(x) else x


def holds(wide, narrow):
    """Whether every number of the one is one of the other."""
    a, b = FORMATS[wide], FORMATS[narrow]
    return a[0] >= b[0] and a[1] <= b[1] and a[2] >= b[2]


def cuts_of(n, parts):
    """Entries by block: the first n mod parts blocks are longer."""
    sizes = [n // parts + (b < n % parts) for b in range(parts)]
    return [list(range(sum(sizes[:b]), sum(sizes[: b + 1]))) for b in range(parts)]


# --- schedules: phases (name, whether it adds, steps of messages (source, target, blocks)), and number of blocks -----


def around(ranks, blocks_of):
    """Reduce-scatter round these ranks; what is of place b ends there."""
    P = len(ranks)
    return [[(ranks[r], ranks[(r + 1) % P], blocks_of((r - t) % P)) for r in range(P)] for t in range(1, P)]


def back(steps):
    """Every message the way it came."""
    return [[(target, source, blocks) for source, target, blocks in step] for step in reversed(steps)]


def in_a_ring(P, _nodes):
    adding = around(list(range(P)), lambda b: [b])
    copying = [[(r, (r + 1) % P, [(r - t) % P]) for r in range(P)] for t in range(P - 1)]
    return [("reduce-scatter", True, adding), ("all-gather", False, copying)], P


def direct(P, _nodes):
    adding = [[(r, (r + s) % P, [(r + s) % P]) for r in range(P)] for s in range(1, P)]
    copying = [[(r, (r + s) % P, [r]) for r in range(P)] for s in range(1, P)]
    return [("reduce-scatter", True, adding), ("all-gather", False, copying)], P


def folded(P, blocks, phases):
    """The silent ranks hand over all they have first, and are told last."""
    _, silent = speakers_and_silent(P)
    if not silent:
        return phases
    fold = [[(r, r - 1, blocks) for r in silent]]
    return [("fold", True, fold), *phases, ("unfold", False, [[(r - 1, r, blocks) for r in silent]])]


def recursive_doubling(P, _nodes):
    speakers, _ = speakers_and_silent(P)
    steps, distance = [], 1
    while distance < len(speakers):
        steps.append([(r, speakers[v ^ distance], [0]) for v, r in enumerate(speakers)])
        distance *= 2
    return folded(P, [0], [("exchange", True, steps)]), 1


def rabenseifner(P, _nodes):
    speakers, _ = speakers_and_silent(P)
    core = window = len(speakers)
    adding, copying, known, distance = [], [], [[v] for v in range(core)], 1
    while window > 1:
        window //= 2
        kept = [list(range(v // window * window, (v // window + 1) * window)) for v in range(core)]
        adding.append([(r, speakers[v ^ window], kept[v ^ window]) for v, r in enumerate(speakers)])
    while distance < core:
        copying.append([(r, speakers[v ^ distance], known[v]) for v, r in enumerate(speakers)])
        known = [known[v] + known[v ^ distance] for v in range(core)]
        distance *= 2
    return folded(P, list(range(core)), [("reduce-scatter", True, adding), ("all-gather", False, copying)]), core


def tree(P, _nodes):
    steps, gap = [], 1
    while gap < P:
        steps.append([(r, r - gap, [0]) for r in range(gap, P, 2 * gap)])
        gap *= 2
    return [("reduce", True, steps), ("broadcast", False, back(steps))], 1


def hierarchical(P, nodes):
    """A member has a block for every node: rings within nodes, of as many blocks each, then between them, and back."""
    members = P // nodes

    def at_once(rings):
        return [[message for step in steps for message in step] for steps in zip(*rings, strict=True)]

    near = at_once(
        around([q * members + m for m in range(members)], lambda b: list(range(b * nodes, (b + 1) * nodes)))
        for q in range(nodes)
    )
    far = at_once(
        around([q * members + m for q in range(nodes)], lambda b, m=m: [m * nodes + b]) for m in range(members)
    )
    return [
        ("reduce-scatter within nodes", True, near),
        ("reduce-scatter between nodes", True, far),
        ("all-gather between nodes", False, back(far)),
        ("all-gather within nodes", False, back(near)),
    ], P


SCHEDULES = {
    "ring": in_a_ring,
    "recursive_doubling": recursive_doubling,
    "rabenseifner": rabenseifner,
    "direct": direct,
    "binomial": tree,
    "hierarchical": hierarchical,
}


# --- message by message -----------------------------------------------------------------------------------------------


def speaker(rank, terms):
    """The lowest rank whose sum is made of the same terms."""
    return next(r for r, own in enumerate(terms) if own == terms[rank])


def allreduce(rows, schedule, wire, accumulate, per_hop, nodes, average, rounds_own, uniforms):
    """What every rank ends with, and the traffic in bytes; `uniforms` are those of `draws`, or None."""
    P, n = len(rows), len(rows[0])
    phases, blocks = SCHEDULES[schedule](P, nodes)
    places, wire_counts = cuts_of(n, blocks), Wire(P)
    hops = per_hop or schedule == "direct"

    def drawn(row, rank, i):
        return None if uniforms is None else uniforms[row][rank][i]

    held = [[number(v, wire, drawn(-2, r, i)) for i, v in enumerate(row)] for r, row in enumerate(rows)]
    if average == "before":
        held = [[divided(v, P, wire) for v in row] for row in held]
    terms, at = [{r} for r in range(P)], 0
    for name, adds, steps in phases:
        if not adds:
            continue
        wire_counts.phase(name)
        for step in steps:
            messages = []
            for source, target, bag in step:
                content, speaks = {}, speaker(source, terms)
                for i in (i for b in bag for i in places[b]):
                    content[i] = held[source][i]
                    if hops:
                        content[i] = number(held[source][i], wire, drawn(2 * at, speaks, i))
                        if rounds_own:
                            held[source][i] = content[i]
                messages.append((source, target, content))
            width = BYTES[wire if hops else accumulate]
            wire_counts.carry([(p, q, {0: range(width * len(content))}) for p, q, content in messages])
            if blocks == 1:  # of vectors that are cut, no two ranks add the same sum
                before = [set(own) for own in terms]
                for source, target, _ in messages:
                    terms[target] = terms[target] | before[source]
            for _, target, content in messages:
                speaks = speaker(target, terms)
                for i, v in content.items():
                    held[target][i] = added(held[target][i], v, accumulate, drawn(2 * at + 1, speaks, i))
            at += 1
    sent = [[number(v, wire, drawn(-1, speaker(r, terms), i)) for i, v in enumerate(row)] for r, row in enumerate(held)]
    if average == "after":
        sent, held = [[divided(v, P, wire) for v in row] for row in sent], [[v / P for v in row] for row in held]
    result = [list(row) for row in (sent if rounds_own else held)]
    for name, adds, steps in phases:
        if adds:
            continue
        wire_counts.phase(name)
        for step in steps:
            messages = [(p, q, {i: sent[p][i] for b in bag for i in places[b]}) for p, q, bag in step]
            wire_counts.carry([(p, q, {0: range(BYTES[wire] * len(content))}) for p, q, content in messages])
            for _, target, content in messages:
                for i, v in content.items():
                    result[target][i] = sent[target][i] = v
    return result, wire_counts.traffic(phased=True)


def draws(schedule, P, n, nodes):
    """The shape of the uniform numbers: two for every step that adds, and two."""
    phases, _ = SCHEDULES[schedule](P, nodes)
    return 2 * sum(len(steps) for _, adds, steps in phases if adds) + 2, P, n


def reduced(held):
    """All that is returned, or the kind of error."""
    stack, drawn = held["inputs"]["stack"], held["randomness"]
    options = {
        "schedule": "ring", "wire": "bfloat16", "accumulate": None, "per_hop": True, "nodes": None, "average": None,
        "rounds_own": True, **held["parameters"],
    }  # fmt: skip
    P, n = stack.shape
    schedule, nodes, wire = options["schedule"], options["nodes"], options["wire"]
    accumulate = options["accumulate"] = options["accumulate"] or wire
    if not np.isfinite(stack).all() or schedule not in SCHEDULES or not {wire, accumulate} <= set(FORMATS):
        return {"refused": "ValueError"}
    if (schedule == "hierarchical") == (nodes is None) or (nodes is not None and (nodes < 1 or P % nodes)):
        return {"refused": "ValueError"}
    if not holds(accumulate, wire):
        return {"refused": "ValueError"}
    if not holds(stack.dtype.name, wire):
        return {"refused": "TypeError"}
    if options["average"] not in (None, "before", "after") or (options["average"] and drawn):
        return {"refused": "ValueError"}
    uniforms, shape = None, draws(schedule, P, n, nodes)
    if drawn:
        uniforms = (
            np.random.default_rng(drawn["seed"]).random(shape) if "seed" in drawn else np.array(drawn["uniforms"])
        )
        if uniforms.shape != shape or not ((uniforms >= 0) & (uniforms < 1)).all():
            return {"refused": "ValueError"}
        uniforms = uniforms.tolist()
    rows, traffic = allreduce(stack.astype(np.float64).tolist(), uniforms=uniforms, **options)
    return {"result": np.array(rows).astype(stack.dtype), "traffic": traffic}


# --- sum by sum, in the order of a schedule ---------------------------------------------------------------------------


class Simulated:
    """Sums of one entry, rounded to the accumulator's format, and to the wire's where they would travel.

    Roundings are to nearest where `draw` is None; else the magnitude is rounded up where its share and the number
    ``draw(place)`` make one. A place is the number of a rounding, as the implementation's docstring has it.
    """

    def __init__(self, accumulate, wire, per_hop, own, average, draw):
        self.draw = draw
        self.accumulate, self.wire, self.per_hop = accumulate, wire, per_hop
        self.own, self.halves = own == "as sent", average == "halving"

    def in_format(self, x, name, *place):
        """Infinity is what is beyond the largest number."""
        if math.isinf(x):
            return math.copysign(BEYOND[name], x)
        if self.draw is None or math.isnan(x):
            return number(x, name)
        return math.copysign(number(abs(x), name, 1 - self.draw(*place)), x)

    def over(self, x, P, *place):
        """The quotient in the wire's format, which a draw rounds from float64."""
        if not math.isfinite(x):
            return x
        return divided(x, P, self.wire) if self.draw is None else self.in_format(x / P, self.wire, *place)

    def plus(self, a, b, place):
        total = a + b
        if self.draw is None and math.isfinite(total):
            return added(a, b, self.accumulate)
        return self.in_format(total, self.accumulate, place)

    def sent(self, x, place):
        return self.in_format(x, self.wire, place) if self.per_hop else x

    def chain(self, terms, hops, place):
        """One after another; what hops from rank to rank is rounded to the wire's format on the way."""
        total = terms[0]
        for h, term in enumerate(terms[1:], 1):
            total = self.plus(self.sent(total, place + 2 * h) if hops else total, term, place + 2 * h + 1)
        return total

    def pair(self, own, other, at, there, step):
        """What a rank has after its partner's sum has arrived."""
        at, there = 5 * at + step, 5 * there + step
        if self.halves:
            own, other = (self.in_format(0.5 * v, self.accumulate, place) for v, place in ((own, at), (other, there)))
        own = self.sent(own, at + 1) if self.own else own
        return self.plus(own, self.sent(other, there + 1), at + 2)

    def core(self, terms):
        """What the members of the core begin with, and their ranks."""
        speakers, silent = speakers_and_silent(len(terms))
        core = len(speakers)
        return [
            self.pair(terms[r], terms[r + 1], v, v + core, FIRST) if r + 1 in silent else terms[r]
            for v, r in enumerate(speakers)
        ], speakers


FIRST = 8
"""The place of the first rounding of a sum."""


def simulate(rule, terms, schedule, place, n, nodes):
    """The sum of the entry at a place, by the ranks that have it first; and whose sum every rank gets."""
    P = len(terms)
    block = next(b for b, mine in enumerate(cuts_of(n, P)) if place in mine)
    if schedule == "ring":
        return {block: rule.chain([terms[(block + 1 + i) % P] for i in range(P)], True, FIRST)}, [block] * P
    if schedule == "direct":
        return {block: rule.chain([terms[(block - i) % P] for i in range(P)], False, FIRST)}, [block] * P
    if schedule == "in_rank_order":
        return {block: rule.chain(terms, False, FIRST)}, [block] * P
    if schedule == "binomial":
        sums, step = list(terms), FIRST
        while len(sums) > 1:
            pairs = enumerate(zip(sums[::2], sums[1::2], strict=False))
            added_up = [rule.pair(a, b, 2 * u, 2 * u + 1, step) for u, (a, b) in pairs]
            sums, step = added_up + ([sums[-1]] if len(sums) % 2 else []), step + 5 * P
        return {0: sums[0]}, [0] * P
    if schedule == "hierarchical":
        members = P // nodes
        member, node = divmod(block, nodes)
        sums = []
        for q in range(nodes):
            own = terms[q * members : (q + 1) * members]
            place = FIRST + 4 * P * (q + 1)
            total = rule.chain([own[(member + 1 + i) % members] for i in range(members)], True, place)
            sums.append(rule.sent(total, place - 1) if rule.own else total)
        owner = node * members + member
        return {owner: rule.chain([sums[(node + 1 + i) % nodes] for i in range(nodes)], True, FIRST)}, [owner] * P
    sums, speakers = rule.core(terms)
    step = FIRST + 10 * len(sums)
    if schedule == "recursive_doubling":
        distance = 1
        while distance < len(sums):
            sums = [rule.pair(own, sums[v ^ distance], v, v ^ distance, step) for v, own in enumerate(sums)]
            distance, step = 2 * distance, step + 5 * len(sums)
        return dict(zip(speakers, sums, strict=True)), [r if r in speakers else r - 1 for r in range(P)]
    window = len(sums)
    owner = next(b for b, mine in enumerate(cuts_of(n, window)) if place in mine)
    while window > 1:  # the half of the window that the owner stands in keeps the sums
        window //= 2
        sums = [rule.pair(own, sums[v ^ window], v, v ^ window, step) for v, own in enumerate(sums)]
        step += 5 * len(sums)
    return {speakers[owner]: sums[owner]}, [speakers[owner]] * P


def simulated(held):
    """What every rank holds, or the kind of error."""
    options = {
        "schedule": "ring", "accumulate": "float32", "wire": None, "per_hop": True, "own": "as sent", "kept": "as sent",
        "rounding": "nearest", "average": None, "nodes": 1, **held["parameters"],
    }  # fmt: skip
    stack, schedule, average, nodes = held["inputs"]["stack"], options["schedule"], options["average"], options["nodes"]
    accumulate, wire = options["accumulate"], options["wire"] or options["accumulate"]
    if stack.ndim != 2 or not stack.size or schedule not in (*SCHEDULES, "in_rank_order"):
        return {"refused": "ValueError"}
    P = len(stack)
    if not {accumulate, wire} <= set(FORMATS) or not holds(accumulate, wire) or nodes < 1 or P % nodes:
        return {"refused": "ValueError"}
    known = {"own": ("as sent", "unrounded"), "kept": ("as sent", "unrounded"), "rounding": ("nearest", "stochastic")}
    if any(options[name] not in choices for name, choices in known.items()):
        return {"refused": "ValueError"}
    if average not in (None, "before", "after", "halving"):
        return {"refused": "ValueError"}
    if average == "halving" and (P & (P - 1) or schedule not in ("recursive_doubling", "rabenseifner", "binomial")):
        return {"refused": "ValueError"}
    if options["rounding"] == "stochastic" and not held["randomness"]:
        return {"refused": "TypeError"}
    given, key = (accumulate, wire, options["per_hop"], options["own"], average), None
    if options["rounding"] == "stochastic":
        key = counter.key_of(held["randomness"]["seed"])
    return {"result": held_by_all(given, key, stack, schedule, average, nodes, options["kept"]), "in format": True}


def held_by_all(given, key, stack, schedule, average, nodes, kept):
    """What every rank holds; vectors are rounded to nearest at first."""
    (P, n), rows, wire = stack.shape, np.empty(stack.shape), given[1]
    for i in range(n):

        def draw(place, row=0, i=i):
            return (counter.word(key + (place + 1) * 0xD1B54A32D192ED03, row * n + i) >> 11) * 2.0**-53

        rule = Simulated(*given, None if key is None else draw)
        terms = [number(float(row[i]), wire) for row in stack]
        terms = [math.copysign(BEYOND[wire], v) if math.isinf(v) else v for v in terms]
        if average == "before":
            terms = [rule.over(v, P, 1, rank) for rank, v in enumerate(terms)]
        sums, whose = simulate(rule, terms, schedule, i, n, nodes)
        sent = {r: rule.in_format(v, wire, 2, row) for row, (r, v) in enumerate(sums.items())}
        if average == "after":
            sent = {r: rule.over(v, P, 3, row) for row, (r, v) in enumerate(sent.items())}
            sums = {r: v / P for r, v in sums.items()}
        for rank in range(P):
            first = kept == "unrounded" and rank in sums
            rows[rank, i] = sums[rank] if first else sent[whose[rank]]
    return rows


# --- split over ranks -------------------------------------------------------------------------------------------------


def split(held):
    """What all ranks end with, or the kind of error; near where exponentials, logs, roots and quotients are in it."""
    options = {
        "of": "product", "accumulate": "float32", "wire": None, "tf32": False, "batches": 1, "replicas": 1,
        "divisor": 1, "target": 0, "eps": 0.0625, **held["parameters"],
    }  # fmt: skip
    stack, of, form = held["inputs"]["stack"], options["of"], options["accumulate"]
    wire = options["wire"] or form
    if stack.ndim != 2 or not stack.size or not np.isfinite(stack).all():
        return {"refused": "ValueError"}
    if of not in ("product", "gradient", "loss", "distance", "norm", "root", "step"):
        return {"refused": "ValueError"}
    if not {form, wire} <= set(FORMATS) or not holds(form, wire):
        return {"refused": "ValueError"}
    P, m = stack.shape
    batches, replicas, divisor, eps = (options[name] for name in ("batches", "replicas", "divisor", "eps"))
    if (of == "product" and m % 2) or batches < 1 or m % batches or replicas < 1 or P % replicas or divisor < 1:
        return {"refused": "ValueError"}
    if not 0 <= options["target"] < stack.size or not eps >= 0:
        return {"refused": "ValueError"}
    rows = stack.tolist()
    if of == "product":
        return {"result": np.array([dot_product(rows, form, wire, options["tf32"])])}
    if of in ("distance", "loss"):
        return softmax(rows, of, form, wire, options["target"])
    if of in ("gradient", "step"):
        n, size, total = m // batches, P // replicas, []
        for i in range(n):
            own = [one_by_one(row[i::n], form) for row in rows]
            shards = [one_by_one(own[r * size : (r + 1) * size], wire) for r in range(replicas)]
            total.append(divided(one_by_one(shards, wire), divisor, wire))
        if of == "gradient":
            return {"result": np.array(total)}
        steps = [g / (abs(g) + eps) if g else 0.0 for g in total]
        return {"result": {"near": steps, "allowance": [2.0**-50] * n}}
    total = [one_by_one([row[i] for row in rows], wire) for i in range(m)]
    if of == "root":
        root = math.sqrt(math.fsum(v * v for v in total) / m + eps)
        return {"result": {"near": [root], "allowance": [2.0**-50 * (m + 4) * root]}}
    total = [number(v, form) for v in total]
    squares = one_by_one([float(v * v) for v in total], form)
    mean = number(squares * number(1 / m, form), form)
    root = number(math.sqrt(added(mean, number(eps, form), form)), form)
    return {"result": np.array([number(v / root, form) if v else 0.0 for v in total])}


def one_by_one(values, form):
    """A running sum of numbers that are rounded to the format first."""
    total, *others = (number(v, form) for v in values)
    for v in others:
        total = added(total, v, form)
    return total


def dot_product(rows, form, wire, tf32):
    """Every rank multiplies the first half of its numbers with the second, and adds up."""
    parts = []
    for row in rows:
        if tf32:
            row = [eleven_digits(v) for v in row]
        half = len(row) // 2
        parts.append(one_by_one([a * b for a, b in zip(row[:half], row[half:], strict=True)], form))
    return one_by_one(parts, wire)


def eleven_digits(value):
    """To the nearest number of eleven digits, ties to even."""
    exponent = math.frexp(value)[1] - 11
    return math.ldexp(round(math.ldexp(value, -exponent)), exponent)


def softmax(rows, of, form, wire, target):
    """The loss of the target's class, or the mean distance to the maximum."""
    most = max(map(max, rows))
    if of == "distance":
        weights = [math.exp(v - most) for row in rows for v in row]
        distances = [most - v for row in rows for v in row]
        mean = math.fsum(w * z for w, z in zip(weights, distances, strict=True)) / math.fsum(weights)
        return {"result": {"near": [mean], "allowance": [2.0**-50 * (len(weights) + 4) * mean]}}
    differences = [[number(v - most, form) for v in row] for row in rows]
    parts = [one_by_one([math.exp(z) for z in row], form) for row in differences]
    total = one_by_one(parts, wire)
    log = number(math.log(total), form)
    loss = added(log, -[z for row in differences for z in row][target], form)
    # the machine's exponentials may be rounded to a neighbour, in every term
    digits = FORMATS[wire][0]
    off = 2.0 ** (1 - digits) * 8 if of == "loss" and form != "float64" else 2.0**-45
    return {"result": {"near": [loss], "allowance": [off * (1 + abs(loss))]}}
