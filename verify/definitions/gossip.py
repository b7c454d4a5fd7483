"""Gossip and push-sum, edge by edge."""

import numpy as np

from commbounds.verify.definitions.moshpit import group_average, options_of, steps_of


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


def unlinked(topology, N):
    """Whether there is no such graph of N peers."""
    return N == 2 if topology == "two-peer" else topology == "torus" and N not in [m * m for m in range(N + 1)]


def links_to(j, to):
    """The links that end at j, as (number, sender): by number, then by sender."""
    return [(h, i) for h in range(len(to[0])) for i in range(len(to)) if to[i][h] == j]


def gossip(rows, topology, rounds, start, alive, missing, delivered):
    """Rows after the rounds, and the counts of every round."""
    N, n, kind, log = len(rows), len(rows[0]), rows[0][0].dtype.type, []
    for t in range(rounds):
        to = targets(topology, N, start + t)
        count = {"sent": [0] * N, "received": [0] * N, "messages": [0] * N}
        new = []
        for j in range(N):
            arrived = [rows[j]]
            for h, i in links_to(j, to):
                works = delivered is None or delivered[t][i][h]
                if alive[t][i] and alive[t][j] and works:
                    arrived.append(rows[i])
                    if i != j:
                        count["sent"][i] += n
                        count["received"][j] += n
                        count["messages"][i] += 1
                elif missing == "self" and alive[t][j]:
                    arrived.append(rows[j])
            row = []
            for e in range(n):
                total = float(arrived[0][e])
                for vector in arrived[1:]:
                    total += float(vector[e])
                row.append(kind(total / len(arrived)))
            new.append(row)
        rows = new
        log.append(count)
    return rows, log


def push_sum(rows, weights, topology, rounds, start, delivered, lost):
    """Sums and weights after the rounds, and the counts of every round."""
    N, n = len(rows), len(rows[0])
    sums, weights, log = [list(map(float, row)) for row in rows], list(map(float, weights)), []
    for t in range(rounds):
        to = targets(topology, N, start + t)
        parts = len(to[0]) + 1
        count = {"sent": [0] * N, "received": [0] * N, "messages": [0] * N}
        new_sums = [[v / parts for v in row] for row in sums]
        new_weights = [w / parts for w in weights]
        for h in range(parts - 1):
            for i in range(N):
                j = to[i][h]
                if delivered is not None and not delivered[t][i][h]:
                    if lost == "gone":
                        continue
                    j = i
                elif j != i:
                    count["sent"][i] += n + 1
                    count["received"][j] += n + 1
                    count["messages"][i] += 1
                new_weights[j] += weights[i] / parts
                for e in range(n):
                    new_sums[j][e] += sums[i][e] / parts
        sums, weights = new_sums, new_weights
        log.append(count)
    return sums, weights, log


# --- what is given -> all that is returned ----------------------------------------------------------------------------


def spoken(log, N):
    """The traffic: a step for every round in which somebody sends."""
    return steps_of([count for count in log if any(count["messages"])], N)


def gossiped(held):
    stack = held["inputs"]["stack"]
    given = options_of(held, rounds=1, start=0, alive=None, delivered=None, missing="self")
    if unlinked(given["topology"], len(stack)):
        return {"refused": "ValueError"}
    topology, rounds, N = given["topology"], given["rounds"], len(stack)
    alive = [[True] * N] * rounds if given["alive"] is None else given["alive"]
    more = given["start"], alive, given["missing"], given["delivered"]
    rows, log = gossip([list(row) for row in stack], topology, rounds, *more)
    return {"result": np.array(rows, stack.dtype), "traffic": spoken(log, N)}


def pushed(held):
    stack = held["inputs"]["stack"]
    given = options_of(held, rounds=1, weights=None, start=0, delivered=None, lost="kept")
    if unlinked(given["topology"], len(stack)):
        return {"refused": "ValueError"}
    weights = [1.0] * len(stack) if given["weights"] is None else given["weights"]
    more = given["topology"], given["rounds"], given["start"], given["delivered"], given["lost"]
    sums, weights, log = push_sum([list(row) for row in stack], weights, *more)
    return {"sums": np.array(sums), "weights": np.array(weights), "traffic": spoken(log, len(stack))}


def restarted(held):
    stack, given = held["inputs"]["stack"], options_of(held, p=0.0, cap=1000, alive=None)
    N, rng = len(stack), np.random.default_rng(given.get("seed", 0))
    attempts = given["cap"] if given["alive"] is None else len(given["alive"])
    done, made = False, 0
    while not done and made < attempts:
        if given["alive"] is not None:
            done = all(given["alive"][made])
        elif given["p"] in (0, 1):
            done = given["p"] == 0
        else:
            done = all(uniform >= given["p"] for uniform in rng.random(N))
        made += 1
    rows, log = group_average([list(row) for row in stack], [0] * N) if done else (stack, [])
    result = np.array(rows, stack.dtype)
    return {"result": result, "attempts": made, "done": done, "traffic": steps_of(log, N)}
