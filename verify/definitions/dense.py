"""Classical collectives from their textbook descriptions, one message at a time; imports nothing of ours.

A rank is a dict from block to contents. `Wire` carries messages: those of a step leave before any arrives.
"""

import numpy as np


class Wire:
    """Counts what it carries: words and messages of every rank, step by step."""

    def __init__(self, P):
        self.P = P
        self.steps = []
        self.began = []

    def phase(self, name):
        """The steps that follow are of this phase."""
        self.began.append((name, len(self.steps)))

    def carry(self, messages):
        """Takes (source, target, {block: list of words}), returns (target, contents) in the same order."""
        sent, received, count = [0] * self.P, [0] * self.P, [0] * self.P
        arrived = []
        for source, target, contents in messages:
            words = sum(map(len, contents.values()))
            sent[source] += words
            received[target] += words
            count[source] += 1
            arrived.append((target, dict(contents)))
        self.steps.append((sent, received, count))
        return arrived

    def counts(self, steps):
        return {
            "sent": [sum(step[0][r] for step in steps) for r in range(self.P)],
            "received": [sum(step[1][r] for step in steps) for r in range(self.P)],
            "messages": [sum(step[2][r] for step in steps) for r in range(self.P)],
            "steps": len(steps),
            "critical_path": sum(max(max(sent), max(received)) for sent, received, _ in steps),
        }

    def traffic(self, phased=False):
        """The plain form of a Traffic, and of its phases where asked for."""
        found = self.counts(self.steps)
        if phased:
            ends = [*(start for _, start in self.began[1:]), len(self.steps)]
            parts = zip(self.began, ends, strict=True)
            found["phases"] = {name: self.counts(self.steps[start:end]) for (name, start), end in parts}
        return found


# --- all-gather -------------------------------------------------------------------------------------------------------


def copied(wire, ranks, messages):
    """One step, in which what arrives is new."""
    for target, contents in wire.carry(messages):
        assert not set(contents) & set(ranks[target]), "a block arrives where it is"
        ranks[target].update(contents)


def gather_ring(wire, ranks):
    P = len(ranks)
    last = list(range(P))
    for _ in range(P - 1):
        copied(wire, ranks, [(r, (r + 1) % P, {last[r]: ranks[r][last[r]]}) for r in range(P)])
        last = [last[r - 1] for r in range(P)]


def gather_bruck(wire, ranks):
    P, distance = len(ranks), 1
    while distance < P:
        # a rank has the blocks behind its own; it passes on those that the rank before lacks
        messages = []
        for r in range(P):
            target = (r - distance) % P
            messages.append((r, target, {b: v for b, v in ranks[r].items() if b not in ranks[target]}))
        copied(wire, ranks, messages)
        distance *= 2


def gather_doubling(wire, ranks):
    P = len(ranks)
    speakers, silent = speakers_and_silent(P)
    if silent:
        copied(wire, ranks, [(r, r - 1, {r: ranks[r][r]}) for r in silent])
    distance = 1
    while distance < len(speakers):
        messages = [(r, speakers[v ^ distance], dict(ranks[r])) for v, r in enumerate(speakers)]
        copied(wire, ranks, messages)
        distance *= 2
    if silent:
        copied(wire, ranks, [(r - 1, r, {b: v for b, v in ranks[r - 1].items() if b != r}) for r in silent])


def speakers_and_silent(P):
    """A power of two of ranks that do the work, and the others, each of which stands behind one of those."""
    core = 1
    while 2 * core <= P:
        core *= 2
    silent = [2 * i + 1 for i in range(P - core)]
    return [r for r in range(P) if r not in silent], silent


GATHERS = {"ring": gather_ring, "bruck": gather_bruck, "recursive-doubling": gather_doubling}


def allgatherv(blocks, algorithm, phased=False):
    """What every rank has in the end, block after block, and the traffic."""
    P = len(blocks)
    wire = Wire(P)
    wire.phase("all-gather")
    ranks = [{r: list(blocks[r])} for r in range(P)]
    GATHERS[algorithm](wire, ranks)
    return [[v for b in range(P) for v in rank[b]] for rank in ranks], wire.traffic(phased)


