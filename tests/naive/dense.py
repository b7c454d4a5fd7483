"""Classical collectives from their textbook descriptions, one message at a time; imports nothing of ours.

A rank is a dict from block to contents. `Wire` carries messages: those of a step leave before any arrives.
"""


class Wire:
    """Counts what it carries: words and messages of every rank, step by step."""

    def __init__(self, P):
        self.P = P
        self.steps = []

    def carry(self, messages):
        """Takes (source, target, {block: list of words}), returns (target, contents) in the same order."""
        sent, received, count = [0] * self.P, [0] * self.P, [0] * self.P
        arrived = []
        for source, target, contents in messages:
            words = sum(len(block) for block in contents.values())
            sent[source] += words
            received[target] += words
            count[source] += 1
            arrived.append((target, {block: list(values) for block, values in contents.items()}))
        self.steps.append((sent, received, count))
        return arrived

    def traffic(self):
        """The plain form of a Traffic."""
        return {
            "sent": [sum(step[0][r] for step in self.steps) for r in range(self.P)],
            "received": [sum(step[1][r] for step in self.steps) for r in range(self.P)],
            "messages": [sum(step[2][r] for step in self.steps) for r in range(self.P)],
            "steps": len(self.steps),
            "critical_path": sum(max(max(sent), max(received)) for sent, received, _ in self.steps),
        }


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


def allgatherv(blocks, algorithm):
    """What every rank has in the end, block after block, and the traffic."""
    P = len(blocks)
    wire = Wire(P)
    ranks = [{r: list(blocks[r])} for r in range(P)]
    GATHERS[algorithm](wire, ranks)
    return [[v for b in range(P) for v in rank[b]] for rank in ranks], wire.traffic()


def gather_blocks(sizes, algorithm):
    """The traffic of blocks of these sizes."""
    return allgatherv([[r] * size for r, size in enumerate(sizes)], algorithm)[1]
