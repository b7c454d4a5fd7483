"""What is known of lost packets says of the symbols of their models."""

import itertools
from fractions import Fraction
from math import comb

import numpy as np
from model_runs import Run

from commbounds.collectives import fresh_replicas, layout
from commbounds.verify.experiments.packetloss.descent import _CURVATURES, _UNIT, _every_fate
from commbounds.verify.experiments.packetloss.estimates import UNIT, _table
from commbounds.verify.experiments.packetloss.gaps import bernoulli, expectation
from commbounds.verify.experiments.packetloss.training import _trained

TRIANGLE = 64
"""Roundings of the sum of a few vectors, of their norms, and of the norms' sum."""


def arrivals(N, p, found):
    """For every number of arrivals: in how many sets of workers it is that, with and without the first worker."""
    estimates, counts, weights = found
    some = sum((w for w, k in zip(weights, counts, strict=True) if k), Fraction(0))
    for here in range(1, N + 1):
        chosen, fewer = int((counts == here).sum()), int(((counts == here) & (estimates != 0)).sum())
        yield {"N": N, "p": p, "here": here, "chosen": chosen, "fewer": fewer, "less": chosen - fewer, "some": some}


def sample(implementation, N, owner, arrived, gradients, S):
    """How often a worker, and two, are among so many arrivals."""
    estimates, _, sets = _table(implementation, "arrivals", N, None)
    of = estimates[sets.sum(axis=1) == arrived, owner] != 0
    inside = Fraction(int(of[:, 0].sum()), len(of))
    both = Fraction(int((of[:, 0] & of[:, N - 1]).sum()), len(of)) if N > 1 else 0
    total = sum(gradients)
    deviations = sum((g - total / N) ** 2 for g in gradients)
    yield {"N": N, "arrived": arrived, "inside": inside, "both": both, "sum": total, "S": S, "deviations": deviations}


def owners_weights(N, p, owner, gradients, found, outcome):
    """The owner's own gradient always arrives: for every number of arrivals, and the mean of what one weighs."""
    _, counts, weights = found
    weight = sum((w / int(k) for w, k in zip(weights, counts, strict=True)), Fraction(0))
    known = {**outcome.values, "N": N, "p": p, "weight": weight, "own": gradients[owner], "sum": sum(gradients)}
    for here in range(1, N + 1):
        fewer = int((counts == here).sum()) // 2  # the owner's packet to itself may be lost or not
        yield {**known, "here": here, "chosen": comb(N, here), "fewer": fewer, "less": comb(N, here) - fewer}


def a_weight(implementation, N, owner, subset):
    """What one gradient weighs in the owner's estimate, of those that arrive."""
    estimates, counts, _ = _table(implementation, "owner", N, None)
    yield {"arrived": int(counts[subset, owner]), "weight": Fraction(float(estimates[subset, owner, owner])) / UNIT}


def widening(receivers, elapsed, p, found):
    """How often no receiver is staler than the steps before the last, and how often all are, in every history."""
    none = expectation(found, bernoulli(p), found.staleness.max(axis=1) < elapsed)
    every = expectation(found, bernoulli(p), found.staleness.min(axis=1) >= elapsed)
    yield Run({"p": p, "elapsed": elapsed - 1, "receivers": receivers, "q": p**elapsed, "none": none, "all_": every})


def _triangle(vectors, sizes):
    """Vectors added up one after another: the sum before each, its norm, and that of the sizes."""
    x, total = 0 * vectors[0], 0.0
    for u, size in zip(vectors, sizes, strict=True):
        norm = float(np.linalg.norm(x))
        if norm and u.any():
            yield Run({"x": x, "u": u, "norm": norm, "far": size, "sum": total}, TRIANGLE)
        x, total = x + u, total + size


def updates_between(implementation, settings):
    """The updates of the first shard, which two copies may lack."""
    updates = []
    N, n = settings["N"], settings["n"]
    first = layout(n, N).owner == 0
    _trained(implementation, fresh_replicas(np.zeros(n), N), **settings,
             observe=lambda _state, update: updates.append(update[first]))  # fmt: skip
    yield from _triangle(updates, [float(np.linalg.norm(u)) for u in updates])