def gather_blocks(sizes, algorithm):
    """The traffic of blocks of these sizes, whose words are numbers that nobody writes down."""
    wire = Wire(len(sizes))
    GATHERS[algorithm](wire, [{r: range(size)} for r, size in enumerate(sizes)])
    return wire.traffic()


# --- reduce-scatter and all-reduce ------------------------------------------------------------------------------------


def added(wire, ranks, messages):
    """One step, in which what arrives is added to what is there."""
    for target, contents in wire.carry(messages):
        for block, values in contents.items():
            ranks[target][block] = [a + b for a, b in zip(ranks[target][block], values, strict=True)]


def cut(x, parts):
    """{block: words}: the first len(x) mod parts blocks are one word longer."""
    blocks, start = {}, 0
    for b in range(parts):
        stop = start + len(x) // parts + (b < len(x) % parts)
        blocks[b] = list(x[start:stop])
        start = stop
    return blocks


def taken(rank, blocks):
    return {b: rank[b] for b in blocks}


def scatter_ring(wire, ranks):
    P = len(ranks)
    for t in range(1, P):
        added(wire, ranks, [(r, (r + 1) % P, taken(ranks[r], [(r - t) % P])) for r in range(P)])


def scatter_bruck(wire, ranks):
    P = len(ranks)
    distances = [2**j for j in range(P) if 2**j < P]
    for distance in reversed(distances):
        messages = []
        for r in range(P):
            bag = [(r + distance + i) % P for i in range(min(distance, P - distance))]
            messages.append((r, (r + distance) % P, taken(ranks[r], bag)))
        added(wire, ranks, messages)


