"""Ok-Topk rank by rank, message by message, from its description; imports nothing of ours.

Vectors are lists of floats, selections are dicts of index to value. A phase is a list of steps, a step is a list of
messages (source, target, words); what is sent is put into the target's inbox, and words are counted as it arrives.
"""

import math
import sys
from fractions import Fraction

import numpy as np

PHASES = ("repartition", "split", "reevaluation", "sizes", "balance", "allgather")
COO = 2  # words of an entry: its index and its value


def even(n, P):
    """[0, b_1, ..., n]: the first n mod P regions are one longer."""
    cuts = [0]
    for p in range(P):
        cuts.append(cuts[-1] + n // P + (1 if p < n % P else 0))
    return cuts


def kth_largest(x, k):
    return sorted((abs(v) for v in x), reverse=True)[k - 1]


def passes(value, threshold, strict):
    if value == 0:
        return False
    return abs(value) > threshold if strict else abs(value) >= threshold


def all_gather(sizes, algorithm):
    """Steps in which every rank gets every rank's block; who has what decides what can be sent."""
    P = len(sizes)
    have = [{p} for p in range(P)]
    steps = []

    def step(messages):
        moved = []
        for source, target, blocks in messages:
            assert set(blocks) <= have[source]
            moved.append((source, target, sum(sizes[b] for b in blocks)))
        for _, target, blocks in messages:
            have[target] |= set(blocks)
        steps.append(moved)

    if algorithm == "ring":
        for t in range(P - 1):
            step([(p, (p + 1) % P, [(p - t) % P]) for p in range(P)])
    elif algorithm == "bruck":
        distance = 1
        while distance < P:
            count = min(distance, P - distance)
            step([(p, (p - distance) % P, [(p + i) % P for i in range(count)]) for p in range(P)])
            distance *= 2
    else:
        power = 1
        while power * 2 <= P:
            power *= 2
        extra = P - power
        real = [2 * v if v < extra else v + extra for v in range(power)]
        if extra:
            step([(2 * v + 1, 2 * v, [2 * v + 1]) for v in range(extra)])
        distance = 1
        while distance < power:
            step([(real[v], real[v ^ distance], sorted(have[real[v]])) for v in range(power)])
            distance *= 2
        if extra:
            step([(2 * v, 2 * v + 1, sorted(have[2 * v] - {2 * v + 1})) for v in range(extra)])
    assert all(blocks == set(range(P)) for blocks in have)
    return steps


def all_reduce_integers(numbers, algorithm):
    """Sums of the ranks' P - 1 integers: number j (from 0) is added up at rank j + 1; and the steps."""
    P = len(numbers)
    inbox = [[numbers[p][p - 1]] if p else [] for p in range(P)]
    steps = []
    for s in range(1, P):
        step = []
        for p in range(P):
            target = (p + s) % P
            if target:
                message = [numbers[p][target - 1]]
                inbox[target] += message
                step.append((p, target, len(message)))
        steps.append(step)
    sums = [sum(inbox[p]) for p in range(1, P)]
    return sums, steps + all_gather([0] + [1] * (P - 1), algorithm)


def boundaries(chosen, n, rule, algorithm):
    """[0, b_1, ..., n] from every rank's ascending indices, and the steps that it takes to agree."""
    P = len(chosen)
    if rule == "even" or P == 1:
        return even(n, P), []
    if rule == "mean-of-quantiles":
        proposals = []
        for indices in chosen:
            chunk = len(indices) // P
            proposals.append([indices[chunk * j] for j in range(1, P)] if indices else even(n, P)[1:-1])
        sums, steps = all_reduce_integers(proposals, algorithm)
        return [0] + [total // P for total in sums] + [n], steps
    steps = all_gather([1] * P, algorithm)
    everything = sorted(i for indices in chosen for i in indices)
    if not everything:
        return even(n, P), steps
    wanted = [-(-j * len(everything) // P) for j in range(1, P)]
    ranges = [(0, n - 1)] * (P - 1)
    length = n
    while length > 1:  # bisection of all ranges at once
        middles = [(low + high) // 2 for low, high in ranges]
        counts = [[sum(1 for i in indices if i <= m) for m in middles] for indices in chosen]
        sums, more = all_reduce_integers(counts, algorithm)
        steps = steps + more
        ranges = [
            (low, m) if total >= w else (m + 1, high)
            for (low, high), m, total, w in zip(ranges, middles, sums, wanted, strict=True)
        ]
        length = -(-length // 2)
    cuts = [everything[w - 1] + 1 for w in wanted]  # what bisection finds: right after the entry number w of all
    assert [high + 1 if low >= high else None for low, high in ranges] == cuts
    return [0, *cuts, n], steps


def split(chosen, cuts, rotation, bucket, rounded):
    """Every region's sums, as dicts of index to sum; entries of rank p in region r; the steps."""
    P = len(chosen)
    regions = [[{i: v for i, v in mine.items() if cuts[r] <= i < cuts[r + 1]} for r in range(P)] for mine in chosen]
    inbox = [{r: regions[r][r]} for r in range(P)]
    rounds = []
    if rotation:
        for s in range(1, P):
            rounds.append([(p, (p + s) % P) for p in range(P)])
    elif P > 1:
        for s in range(P):
            rounds.append([(p, s) for p in range(P) if p != s])
    steps = []
    for start in range(0, len(rounds), bucket):
        step = []
        for one in rounds[start : start + bucket]:
            for p, r in one:
                inbox[r][p] = regions[p][r]
                step.append((p, r, COO * len(inbox[r][p])))
        steps.append(step)
    sums = []
    for r in range(P):
        total = {}
        for p in range(P):  # in rank order
            for i, v in inbox[r][p].items():
                total[i] = rounded(total.get(i, 0.0) + v)
        sums.append(total)
    return sums, [[len(regions[p][r]) for r in range(P)] for p in range(P)], steps


def balance(winners):
    """Every rank's share of the winners (lists of indices), still in order, and the steps."""
    P = len(winners)
    total = sum(len(mine) for mine in winners)
    owner = {i: r for r, mine in enumerate(winners) for i in mine}
    order = [i for mine in winners for i in mine]
    shares, start = [], 0
    for r in range(P):
        size = total // P + (1 if r < total % P else 0)
        shares.append(order[start : start + size])
        start += size
    steps = []
    for s in range(1, P):
        step = []
        for p in range(P):
            moved = [i for i in shares[(p + s) % P] if owner[i] == p]
            if moved:
                step.append((p, (p + s) % P, COO * len(moved)))
        if step:
            steps.append(step)
    return shares, steps


def capped(threshold):
    """Thresholds stay finite."""
    return min(threshold, sys.float_info.max)


class Refused(Exception):
    """Of NaN, infinities and sums that overflow."""


def allreduce(
    acc,
    k,
    state=None,
    *,
    boundaries_rule="mean-of-quantiles",
    balance_rule="always",
    allgather="bruck",
    strict=False,
    tau=64,
    tau_prime=32,
    controller=None,
    rotation=True,
    bucket=1,
    rounded=float,
):
    """(result, state, phases) of one iteration; `rounded` rounds a sum to the vectors' dtype."""
    P, n = len(acc), len(acc[0])
    if not all(math.isfinite(v) for x in acc for v in x):
        raise Refused
    state = state or {"t": 0, "local": [0.0] * P, "global": 0.0, "cuts": even(n, P)}
    t, local, top, cuts = state["t"], list(state["local"]), state["global"], list(state["cuts"])
    phases = {name: [] for name in PHASES}
    renewed = t % tau_prime == 0

    if renewed:
        local = [kth_largest(x, k) for x in acc]

    def select(p):
        return {i: v for i, v in enumerate(acc[p]) if passes(v, local[p], strict)}

    chosen = [select(p) for p in range(P)]
    if controller and not renewed:
        for p in range(P):
            for _ in range(controller["at_once_tries"]):
                if len(chosen[p]) > controller["at_once_above"] * k:
                    local[p] = capped(local[p] * controller["at_once_step"])
                    chosen[p] = select(p)
    if t % tau == 0:
        cuts, phases["repartition"] = boundaries([sorted(mine) for mine in chosen], n, boundaries_rule, allgather)

    sums, region_counts, phases["split"] = split(chosen, cuts, rotation, bucket, rounded)
    if not all(math.isfinite(v) for mine in sums for v in mine.values()):
        raise Refused
    nonzero = [{i: v for i, v in mine.items() if v != 0} for mine in sums]
    phases["sizes"] = all_gather([1] * P, allgather)
    if renewed:
        phases["sizes"] = phases["sizes"] + all_gather([1] * P, allgather)
        phases["reevaluation"] = all_gather([COO * len(mine) for mine in nonzero], allgather)
        gathered = [v for mine in nonzero for v in mine.values()]
        top = kth_largest(gathered, k) if len(gathered) >= k else 0.0

    winners = [sorted(i for i, v in mine.items() if passes(v, top, strict)) for mine in nonzero]
    held = winners
    total, most = sum(len(mine) for mine in winners), max(len(mine) for mine in winners)
    if balance_rule == "always" or (balance_rule == "4x-mean" and most > 4 * Fraction(total, P)):
        held, phases["balance"] = balance(winners)
    phases["allgather"] = all_gather([COO * len(mine) for mine in held], allgather)

    update = [0.0] * n
    for r in range(P):
        for i in winners[r]:
            update[i] = nonzero[r][i]
    won = {i for mine in winners for i in mine}
    result = {
        "update": update,
        "indices": sorted(won),
        "selected": [sorted(set(mine) & won) for mine in chosen],
        "local_counts": [len(mine) for mine in chosen],
        "region_counts": region_counts,
        "nonzero_sums": [len(mine) for mine in nonzero],
        "winners": [len(mine) for mine in winners],
    }
    if controller and not renewed:
        for p in range(P):
            if len(chosen[p]) < controller["low"] * k:
                local[p] /= controller["local_step"]
            elif len(chosen[p]) > controller["local_high"] * k:
                local[p] = capped(local[p] * controller["local_step"])
        if len(won) < controller["low"] * k:
            top /= controller["global_down"]
        elif len(won) > controller["global_high"] * k:
            top = capped(top * controller["global_up"])
    return result, {"t": t + 1, "local": local, "global": top, "cuts": cuts}, phases


def counts(P, steps):
    """sent, received, messages of every rank, number of steps, critical path."""
    sent, received, messages, path = [0] * P, [0] * P, [0] * P, 0
    for step in steps:
        out, into = [0] * P, [0] * P
        for source, target, words in step:
            out[source] += words
            into[target] += words
            sent[source] += words
            received[target] += words
            messages[source] += 1
        path += max(*out, *into)
    return {"sent": sent, "received": received, "messages": messages, "steps": len(steps), "critical_path": path}


def sgd_step(weights, residuals, gradients, eta, k, state, *, raw=False, rounded=float, **options):
    """(weights, residuals, state, result, phases) after a step of Algorithm 2; `raw` accumulates unscaled gradients."""
    P, n = len(gradients), len(weights)
    acc = [
        [rounded(e + (g if raw else rounded(eta * g))) for e, g in zip(residual, gradient, strict=True)]
        for residual, gradient in zip(residuals, gradients, strict=True)
    ]
    result, state, phases = allreduce(acc, k, state, rounded=rounded, **options)
    for p in range(P):
        for i in result["selected"][p]:
            acc[p][i] = 0.0
    weights = list(weights)
    for i in range(n):
        mean = rounded(result["update"][i] / P)
        weights[i] = rounded(weights[i] - (rounded(eta * mean) if raw else mean))
    return weights, acc, state, result, phases


# --- what one gives -> what the twin says of it -----------------------------------------------------------------------


def traffic(P, phases):
    """The whole, and phase by phase."""
    parts = {name: counts(P, phases[name]) for name in PHASES}
    return {**counts(P, [step for name in PHASES for step in phases[name]]), "phases": parts}


def renamed(options):
    """The options by the names that they have here."""
    found = dict(options)
    for name in ("boundaries", "balance"):
        if name in found:
            found[name + "_rule"] = found.pop(name)
    if "threshold" in found:
        found["strict"] = found.pop("threshold") == "strict"
    return found


def integers(values):
    return np.array(values, np.int64)


def said_of_result(result, kind):
    names = ("local_counts", "region_counts", "nonzero_sums", "winners")
    return {
        "update": np.array(result["update"], kind),
        "indices": integers(result["indices"]),
        "selected": [integers(mine) for mine in result["selected"]],
        **{name: integers(result[name]) for name in names},
    }


def said_of_state(state, k):
    return {
        "t": state["t"],
        "k": k,
        "local_thresholds": np.array(state["local"]),
        "global_threshold": state["global"],
        "boundaries": integers(state["cuts"]),
    }


def own_state(held):
    """A state as it is here, of one that is given."""
    names = {"t": "t", "local": "local_thresholds", "global": "global_threshold", "cuts": "boundaries"}
    return held and {name: np.array(held[given]).tolist() for name, given in names.items()}


def iterated(held):
    """Iterations of the all-reduce, one after another."""
    options, state, found = renamed(held["parameters"]), own_state(held["inputs"].get("state")), {}
    k, given, first = options.pop("k"), held["inputs"].get("state"), held["inputs"]["iterations"][0]
    if given and (len(given["local_thresholds"]), given["boundaries"][-1], given["k"]) != (*first.shape, k):
        return {"refused": "ValueError"}
    if "other" in held["inputs"]:  # ranks have thresholds of their own, and all else in common
        names = [name for name in given if np.any(np.array(given[name]) != np.array(held["inputs"]["other"][name]))]
        return {"refused as unlike": names != ["local_thresholds"]}
    for t, stack in enumerate(held["inputs"]["iterations"]):
        kind = stack.dtype.type
        try:
            result, state, phases = allreduce(
                stack.tolist(), k, state, rounded=lambda v, kind=kind: float(kind(v)), **options
            )
        except Refused:
            return {"refused": "ValueError"}
        said = {"result": said_of_result(result, kind), "state": said_of_state(state, k)}
        found[str(t)] = {**said, "traffic": traffic(len(stack), phases)}
    about = {
        "refused": ["ValueError"] * 5,
        "kinds": ["int", "float"],
        "writeable": [False, False],
        "controllers": CONTROLLERS,
    }
    return {"steps": found, "state": about}


NAMES = ("low", "local_high", "global_high", "local_step", "global_down", "global_up",
         "at_once_above", "at_once_step", "at_once_tries")  # fmt: skip
CONTROLLERS = {
    name: dict(zip(NAMES, (*map(Fraction, shares), *factors, Fraction(above), *at_once), strict=True))
    for name, shares, factors, above, at_once in (
        ("vgg", ("2/3", "5/4", "4/3"), (1.012, 1.008, 1.008), "4/3", (1.03, 5)),
        ("lstm", ("3/4", "5/4", "5/4"), (1.012, 1.01, 1.008), "3/2", (1.03, 5)),
        ("bert", ("4/5", "5/4", "5/4"), (1.025, 1.036, 1.025), "4/3", (1.03, 0)),
    )
}
"""The parameters in the official code, by the model: thresholds are adapted by them."""


def settled(held):
    chosen, options = [v.tolist() for v in held["inputs"]["selected"]], held["parameters"]
    rule, gather = options.get("rule", "mean-of-quantiles"), options.get("allgather", "bruck")
    if any(v.dtype.kind not in "iu" for v in held["inputs"]["selected"]):
        return {"refused": "TypeError"}
    if any(np.ndim(own) != 1 or own != sorted({i for i in own if 0 <= i < options["n"]}) for own in chosen):
        return {"refused": "ValueError"}
    cuts, steps = boundaries(chosen, options["n"], rule, gather)
    return {"boundaries": integers(cuts), "traffic": counts(len(chosen), steps)}


def descended(held):
    """Steps of the descent, one after another; step sizes are those of the vectors' dtype."""
    options, given = held["parameters"], held["inputs"]
    kind, P = given["weights"].dtype.type, len(given["gradients"][0])
    weights, state, found = given["weights"].tolist(), own_state(given.get("allreduce")), {}
    zeros = np.zeros((P, len(weights)), kind)
    residuals = given.get("residuals", zeros).tolist()
    for t, gradients in enumerate(given["gradients"]):
        eta = float(kind(given.get("step_sizes", {}).get(str(t), options["step_size"])))
        weights, residuals, state, result, phases = sgd_step(
            weights,
            residuals,
            gradients.tolist(),
            eta,
            options["k"],
            state,
            raw=options.get("accumulate") == "raw",
            rounded=lambda v: float(kind(v)),
            **renamed(options.get("options", {})),
        )
        after = {"weights": np.array(weights, kind), "residuals": np.array(residuals, kind)}
        found[str(t)] = {
            "state": {**after, "allreduce": said_of_state(state, options["k"])},
            "result": said_of_result(result, kind),
            "traffic": traffic(P, phases),
            "t": state["t"],
        }
    start = {"weights": given["weights"], "residuals": zeros, "allreduce": None}
    return {"start": {"state": start, "t": 0}, "steps": found}
