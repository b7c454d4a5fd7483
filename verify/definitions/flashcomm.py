"""Quantised all-reduces as they are described, block by block and rank by rank; imports nothing of ours."""

import math

import numpy as np

from commbounds.verify.definitions import counter, groupquant
from commbounds.verify.definitions.majority import counted


def parts(n, P):
    """Where the blocks of a vector of n entries begin and end, longer ones first."""
    ends = [0]
    for j in range(P):
        ends.append(ends[-1] + n // P + (1 if j < n % P else 0))
    return [range(ends[j], ends[j + 1]) for j in range(P)]


class SlowCoder:
    """One quantisation of every part of every rank: reads what it codes, and the bytes of that."""

    def __init__(self, quantiser, P, generator, uniforms=None):
        self.given, self.uniforms = quantiser, uniforms
        self.random = quantiser["record"] == "StochasticGroupQuantizer"
        self.seeds = generator.integers(0, 2**63, size=(P, P)) if self.random and uniforms is None else None

    def __call__(self, x, rank, part, where):
        if x.size == 0:
            return x, 0
        drawn = None
        if self.seeds is not None:
            drawn = counter.uniforms(counter.key_of(self.seeds[rank, part]), x.size, x.dtype)
        elif self.random:
            drawn = self.uniforms[rank][where.start : where.stop]
        found = groupquant.coded(x, self.given, drawn)
        return found["output"], math.ceil(found["bits"] / 8)


def total_of(parts, like):
    """Added up from zero, in their order."""
    total = np.zeros_like(like)
    for part in parts:
        total = total + part
    return total


def pairs(senders, size):
    """Messages from everyone to everyone else among the ranks given."""
    return [(p, r, size(p, r)) for p in senders for r in senders if p != r]


def moved(P, rows, steps):
    """What everyone holds, which way bytes went, and how many."""
    moves = np.zeros((len(steps), P, P), np.int64)
    for at, step in zip(moves, steps, strict=True):
        for p, r, size in step:
            at[p, r] = size
    return {"result": {"values": np.array(rows), "moves": moves}, "traffic": counted(P, steps)}


def _started(held):
    """The vectors, the quantiser, a generator from the seed, and the options."""
    options = dict(held["parameters"])
    generator = np.random.default_rng(held["randomness"].get("seed"))
    return held["inputs"]["stack"], options.pop("quantiser"), generator, options


def _tried(twin):
    def said(held):
        stack = held["inputs"]["stack"]
        if stack.dtype not in (np.float32, np.float64):
            return {"refused": "TypeError"}
        if not np.isfinite(stack).all():
            return {"refused": "ValueError"}
        try:
            return twin(held)
        except groupquant.TooLarge:
            return {"refused": "ValueError"}

    return said


@_tried
def twostep_said(held):
    stack, quantiser, generator, options = _started(held)
    (P, n), uniforms = stack.shape, held["randomness"].get("uniforms", (None, None))
    second = options.get("second") or quantiser
    first, again = SlowCoder(quantiser, P, generator, uniforms[0]), SlowCoder(second, P, generator, uniforms[1])
    blocks, size = parts(n, P), np.zeros((P, P), int)
    rows, sums, sent = [np.zeros_like(row) for row in stack], [], []
    for j, block in enumerate(blocks):
        read = []
        for p, row in enumerate(stack):
            values, size[p][j] = first(row[block.start : block.stop], p, j, block)
            read.append(values)
        sums.append(total_of(read, read[0]))
    for j, block in enumerate(blocks):
        values, count = again(sums[j], j, j, block)
        sent.append(count)
        for p, row in enumerate(rows):
            own = p == j and not options.get("owner_reads_its_code", True)
            row[block.start : block.stop] = sums[j] if own else values
    steps = [pairs(range(P), lambda p, r: size[p][r]), pairs(range(P), lambda p, r: sent[p])] if P > 1 else []
    return moved(P, rows, steps)


@_tried
def ring_said(held):
    stack, quantiser, generator, _ = _started(held)
    P, n = stack.shape
    coders, blocks = [SlowCoder(quantiser, P, generator) for _ in range(P)], parts(n, P)
    steps, row = [[] for _ in range(2 * (P - 1))], np.zeros_like(stack[0])
    for j, block in enumerate(blocks):
        total = stack[j][block.start : block.stop]
        for hop in range(P - 1):
            rank, after = (j + hop) % P, (j + hop + 1) % P
            values, size = coders[hop](total, rank, j, block)
            steps[hop].append((rank, after, size))
            total = values + stack[after][block.start : block.stop]
        owner = (j - 1) % P
        row[block.start : block.stop], size = coders[-1](total, owner, j, block)
        for hop in range(P - 1):
            steps[P - 1 + hop].append(((owner + hop) % P, (owner + hop + 1) % P, size))
    return moved(P, [row] * P, steps)


@_tried
def oneshot_said(held):
    stack, quantiser, generator, _ = _started(held)
    P, n = stack.shape
    coder = SlowCoder(quantiser, P, generator)
    found = [coder(row, p, 0, range(n)) for p, row in enumerate(stack)]
    row = total_of([values for values, _ in found], stack[0])
    return moved(P, [row] * P, [pairs(range(P), lambda p, r: found[p][1])] if P > 1 else [])


@_tried
def hierarchical_said(held):
    stack, quantiser, generator, options = _started(held)
    (P, n), node = stack.shape, options["node"]
    if not 1 <= node <= P or P % node:
        return {"refused": "ValueError"}
    within, across, last = (SlowCoder(quantiser, P, generator) for _ in range(3))
    blocks, rows = parts(n, node), [np.zeros_like(row) for row in stack]
    inside, between, back = [], [], []
    sums = {}
    for first in range(0, P, node):
        team = range(first, first + node)
        for k, block in enumerate(blocks):
            read = []
            for p in team:
                values, size = within(stack[p][block.start : block.stop], p, k, block)
                read.append(values)
                inside += [(p, first + k, size)] if p != first + k else []
            sums[first + k] = total_of(read, read[0])
    whole = dict(sums)
    if node < P:
        found = {p: across(sums[p], p, p % node, blocks[p % node]) for p in range(P)}
        for p in range(P):
            same = range(p % node, P, node)
            keeps = not options.get("both_read_both", True)
            whole[p] = total_of([sums[q] if q == p and keeps else found[q][0] for q in same], sums[p])
            between += [(p, q, found[p][1]) for q in same if q != p]
    for p in range(P):
        block = blocks[p % node]
        values, size = last(whole[p], p, p % node, block)
        for q in range(p - p % node, p - p % node + node):
            rows[q][block.start : block.stop] = values
            back += [(p, q, size)] if q != p else []
    return moved(P, rows, [step for step in (inside, between, back) if step])
