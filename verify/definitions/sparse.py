"""Sparse all-reduces rank by rank and entry by entry, from their descriptions; imports nothing of ours.

A vector is a list, what is sent is a dict of index to value, and every function returns
(update, residual, selected, words), where words has phases by name: lists of steps, each a list of
(source, target, words).
"""

import math

import numpy as np
from scipy.special import ndtri

from commbounds.verify.definitions.oktopk import all_gather


def size_of(value):
    """The magnitude; NaN, of sums that overflow, is as large as infinity."""
    return math.inf if math.isnan(value) else abs(float(value))


def strongest(entries, k):
    """The k entries largest in magnitude, ties to the lowest index."""
    order = sorted(entries, key=lambda i: (-size_of(entries[i]), i))
    return {i: entries[i] for i in sorted(order[:k])}


def topk(x, k):
    return strongest(dict(enumerate(x)), k)


def plus(a, b):
    return {i: a[i] + b[i] if i in a and i in b else a.get(i, b.get(i)) for i in sorted({*a, *b})}


def without(a, b):
    return {i: v for i, v in a.items() if i not in b}


def region(n, P, r):
    """Indices of block r: the first n mod P blocks are one longer."""
    sizes = [n // P + (p < n % P) for p in range(P)]
    return range(sum(sizes[:r]), sum(sizes[: r + 1]))


def traffic(P, steps):
    """sent, received, messages, number of steps, critical path."""
    sent, received, messages, path = [0] * P, [0] * P, [0] * P, 0
    for step in steps:
        out, into = [0] * P, [0] * P
        for source, target, words in step:
            out[source] += words
            into[target] += words
            messages[source] += 1
        path += max(max(out), max(into))
        sent = [a + b for a, b in zip(sent, out, strict=True)]
        received = [a + b for a, b in zip(received, into, strict=True)]
    return sent, received, messages, len(steps), path


def summed(zero, bags, n):
    update = [zero] * n
    for bag in bags:
        for i, v in bag.items():
            update[i] = update[i] + v
    return update


def nothing(stack):
    """Zero, in the dtype of the stack."""
    return type(stack[0][0])(0)


def cleared(stack, bags):
    return [[nothing(stack) if i in bag else v for i, v in enumerate(x)] for x, bag in zip(stack, bags, strict=True)]


def topk_allgather(stack, k, allgather="bruck"):
    bags = [topk(x, k) for x in stack]
    update = summed(nothing(stack), bags, len(stack[0]))
    return update, cleared(stack, bags), [sorted(b) for b in bags], all_gather([2 * len(b) for b in bags], allgather)


def topk_dsa(stack, k, switch="model", allgather="ring"):
    P, n = len(stack), len(stack[0])
    bags = [{i: v for i, v in topk(x, k).items() if v != 0} for x in stack]
    steps, sums, regions = [], [], [region(n, P, r) for r in range(P)]
    for r in range(P):
        mine = {}
        for p in [r, *((r - s) % P for s in range(1, P))]:
            mine = plus(mine, {i: v for i, v in bags[p].items() if i in regions[r]})
        sums.append(mine)
    for s in range(1, P):
        steps.append([(p, (p + s) % P, 2 * sum(i in regions[(p + s) % P] for i in bags[p])) for p in range(P)])
    union = len({i for bag in bags for i in bag})
    dense = {"model": 2 * union >= n, "code": 3 * union >= n, "never": False}[switch]
    last = all_gather([len(regions[r]) if dense else 2 * len(sums[r]) for r in range(P)], allgather)
    phases = {"split": steps, "sizes": all_gather([1] * P, allgather), "dense" if dense else "allgather": last}
    return summed(nothing(stack), sums, n), cleared(stack, bags), [sorted(b) for b in bags], phases


def tree(P):
    distances, distance = [], 1
    while distance < P:
        distances.append(distance)
        distance *= 2
    return distances


def gtopk_allreduce(stack, k, putback="conserving"):
    P, n = len(stack), len(stack[0])
    own = [topk(x, k) for x in stack]
    bags, drops, steps = list(own), [[] for _ in range(P)], []
    for distance in tree(P):
        steps.append([])
        for target in range(0, P, 2 * distance):
            source = target + distance
            if source < P:
                steps[-1].append((source, target, 2 * len(bags[source])))
                both = plus(bags[target], bags[source])
                bags[target] = strongest(both, k)
                drops[target].append(without(both, bags[target]))
    final, down = bags[0], []
    for distance in reversed(tree(P)):
        down.append([(p, p + distance, 2 * k) for p in range(0, P - distance, 2 * distance)])
    update = [final.get(i, nothing(stack)) for i in range(n)]
    residual = []
    for p, x in enumerate(stack):
        rest = list(x)
        for i in final:
            if i in own[p]:
                rest[i] = nothing(stack)
            if putback == "conserving":
                for drop in drops[p]:
                    rest[i] = rest[i] + drop[i] if i in drop else rest[i]
        residual.append(rest)
    return update, residual, [sorted(bag) for bag in own], {"reduce": steps, "broadcast": down}


def gaussian_threshold(x, z):
    """Mean and z standard deviations, in float64, entry after entry; of x over a power of two, so that no square is
    out of range.
    """
    n, scale = len(x), math.ldexp(1.0, math.frexp(max(abs(float(v)) for v in x))[1] - 1)
    mean = square = 0.0
    for v in x:
        mean += float(v) / scale
    mean /= n
    for v in x:
        square += (float(v) / scale - mean) * (float(v) / scale - mean)
    return scale * (mean + z * math.sqrt(square / n))


def adapted(x, threshold, k, adapt):
    factor, rounds = {"none": (1, 0), "vgg": (1.02, 20), "lstm": (1.012, 50)}[adapt]
    magnitudes = [abs(float(v)) for v in x]
    for _ in range(rounds):
        count = sum(v > threshold for v in magnitudes)
        if count < 3 * k / 4:
            threshold /= factor
        elif count > 5 * k / 4 and adapt == "vgg":
            threshold *= factor
    return threshold


def gaussiank_allreduce(stack, k, adapt="none", allgather="bruck", quantile=None):
    bags, thresholds = [], []
    z = -float(ndtri(k / len(stack[0]) / 2)) if quantile is None else quantile
    for x in stack:
        threshold = adapted(x, gaussian_threshold(x, z), k, adapt)
        thresholds.append(threshold)
        bags.append({i: v for i, v in enumerate(x) if abs(float(v)) > threshold and v != 0})
    phases = {
        "sizes": all_gather([1] * len(stack), allgather),
        "allgather": all_gather([2 * len(b) for b in bags], allgather),
    }
    update = summed(nothing(stack), bags, len(stack[0]))
    return update, cleared(stack, bags), [sorted(b) for b in bags], phases, thresholds


def spardl_allreduce(stack, k, teams=1, synchronise="r-sag", sag_entries=None):
    P, n = len(stack), len(stack[0])
    m = P // teams
    h = k // m
    sag_entries = h if sag_entries is None else sag_entries
    if not -(-h // teams) <= sag_entries <= h:
        raise ValueError
    held, steps = [list(x) for x in stack], []

    def take(rank, block):
        best = strongest({i: held[rank][i] for i in region(n, m, block)}, h)
        for i in best:
            held[rank][i] = nothing(stack)
        return best

    def keep(rank, dropped):
        for i, v in dropped.items():
            held[rank][i] = held[rank][i] + v

    # reduce-scatter within the teams: far blocks first
    mine = list(range(m))
    for gap in reversed(tree(m)):
        far, mine = mine[gap:], mine[:gap]
        sent = []
        for rank in range(P):
            team, j = divmod(rank, m)
            target = team * m + (j + gap) % m
            sent.append((rank, target, [take(rank, (j + b) % m) for b in far]))
        for _, target, parts in sent:
            for part in parts:
                keep(target, part)
        steps.append([(rank, target, sum(2 * len(part) for part in parts)) for rank, target, parts in sent])
    bags = [take(rank, rank % m) for rank in range(P)]

    # agreement of the teams on every block
    scattered, steps = steps, []
    if synchronise == "r-sag":
        for distance in tree(teams):
            steps.append([(r, (r // m ^ distance) * m + r % m, 2 * len(bags[r])) for r in range(P)])
            merged = list(bags)
            for rank in range(P):
                team, j = divmod(rank, m)
                first, second = sorted((team, team ^ distance))
                both = plus(bags[first * m + j], bags[second * m + j])
                merged[rank] = strongest(both, h)
                if team % (2 * distance) == 0:
                    keep(rank, without(both, merged[rank]))
            bags = merged
    else:
        cut = [strongest(bag, sag_entries) for bag in bags]
        for rank in range(P):
            keep(rank, without(bags[rank], cut[rank]))
        across = [all_gather([2 * len(cut[t * m + j]) for t in range(teams)], "bruck") for j in range(m)]
        for parallel in zip(*across, strict=True):
            steps.append([(a * m + j, b * m + j, words) for j, step in enumerate(parallel) for a, b, words in step])
        for j in range(m):
            total = {}
            for t in range(teams):
                total = plus(total, cut[t * m + j])
            best = strongest(total, h)
            for t in range(teams):
                bags[t * m + j] = best
                keep(t * m + j, without(cut[t * m + j], best))

    agreed, steps = steps, []
    within = [all_gather([2 * len(bags[t * m + j]) for j in range(m)], "bruck") for t in range(teams)]
    for parallel in zip(*within, strict=True):
        steps.append([(t * m + a, t * m + b, words) for t, step in enumerate(parallel) for a, b, words in step])
    final = {i: v for bag in bags[:m] for i, v in bag.items()}
    update = [final.get(i, nothing(stack)) for i in range(n)]
    residual = [[held[p][i] if i in final else v for i, v in enumerate(x)] for p, x in enumerate(stack)]
    return (
        update,
        residual,
        [sorted(final)] * P,
        {"reduce-scatter": scattered, "synchronise": agreed, "allgather": steps},
    )


# --- what one gives -> what the twin says of it -----------------------------------------------------------------------


def counted(P, steps):
    return dict(zip(("sent", "received", "messages", "steps", "critical_path"), traffic(P, steps), strict=True))


def of_sparse(twin):
    def found(held):
        stack = held["inputs"]["stack"]
        if not np.isfinite(stack).all():
            return {"refused": "ValueError"}
        given = {name: held["inputs"][name] for name in ("quantile",) if name in held["inputs"]}
        rows = [list(row) for row in stack]
        try:
            update, residual, selected, words, *thresholds = twin(rows, **held["parameters"], **given)
        except ValueError:
            return {"refused": "ValueError"}
        phases = words if isinstance(words, dict) else {}
        steps = [step for part in phases.values() for step in part] if phases else words
        result = {
            "update": np.array(update, stack.dtype),
            "residual": np.array(residual, stack.dtype),
            "selected": [np.array(mine, np.int64) for mine in selected],
        }
        # the quantile of k = n is 0, and no library decides its last bit
        if thresholds and ("quantile" in given or held["parameters"]["k"] == stack.shape[1]):
            result["thresholds"] = np.array(thresholds[0])
        said = {"phases": {name: counted(len(stack), part) for name, part in phases.items()}} if phases else {}
        return {"result": result, "traffic": {**counted(len(stack), steps), **said}}

    return found
