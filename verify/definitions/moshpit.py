"""Averaging in groups, peer by peer and word by word, as the papers describe it."""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from commbounds.verify.definitions.dense import lists


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
                if not math.isfinite(total):  # the sum is no float: of numbers over a power of two
                    scale = 2.0 ** -len(members).bit_length()
                    averaged[e] = sum(float(rows[i][e]) * scale for i in members) / (len(members) * scale)
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
        log.append(counts)
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
        log.append(counts)
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


def completions(left, used, r):
    """In how many ways `left` more peers can be put into blocks, `used` of which exist, so that r do (0: any)."""
    if left == 0:
        return 1 if r in (0, used) else 0
    if (left, used, r) not in COMPLETIONS:
        COMPLETIONS[left, used, r] = sum(completions(left - 1, max(used, b + 1), r) for b in range(used + 1))
    return COMPLETIONS[left, used, r]


COMPLETIONS = {}


def partition_at(place, N, r):
    """The set partition into r blocks (0: any number) at this place, in the order of labels, of which 0 comes first."""
    labels = []
    for i in range(N):
        used = max(labels, default=-1) + 1
        for label in range(used + 1):
            here = completions(N - 1 - i, max(used, label + 1), r)
            if place < here:
                labels.append(label)
                break
            place -= here
    return labels


def fisher_yates(choices):
    """The permutation where place i is exchanged with the place `choices[i]` further on."""
    order = list(range(len(choices)))
    for i, choice in enumerate(choices):
        order[i], order[i + choice] = order[i + choice], order[i]
    return order


def ranges_of(reading, N, r):
    """How many values every choice has."""
    if reading == "cut":
        return [N - i for i in range(N)]
    if reading == "slots":
        return [N] * N
    if reading in ("blocks", "partitions"):
        return [completions(N, 0, r if reading == "blocks" else 0)]
    return [r] * N


