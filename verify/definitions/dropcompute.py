"""DropCompute, slowly: one worker and one micro-batch at a time, in whatever numbers the latencies are."""

from itertools import accumulate


def worker(latencies, tau, preemption, forward=0, at_threshold=False):
    """What counts of one worker, and when it stops."""
    elapsed, count = 0, 0
    if preemption == "A":
        for t in latencies:
            elapsed += t
            if elapsed < tau or (at_threshold and elapsed == tau):
                count += 1
        return count, min(elapsed, tau)
    for t in latencies:
        if elapsed > tau:  # tested before the forward, which is after the micro-batch before
            break
        if preemption == "C":
            middle = elapsed + forward * t
            if middle > tau:  # tested between forward and backward
                return count, middle
        elapsed += t
        count += 1
    return count, elapsed


def step(latencies, tau, overhead=0, preemption="A", forward=0, at_threshold=False):
    """(time, time without a threshold, what counts of every worker)."""
    workers = [worker(row, tau, preemption, forward, at_threshold) for row in latencies]
    slowest = max(list(accumulate(row))[-1] for row in latencies)
    return max(t for _, t in workers) + overhead, slowest + overhead, [count for count, _ in workers]


def backup(latencies, spare, overhead=0):
    """(time, what counts) when the spare slowest are not waited for; the first of equals is faster."""
    totals = sorted((list(accumulate(row))[-1], n) for n, row in enumerate(latencies))
    waited = totals[: len(totals) - spare]
    kept = {n for _, n in waited}
    return waited[-1][0] + overhead, [len(row) if n in kept else 0 for n, row in enumerate(latencies)]


def local_sgd(steps, overhead=0):
    """Time of a period of local steps."""
    workers = len(steps[0])
    return max(sum(sum(step[n]) for step in steps) for n in range(workers)) + overhead


def objective(steps, tau, overhead):
    """Mean over the steps of speed-up times share that is completed at tau or before."""
    total = 0
    for latencies in steps:
        slowest = max(sum(row) for row in latencies)
        done = sum(s <= tau for row in latencies for s in accumulate(row))
        total += (slowest + overhead) / (min(tau, slowest) + overhead) * done / (len(latencies) * len(latencies[0]))
    return total / len(steps)


def best(steps, overhead):
    """The smallest of the best thresholds, and what it gains: every elapsed time is tried."""
    candidates = sorted({s for latencies in steps for row in latencies for s in accumulate(row) if s > 0})
    gains = [objective(steps, tau, overhead) for tau in candidates]
    return candidates[gains.index(max(gains))], max(gains)


def gradient(gradients, completed, normalisation):
    """The gradient of a step, from numbers."""
    N, M = len(gradients), len(gradients[0])
    kept = [list(row)[:count] for row, count in zip(gradients, completed, strict=True)]
    if normalisation == "fixed":
        return sum(map(sum, kept)) / (N * M)
    if normalisation == "computed":
        return sum(map(sum, kept)) / max(1, sum(completed))
    return sum(sum(row) / len(row) for row in kept if row) / N


def sgd(start, slope, noise, batches, learning_rate):
    """The points visited on f(x) = slope x^2/2."""
    x, visited = start, []
    for samples, count in zip(noise, batches, strict=True):
        visited.append(x)
        total = sum(slope * x + e for e in samples[:count])
        x = x - learning_rate / len(samples) * total
    return visited


# --- test vectors: what one gives -> what the twin says of it ---------------------------------------------------------


def dropped(held):
    options = held["parameters"]
    given = {key: options[key] for key in ("preemption", "at_threshold") if key in options}
    numbers = {key: float(options[key]) for key in ("tau", "overhead", "forward") if key in options}
    latencies = [[float(v) for v in row] for row in held["inputs"]["latencies"]]
    time, slowest, completed = step(latencies, **numbers, **given)
    return {"step.time": time, "step.slowest": slowest, "step.completed": completed}


def spared(held):
    latencies = [[float(v) for v in row] for row in held["inputs"]["latencies"]]
    options = held["parameters"]
    time, completed = backup(latencies, options["spare"], float(options.get("overhead", 0)))
    return {"step.time": time, "step.completed": completed}


def period(held):
    return {"seconds": local_sgd(held["inputs"]["latencies"].tolist(), float(held["parameters"]["overhead"]))}


TWINS = {"drop_step": dropped, "backup_step": spared, "local_sgd_period": period}
"""Of the collectives by name; None for what the twin does not do."""
