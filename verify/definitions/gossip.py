"""Gossip and push-sum, edge by edge."""

import numpy as np

from commbounds.verify.definitions.moshpit import group_average


def hops(N):
    """The number of doublings that reach N."""
    count = 0
    while 2**count < N:
        count += 1
    return count


def targets(topology, N, t):
    """To whom each peer sends in round t."""
    if topology == "ring":
        return [[(i + 1) % N, (i - 1) % N] for i in range(N)]
    if topology == "torus":
        m = next(m for m in range(1, N + 1) if m * m == N)
        at = [(i // m, i % m) for i in range(N)]
        return [[a * m + (b + 1) % m, a * m + (b - 1) % m, (a + 1) % m * m + b, (a - 1) % m * m + b] for a, b in at]
    if topology == "exponential":
        return [[(i + 2**h) % N for h in range(hops(N))] for i in range(N)]
    if topology == "two-peer":
        pairs = [(2**h, 2 ** (h + 1)) for h in range(N) if 2 ** (h + 1) <= N - 1]
        return [[(i + shift) % N for shift in (pairs[t % len(pairs)] if pairs else ())] for i in range(N)]
    return [[(i + 2 ** (t % hops(N))) % N] if N > 1 else [] for i in range(N)]


def gossip(rows, topology, rounds, start, alive, missing, delivered=None):
    """Rows after the rounds, and the words that every peer sent and received, and its messages."""
    N, n, kind = len(rows), len(rows[0]), np.asarray(rows).dtype.type
    sent, received, messages = [0] * N, [0] * N, [0] * N
    for t in range(rounds):
        to = targets(topology, N, start + t)
        new = []
        for j in range(N):
            arrived = [rows[j]]
            for h in range(len(to[j])):
                (i,) = (i for i in range(N) if to[i][h] == j)
                works = delivered is None or delivered[t][i][h]
                if alive[t][i] and alive[t][j] and works:
                    arrived.append(rows[i])
                    if i != j:
                        sent[i] += n
                        received[j] += n
                        messages[i] += 1
                elif missing == "self" and alive[t][j]:
                    arrived.append(rows[j])
            row = []
            for e in range(n):
                total = 0.0
                for vector in arrived:
                    total += float(vector[e])
                row.append(kind(total / len(arrived)))
            new.append(row)
        rows = new
    return rows, sent, received, messages


def push_sum(rows, topology, rounds, start, delivered, lost):
    """Sums and weights after the rounds, and the words that every peer sent."""
    N, n = len(rows), len(rows[0])
    sums, weights, sent = [list(map(float, row)) for row in rows], [1.0] * N, [0] * N
    for t in range(rounds):
        to = targets(topology, N, start + t)
        parts = len(to[0]) + 1
        new_sums = [[v / parts for v in row] for row in sums]
        new_weights = [w / parts for w in weights]
        for h in range(parts - 1):
            for i in range(N):
                j = to[i][h]
                if not delivered[t][i][h]:
                    if lost == "gone":
                        continue
                    j = i
                elif j != i:
                    sent[i] += n + 1
                new_weights[j] += weights[i] / parts
                for e in range(n):
                    new_sums[j][e] += sums[i][e] / parts
        sums, weights = new_sums, new_weights
    return sums, weights, sent


def restarts(rows, alive):
    """Rows after the first attempt with everybody there, how many there were, whether one was, and what it moved."""
    for attempt, there in enumerate(alive, 1):
        if all(there):
            result, steps = group_average(rows, [0] * len(rows))
            return result, attempt, True, steps
    return rows, len(alive), False, []


# --- test vectors: what one gives -> what the twin says of it ---------------------------------------------------------


def lists(stack):
    return [list(row) for row in stack]


def everybody(held, rounds, N):
    alive = held["randomness"].get("alive")
    return [[True] * N] * rounds if alive is None else alive


def gossiped(held):
    stack, options, rounds = held["inputs"]["stack"], held["parameters"], held["parameters"]["rounds"]
    if options["topology"] in ("ring", "torus") and len(stack) <= 4:  # a neighbour comes twice, or is oneself
        return None
    more = options.get("start", 0), everybody(held, rounds, len(stack)), options.get("missing", "self")
    rows, sent, received, messages = gossip(lists(stack), options["topology"], rounds, *more)
    return {"result": rows, "traffic": {"sent": sent, "received": received, "messages": messages}}


def pushed(held):
    stack, options, rounds = held["inputs"]["stack"], held["parameters"], held["parameters"]["rounds"]
    if "weights" in options:
        return None
    edges = [targets(options["topology"], len(stack), t) for t in range(rounds)]
    works = held["randomness"].get("delivered") or [[[True] * len(to) for to in step] for step in edges]
    found = push_sum(lists(stack), options["topology"], rounds, 0, works, options.get("lost", "kept"))
    return {"sums": found[0], "weights": found[1], "traffic": {"sent": found[2]}}


TWINS = {"gossip": gossiped, "push_sum": pushed}
"""Of the collectives by name; None for what the twin does not do."""
