"""Averaging in groups, peer by peer and word by word, as the papers describe it."""

import numpy as np


def group_average(rows, groups, receives=None):
    """Rows after butterfly all-reduce in every group, and (sent, received, messages) of every peer in both steps."""
    N, n, kind = len(rows), len(rows[0]), np.asarray(rows).dtype.type
    receives = [True] * N if receives is None else receives
    result = [list(row) for row in rows]
    counts = [{"sent": [0] * N, "received": [0] * N, "messages": [0] * N} for _ in range(2)]

    def send(step, source, target, words):
        counts[step]["sent"][source] += words
        counts[step]["received"][target] += words
        counts[step]["messages"][source] += 1

    for label in sorted({g for g in groups if g >= 0}):
        members = [i for i in range(N) if groups[i] == label]
        if len(members) == 1:
            continue
        for c, owner in enumerate(members):
            chunk = [e for e in range(n) if c * n // len(members) <= e < (c + 1) * n // len(members)]
            for i in members:
                if i != owner:
                    send(0, i, owner, len(chunk))
            averaged = {}
            for e in chunk:
                total = 0.0
                for i in members:
                    total += float(rows[i][e])
                averaged[e] = total / len(members)
            for i in members:
                if receives[i]:
                    if i != owner:
                        send(1, owner, i, len(chunk))
                    for e in chunk:
                        result[i][e] = kind(averaged[e])
    return result, [step for step in counts if any(step["messages"])]


def moshpit(rows, keys, M, orders, alive, rule):
    """Rows and keys after len(orders) rounds; orders[t][key][j] is the chunk index of a group's j-th member."""
    keys, log = [list(key) for key in keys], []
    for t in range(len(orders)):
        groups, indices = [-1] * len(rows), [None] * len(rows)
        waiting = {}
        for i, key in enumerate(keys):
            if alive[t][i] or rule == "abort":
                waiting.setdefault(tuple(key), []).append(i)
        formed = []
        for key, peers in sorted(waiting.items()):
            number = 0
            for digit in key:
                number = number * M + digit
            for first in range(0, len(peers), M):
                formed.append((number, peers[first : first + M]))
        for label, (number, peers) in enumerate(formed):
            if all(alive[t][i] for i in peers):
                for j, i in enumerate(peers):
                    groups[i], indices[i] = label, orders[t][number][j]
        rows, counts = group_average(rows, groups)
        log += counts
        for i, index in enumerate(indices):
            if index is not None and keys[i]:
                keys[i] = [*keys[i][1:], int(index)]
    return rows, keys, log


def grid_average(rows, cells, rounds, start, alive, rule):
    """Rows after averaging along one axis of the grid after another."""
    log, d = [], len(cells[0])
    for t in range(rounds):
        axis = (start + t) % d
        lines = {}
        for i, cell in enumerate(cells):
            lines.setdefault(tuple(v for a, v in enumerate(cell) if a != axis), []).append(i)
        groups = [-1] * len(rows)
        for label, (_, peers) in enumerate(sorted(lines.items())):
            if rule == "abort" and not all(alive[t][i] for i in peers):
                continue
            for i in peers:
                groups[i] = label if alive[t][i] else -1
        rows, counts = group_average(rows, groups)
        log += counts
    return rows, log


def cut(order, sizes):
    """Labels: the first sizes[0] of `order` get 0, the next sizes[1] get 1, and so on."""
    labels, place = [None] * len(order), 0
    for label, size in enumerate(sizes):
        for i in order[place : place + size]:
            labels[i] = label
        place += size
    return labels


def set_partitions(N):
    """All partitions of range(N), as labels in order of first appearance."""
    if N == 0:
        return [[]]
    return [[*labels, label] for labels in set_partitions(N - 1) for label in range(max(labels, default=-1) + 2)]


def regrouped(order, M):
    """Groups of M consecutive peers, the rest dealt out to them in turn; none where there are too few."""
    whole = len(order) // M
    groups = [order[g * M : (g + 1) * M] for g in range(whole)]
    for j, i in enumerate(order[whole * M :]):
        if whole:
            groups[j % whole].append(i)
    return groups


def sgd(points, gradient, gamma, noise, period, groups):
    """Where every peer ends."""
    points = [list(map(float, row)) for row in points]
    for k, step in enumerate(noise):
        slopes = gradient(np.array(points))
        points = [
            [x - gamma * (float(g) + float(z)) for x, g, z in zip(row, slope, added, strict=True)]
            for row, slope, added in zip(points, slopes, step, strict=True)
        ]
        if (k + 1) % period == 0:
            for labels in groups[(k + 1) // period - 1]:
                points, _ = group_average(np.array(points), labels)
    return points


# --- test vectors: what one gives -> what the twin says of it ---------------------------------------------------------


def lists(stack):
    return [list(row) for row in stack]


def steps_of(log, N):
    words = {key: [sum(step[key][r] for step in log) for r in range(N)] for key in ("sent", "received", "messages")}
    path = sum(max(*step["sent"], *step["received"]) for step in log)
    return {**words, "steps": len(log), "critical_path": path}


def averaged(held):
    stack, receives = held["inputs"]["stack"], held["parameters"].get("receives")
    rows, log = group_average(lists(stack), held["inputs"]["groups"].tolist(), receives)
    return {"result": rows, "traffic": steps_of(log, len(stack))}


def everybody(held, rounds, N):
    alive = held["randomness"].get("alive")
    return [[True] * N] * rounds if alive is None else alive


def moshpit_twin(held):
    stack, options = held["inputs"]["stack"], held["parameters"]
    N, M, rounds = len(stack), options["M"], options["rounds"]
    keys = held["inputs"]["keys"]
    orders = held["randomness"].get("slots")
    if orders is None:
        orders = [[list(range(M))] * M ** keys.shape[1]] * rounds
    alive = everybody(held, rounds, N)
    rows, found, log = moshpit(lists(stack), keys.tolist(), M, orders, alive, options.get("rule", "skip"))
    return {"result": rows, "keys": np.array(found).reshape(keys.shape), "traffic": steps_of(log, N)}


def grid(held):
    stack, options, rounds = held["inputs"]["stack"], held["parameters"], held["parameters"]["rounds"]
    alive, cells = everybody(held, rounds, len(stack)), held["inputs"]["cells"].tolist()
    more = options.get("start", 0), alive, options.get("rule", "skip")
    rows, log = grid_average(lists(stack), cells, rounds, *more)
    return {"result": rows, "traffic": steps_of(log, len(stack))}


TWINS = {"group_average": averaged, "moshpit": moshpit_twin, "grid_average": grid}
"""Of the collectives by name; None for what the twin does not do."""