def halved(wire, ranks, speakers, blocks_of):
    """Speakers keep the half of the window that they stand in and send the other to their partner in it."""
    window = len(speakers)
    while window > 1:
        messages = []
        for v, r in enumerate(speakers):
            partner = v ^ (window // 2)
            start = partner // (window // 2) * (window // 2)
            bag = [b for u in range(start, start + window // 2) for b in blocks_of[u]]
            messages.append((r, speakers[partner], taken(ranks[r], bag)))
        added(wire, ranks, messages)
        window //= 2


def scatter_halving(wire, ranks):
    P = len(ranks)
    speakers, silent = speakers_and_silent(P)
    blocks_of = [[r, r + 1] if r + 1 in silent else [r] for r in speakers]
    if silent:
        added(wire, ranks, [(r, r - 1, taken(ranks[r], [b for b in range(P) if b != r])) for r in silent])
    halved(wire, ranks, speakers, blocks_of)
    if silent:
        added(wire, ranks, [(r - 1, r, taken(ranks[r - 1], [r])) for r in silent])


SCATTERS = {"ring": scatter_ring, "bruck": scatter_bruck, "recursive-doubling": scatter_halving}


def reduce_scatter(stack, algorithm, phased=False):
    """Block r of rank r, and the traffic."""
    wire, ranks = Wire(len(stack)), [cut(x, len(stack)) for x in stack]
    wire.phase("reduce-scatter")
    SCATTERS[algorithm](wire, ranks)
    return [rank[r] for r, rank in enumerate(ranks)], wire.traffic(phased)


def whole(wire, ranks, phased):
    return [[v for b in sorted(rank) for v in rank[b]] for rank in ranks], wire.traffic(phased)


def replaced(wire, ranks, messages):
    """One step, in which what arrives takes the place of what is there."""
    for target, contents in wire.carry(messages):
        ranks[target].update(contents)


def ring_allreduce(stack, phased=False):
    P = len(stack)
    wire, ranks = Wire(P), [cut(x, P) for x in stack]
    wire.phase("reduce-scatter")
    scatter_ring(wire, ranks)
    wire.phase("all-gather")
    for t in range(P - 1):
        replaced(wire, ranks, [(r, (r + 1) % P, taken(ranks[r], [(r - t) % P])) for r in range(P)])
    return whole(wire, ranks, phased)


def butterfly_allreduce(stack, phased=False):
    P = len(stack)
    wire, ranks = Wire(P), [cut(x, P) for x in stack]
    wire.phase("reduce-scatter")
    for s in range(1, P):
        added(wire, ranks, [(r, (r + s) % P, taken(ranks[r], [(r + s) % P])) for r in range(P)])
    wire.phase("all-gather")
    for s in range(1, P):
        replaced(wire, ranks, [(r, (r + s) % P, taken(ranks[r], [r])) for r in range(P)])
    return whole(wire, ranks, phased)


def recursive_doubling_allreduce(stack, phased=False):
    P = len(stack)
    wire, ranks = Wire(P), [cut(x, 1) for x in stack]
    speakers, silent = speakers_and_silent(P)
    if silent:
        wire.phase("fold")
        added(wire, ranks, [(r, r - 1, ranks[r]) for r in silent])
    distance = 1
    wire.phase("exchange")
    while distance < len(speakers):
        added(wire, ranks, [(r, speakers[v ^ distance], ranks[r]) for v, r in enumerate(speakers)])
        distance *= 2
    if silent:
        wire.phase("unfold")
        replaced(wire, ranks, [(r - 1, r, ranks[r - 1]) for r in silent])
    return whole(wire, ranks, phased)


def rabenseifner_allreduce(stack, phased=False):
    P = len(stack)
    speakers, silent = speakers_and_silent(P)
    core = len(speakers)
    wire, ranks = Wire(P), [cut(x, core) for x in stack]
    if silent:
        wire.phase("fold")
        added(wire, ranks, [(r, r - 1, ranks[r]) for r in silent])
    wire.phase("reduce-scatter")
    halved(wire, ranks, speakers, [[v] for v in range(core)])
    wire.phase("all-gather")
    known, distance = [[v] for v in range(core)], 1
    while distance < core:
        replaced(wire, ranks, [(r, speakers[v ^ distance], taken(ranks[r], known[v])) for v, r in enumerate(speakers)])
        known = [known[v] + known[v ^ distance] for v in range(core)]
        distance *= 2
    if silent:
        wire.phase("unfold")
        replaced(wire, ranks, [(r - 1, r, ranks[r - 1]) for r in silent])
    return whole(wire, ranks, phased)


# --- what one gives -> what the twin says of it -----------------------------------------------------------------------


def lists(stack):
    return [list(row) for row in stack]


def everywhere(row, stack):
    """The same row, or matrix, on every rank."""
    return np.array([row] * len(stack), stack.dtype)


def refused(arrays):
    """Whether some entry is NaN or infinite."""
    return not all(np.isfinite(array).all() for array in arrays)


def of_dense(twin):
    def found(held):
        stack = held["inputs"]["stack"]
        if refused(stack):
            return {"refused": "ValueError"}
        rows, traffic = twin(lists(stack), phased=True)
        return {"result": np.array(rows, stack.dtype), "traffic": traffic}

    return found


def scattered(held):
    stack = held["inputs"]["stack"]
    if refused(stack):
        return {"refused": "ValueError"}
    blocks, traffic = reduce_scatter(lists(stack), held["parameters"].get("algorithm", "ring"), True)
    return {"blocks": [np.array(block, stack.dtype) for block in blocks], "traffic": traffic}


def gathered(held):
    blocks = held["inputs"]["blocks"]
    if refused(blocks):
        return {"refused": "ValueError"}
    rows, traffic = allgatherv([list(block) for block in blocks], held["parameters"].get("algorithm", "ring"), True)
    return {"result": np.array(rows, blocks[0].dtype), "traffic": traffic}


def sized(held):
    sizes = [int(size) for size in held["inputs"]["sizes"]]
    return {"traffic": gather_blocks(sizes, held["parameters"].get("algorithm", "ring"))}