def slopes_at_replicas(implementation, settings):
    """Of every worker, the gradient at its replica less that at the point, and the distance times the constant."""
    N, n = settings["N"], settings["n"]
    more = {key: settings[key] for key in ("N", "n", "p", "data", "rounds", "seed")}
    start = fresh_replicas(np.linspace(-1.0, 1.0, n) * settings["spread"], N)
    state, _ = _trained(implementation, start, **more)
    point = state.parameters[layout(n, N).owner, np.arange(n)] + settings["shift"]
    bent = settings["function"] != "quadratic"
    vectors = [np.sin(point) - np.sin(x) if bent else 2.0 * (x - point) for x in state.parameters]
    lengths = [(1.0 if bent else 2.0) * float(np.linalg.norm(x - point)) for x in state.parameters]
    x, total = 0 * point, 0.0
    for u, length in zip(vectors, lengths, strict=True):
        norm, far = float(np.linalg.norm(x)), float(np.linalg.norm(u))
        if norm and far:
            yield Run({"x": x, "u": u, "norm": norm, "far": far, "sum": total}, TRIANGLE)
        x, total = x + u, total + length


def steps_of_training(halved):
    """Steps on quadratics, over all fates of all packets: only where half get lost, as all are equally likely there."""

    def runs(implementation, settings, outcome):
        N, n, p = settings["N"], settings["n"], settings["p"]
        if p != Fraction(1, 2) or n > 1 or settings["t"] * N > 6:
            return
        known, eta = outcome.values, outcome.values["eta"]
        curvature = np.resize(_CURVATURES[settings["curvatures"]], N)
        centre = _UNIT * np.arange(N)[:, None]

        def of(states):
            """Gradients at the owners' value and at the replicas, the replicas' drift, and f."""
            at = np.array([s.parameters[:, 0] for s in states])
            here, far = at[:, :1] - centre.T, at - centre.T
            f = (curvature * here**2).mean(axis=1) / 2
            return (curvature * here).mean(axis=1), (curvature * far).mean(axis=1), ((at - at[:, :1]) ** 2).mean(), f

        states, sums = [fresh_replicas(np.full(1, 5 * _UNIT), N)], {"fallen": 0, "estimates": 0, "squares": 0}
        for step in range(settings["t"]):
            following, updates = [], []
            for state, (_, fate) in itertools.product(states, list(_every_fate(N, 1))):
                after, _ = implementation(
                    state,
                    lambda _step, x: curvature[:, None] * (x - centre),
                    fate,
                    1,
                    float(eta),
                    observe=lambda _state, update, kept=updates: kept.append(update),
                )
                following.append(after)
            a, b, drift, f = of(states)
            estimate = float(np.mean([(update**2).sum() for update in updates])) / float(eta) ** 2
            falls = f.mean() - of(following)[3].mean()
            values = {**known, **sums, "root": float(p) ** 0.5, "elapsed": step, "falls": falls, "drift": drift,
                      "estimate": estimate, "later": of(following)[2]}  # fmt: skip
            values |= {name: np.asarray(v)[:, None] for name, v in (("a", a), ("b", b))}
            if step:
                yield Run(values, TRIANGLE * 16)
            sums["fallen"] += falls
            sums["estimates"] += estimate
            sums["squares"] += (np.mean(a**2) + np.mean(b**2)) / 2 if halved else np.mean(a**2)
            states = following

    return runs


RUNS = {
    "packetloss.volume.sent": {"words": lambda n, N: Fraction(n, N)},
    "packetloss.volume.received": {"words": lambda n, N: Fraction(n, N)},
    "packetloss.bursts.pair_limit": {"tail": lambda recovery, elapsed: (1 - recovery) ** elapsed},
    "packetloss.arrivals.variance": {
        "some": lambda p, N: 1 - p**N,
        "inverse": lambda measured, S, p, N: (measured * (1 - p**N) / S**2 if S else 0) + (1 - p**N) / N,
    },
    "packetloss.arrivals.mean_inverse_recurrence": arrivals,
    "packetloss.arrivals.unbiased": sample,
    "packetloss.owner.bias": owners_weights,
    "packetloss.owner.inflation": owners_weights,
    "packetloss.owner.variance_iid": owners_weights,
    "packetloss.owner.unbiased": a_weight,
    "packetloss.workers.range": widening,
    "packetloss.training.replica_gap": updates_between,
    "packetloss.training.stale_gradients": slopes_at_replicas,
    "packetloss.training.descent": steps_of_training(True),
    "packetloss.training.convergence": steps_of_training(False),
    "packetloss.versions.gap": {"more": lambda apart: apart - 1, "later": lambda elapsed, apart: elapsed - apart},
    "packetloss.drift.owner_sure_norm": {
        "mean": lambda p, elapsed: sum(p**age for age in range(1, elapsed + 1)),
        "square": lambda p, elapsed: sum((2 * age - 1) * p**age for age in range(1, elapsed + 1)),
    },
}