def below(rng, size):
    """A number below `size`: one of numpy's, or, beyond 2^62, of as many bits as it takes, until one is below."""
    if size <= 2**62:
        return int(rng.integers(size))
    bits = len(bin(size - 1)) - 2
    while True:
        number = int.from_bytes(rng.bytes(-(-bits // 8)), "little") % 2**bits
        if number < size:
            return number


class Dictated(np.random.Generator):
    """A generator whose bytes are those of given numbers, one after another."""

    def __init__(self, numbers):
        super().__init__(np.random.PCG64(0))
        self.left = list(numbers)

    def bytes(self, length):
        return self.left.pop(0).to_bytes(length, "little")


def labels_of(reading, sizes, choices):
    """Everybody's group; None where a group that must not be empty is."""
    N, r = sum(sizes), len(sizes)
    if reading == "cut":
        return cut(fisher_yates(choices), sizes)
    if reading == "blocks":
        return partition_at(choices[0], N, r)
    if reading == "partitions":
        return partition_at(choices[0], N, 0)
    if reading == "slots":
        return cut(list(range(N)), sizes)
    return None if reading == "occupied" and set(choices) != set(range(r)) else list(choices)


def about_the_mean(points):
    """The mean of rows, added up one after another, and the mean squared distance from it."""
    N, n = len(points), len(points[0])
    mean = []
    for e in range(n):
        total = 0.0
        for row in points:
            total += float(row[e])
        mean.append(total / N)
    whole = 0.0
    for row in points:
        square = 0.0
        for e in range(n):
            off = float(row[e]) - mean[e]
            square += off * off
        whole += square
    return mean, whole / N


def slope(name, row, peer):
    """Gradients that peers go down: of ||x||^2 / 2, or of (1 + peer) ||x||^2 / 2."""
    return [value * row[0].dtype.type(1 if name == "identity" else 1 + peer) for value in row]


def sgd(points, gradient, gamma, noise, period, groups):
    """Where every peer ends, the mean and distortion before every step and at the end, and every round's counts."""
    kind = points.dtype.type
    rows, rounds = [list(row) for row in points], {}
    seen = [about_the_mean(rows)]
    for k, added in enumerate(noise):
        stepped = []
        for p, row in enumerate(rows):
            down = slope(gradient, row, p)
            stepped.append([row[e] - kind(gamma) * (down[e] + kind(added[p][e])) for e in range(len(row))])
        rows = stepped
        if (k + 1) % period == 0:
            for j, labels in enumerate(groups[(k + 1) // period - 1]):
                rows, rounds[f"step {k + 1}, round {j + 1}"] = group_average(np.array(rows, kind), list(labels))
        seen.append(about_the_mean(rows))
    return rows, seen, rounds


# --- many trials: splitmix64, Lemire's numbers below a bound, the shuffle of Fisher and Yates -------------------------

WORD, GOLDEN = 2**64, 0x9E3779B97F4A7C15


def mix(z):
    """The finaliser of splitmix64."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


class Numbers:
    """The random numbers of one trial, one after another; that of counter 1 is the first."""

    def __init__(self, seed, trial):
        self.key, self.counter = mix((mix(seed) + (trial + 1) * GOLDEN) % WORD), 0

    def next(self):
        self.counter += 1
        return mix((self.key + self.counter * GOLDEN) % WORD)

    def below(self, size):
        while True:
            product = (self.next() >> 32) * size
            if product % 2**32 >= 2**32 % size:
                return product >> 32

    def fails(self, p):
        return (self.next() >> 11) / 2**53 < p

    def shuffled(self, entries):
        for i in range(len(entries) - 1):
            j = i + self.below(len(entries) - i)
            entries[i], entries[j] = entries[j], entries[i]
        return entries


def one_trial(rows, kind, M, d, p, rule, rounds, numbers):
    """The distortion about the initial mean after every round, in rational numbers."""
    N, n, found = len(rows), len(rows[0]), []
    centre = [sum(row[e] for row in rows) / N for e in range(n)]
    if kind == "random":
        groups = cut(
            list(range(N)), [(g + 1) * N // M + ((g + 1) * N % M > 0) - g * N // M - (g * N % M > 0) for g in range(M)]
        )
    else:
        cells = [[cell // M ** (d - 1 - a) % M for a in range(d)] for cell in numbers.shuffled(list(range(M**d)))[:N]]
        keys = [tuple(cell[:-1]) for cell in cells]
    for t in range(rounds):
        if kind == "random":
            meeting = groups = numbers.shuffled(groups)
        elif kind == "fixed":
            meeting = [tuple(v for a, v in enumerate(cell) if a != t % d) for cell in cells]
        else:
            meeting = keys
        there = [p == 0 or not numbers.fails(p) for _ in range(N)]
        if rule == "abort":
            there = [all(there[j] for j in range(N) if meeting[j] == meeting[i]) for i in range(N)]
        means = {}
        for group in {meeting[i] for i in range(N) if there[i]}:
            members = [rows[i] for i in range(N) if there[i] and meeting[i] == group]
            means[group] = [sum(row[e] for row in members) / len(members) for e in range(n)]
        rows = [means[meeting[i]] if there[i] else rows[i] for i in range(N)]
        found.append(sum((row[e] - centre[e]) ** 2 for row in rows for e in range(n)) / N)
        if kind == "keys":
            drawn = {key: numbers.shuffled(list(range(M))) for key in product(range(M), repeat=d - 1)}
            came, after = dict.fromkeys(drawn, 0), []
            for i, key in enumerate(keys):
                after.append((*key[1:], drawn[key][came[key] % M]) if there[i] and d > 1 else key)
                came[key] += there[i]
            keys = after
    return found


# --- what is given -> all that is returned ----------------------------------------------------------------------------


def steps_of(log, N):
    words = {key: [sum(step[key][r] for step in log) for r in range(N)] for key in ("sent", "received", "messages")}
    path = sum(max(*step["sent"], *step["received"]) for step in log)
    return {**words, "steps": len(log), "critical_path": path}


def phases_of(rounds, N):
    """The whole, and every round of a name as a phase; no phases where there is no round."""
    whole = steps_of([step for log in rounds.values() for step in log], N)
    return {**whole, "phases": {name: steps_of(log, N) for name, log in rounds.items()}} if rounds else whole


def numbered(log):
    return {f"round {t}": counts for t, counts in enumerate(log, 1)}


def averaged(held):
    stack, receives = held["inputs"]["stack"], held["parameters"].get("receives")
    rows, log = group_average(lists(stack), list(held["inputs"]["groups"]), receives)
    return {"result": np.array(rows, stack.dtype), "traffic": steps_of(log, len(stack))}


def options_of(held, **defaults):
    return {**defaults, **held["parameters"], **held["randomness"]}


def everybody(alive, rounds, N):
    return [[True] * N] * rounds if alive is None else alive


def moshpit_twin(held):
    stack, given = held["inputs"]["stack"], options_of(held, slots="sample", alive=None, rule="skip")
    N, M, rounds, slots = len(stack), given["M"], given["rounds"], given["slots"]
    if "keys" in held["inputs"]:
        keys = held["inputs"]["keys"]
    else:
        d = given["d"]
        if d > 64:
            return {"refused": "ValueError"}
        keys = np.array([[i // M ** (d - j) % M for j in range(1, d)] for i in range(N)], np.int64).reshape(N, d - 1)
    orders = np.array([[list(range(M))] * M ** keys.shape[1]] * rounds).reshape(rounds, M ** keys.shape[1], M)
    if not isinstance(slots, str):
        orders = slots
    elif slots == "sample":
        orders = np.random.default_rng(given["seed"]).permuted(orders, axis=2)
    alive = everybody(given["alive"], rounds, N)
    rows, found, log = moshpit(lists(stack), keys.tolist(), M, orders, alive, given["rule"])
    traffic = phases_of(numbered(log), N)
    found = np.array(found, np.int64).reshape(keys.shape)
    return {"result": np.array(rows, stack.dtype), "keys": found, "traffic": traffic}


def grid(held):
    stack, given = held["inputs"]["stack"], options_of(held, start=0, alive=None, rule="skip")
    alive, cells = everybody(given["alive"], given["rounds"], len(stack)), held["inputs"]["cells"].tolist()
    rows, log = grid_average(lists(stack), cells, given["rounds"], given["start"], alive, given["rule"])
    return {"result": np.array(rows, stack.dtype), "traffic": phases_of(numbered(log), len(stack))}


def in_random_groups(held):
    stack = held["inputs"]["stack"]
    given = options_of(held, rounds=1, reading="cut", sizes=None, choices=None, alive=None, rule="skip", receives=None)
    N, r, rounds, reading = len(stack), given["r"], given["rounds"], given["reading"]
    sizes = given["sizes"] or [N // r + (1 if g < N % r else 0) for g in range(r)]
    rng = Dictated(given["dictated"]) if "dictated" in given else np.random.default_rng(given.get("seed", 0))
    alive, gets = everybody(given["alive"], rounds, N), everybody(given["receives"], rounds, N)
    rows, log = lists(stack), []
    for t in range(rounds):
        labels = None
        while labels is None:
            chosen = given["choices"]
            choices = [below(rng, size) for size in ranges_of(reading, N, r)] if chosen is None else chosen[t]
            fit = all(0 <= choice < size for choice, size in zip(choices, ranges_of(reading, N, r), strict=True))
            labels = labels_of(reading, sizes, choices) if fit else None
            if labels is None and chosen is not None:
                return {"refused": "ValueError"}
        failed = {labels[i] for i in range(N) if not alive[t][i]} if given["rule"] == "abort" else ()
        labels = [g if alive[t][i] and g not in failed else -1 for i, g in enumerate(labels)]
        if reading == "slots":
            rows = [list(rows[i]) for i in choices]
        rows, counts = group_average(np.array(rows, stack.dtype), labels, gets[t])
        log.append(counts)
    return {"result": np.array(rows, stack.dtype), "traffic": phases_of(numbered(log), N)}


def in_new_groups(held):
    stack, given = held["inputs"]["stack"], options_of(held, rounds=1, orders=None, alive=None)
    N, rng = len(stack), np.random.default_rng(given.get("seed", 0))
    alive, rows, log = everybody(given["alive"], given["rounds"], N), lists(stack), []
    for t in range(given["rounds"]):
        there = [i for i in range(N) if alive[t][i]]
        order = rng.permutation(there).tolist() if given["orders"] is None else given["orders"][t]
        labels = [-1] * N
        for g, peers in enumerate(regrouped(order, given["M"])):
            for i in peers:
                labels[i] = g
        rows, counts = group_average(np.array(rows, stack.dtype), labels)
        log.append(counts)
    return {"result": np.array(rows, stack.dtype), "traffic": phases_of(numbered(log), N)}


def descended(held):
    points, given = held["inputs"]["points"], options_of(held, period=1, groups=[])
    settings = given["gradient"], given["gamma"], held["inputs"]["noise"], given["period"], given["groups"]
    rows, seen, rounds = sgd(points, *settings)
    means, spreads = (np.array([entry[part] for entry in seen]) for part in (0, 1))
    trajectory = {"points": np.array(rows, points.dtype), "means": means, "spreads": spreads}
    return {"trajectory": trajectory, "traffic": phases_of(rounds, len(points)), "whose memory": "its own"}


def tried(held):
    stack, given = held["inputs"]["stack"], options_of(held, d=2, p=0.0, rule="skip", first=0)
    N, n, rounds = *stack.shape, given["rounds"]
    if given["kind"] == "random" and given["M"] > N:
        return {"refused": "ValueError"}
    rows = [[Fraction(float(v)) for v in row] for row in stack]
    settings = given["kind"], given["M"], given["d"], given["p"], given["rule"], rounds
    trials = range(given["first"], given["first"] + given["trials"])
    found = [one_trial(rows, *settings, Numbers(given["seed"], j)) for j in trials]
    # u = 2^-53, every entry is at most A = 2 max|x| in magnitude. Taking the mean away: N additions, a division, a
    # difference. A round: N products, N additions, a division. So an entry is off by (N + 2 + t (2 N + 1)) u A after
    # t rounds, twice that with all terms of second order. The mean over peers of sums of n squares adds n + N + 2
    # roundings of n A^2.
    A, u = 2 * max(abs(v) for row in rows for v in row), Fraction(1, 2**53)
    off = [2 * (N + 2 + (t + 1) * (2 * N + 1)) * u * A for t in range(rounds)]
    allowance = [n * (2 * A * delta + delta**2) + 2 * (n + N + 2) * u * n * A**2 for delta in off]
    return {"distortions": {"near": [list(trial) for trial in found], "allowance": allowance * len(found)}}
