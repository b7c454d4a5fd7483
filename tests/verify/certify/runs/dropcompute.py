"""What is known of a law of latencies, and what is measured of it, says of the symbols of DropCompute's models."""

from fractions import Fraction

import numpy as np
import sympy as sp

from commbounds.collectives import drop_step
from commbounds.verify.experiments.dropcompute.laws import NAMED_LAWS, SMALL_LAWS

WALD = {
    "late": lambda found, tau: found.late(tau),
    "done": lambda measured: measured,
    "begun": lambda done, late: done + late,
    "ending": lambda found, tau, latency, late: found.capped_worker(tau) + latency * late,  # an exponential's rest
}
GAIN = {
    "capped": lambda found, tau: found.capped(tau),
    "done": lambda found, tau: found.completed(tau),
    "root": lambda M: float(M) ** 0.5,
    "power": lambda tau, latency: sp.N(sp.exp(-tau / latency), 30),
}


def worked(settings, tau):
    """When the last micro-batch that a worker begins ends, on average over every outcome of the latencies."""
    count = settings["M"]
    return sum(
        p * Fraction(float(t[0][: min(int((np.cumsum(t[0]) < float(tau)).sum()) + 1, count)].sum()))
        for t, p in NAMED_LAWS[settings["law"]].outcomes(1, count)
    )


def counts(settings):
    """How many micro-batches are completed in every outcome of the latencies, and what each of them weighs."""
    for x, _ in SMALL_LAWS[settings["law"]].outcomes(settings["N"], settings["M"]):
        count = int(drop_step(x, float(settings["tau"])).completed.sum())
        if count:
            yield {"count": count, "weight": Fraction(1, count)}


ROOTS = {
    "many": lambda samples: sp.sqrt(int(samples)),
    "delta": lambda excess: sp.sqrt(sp.Rational(excess)),
    "curved": lambda smoothness: sp.sqrt(sp.Rational(smoothness)),
    "two": lambda: sp.sqrt(2),
}
DONE = {"done": lambda measured: measured, "begun": lambda done, late: done + late, "ending": worked}

RUNS = {
    "dropcompute.completed.exponential": WALD,
    "dropcompute.completed.new_worse": WALD,
    "dropcompute.gain.at_the_mean": GAIN,
    "dropcompute.gain.degenerate": GAIN,
    "dropcompute.gain.single": GAIN,
    "dropcompute.gradient.computed": counts,
    "dropcompute.sgd.nonconvex_tuned": ROOTS,
    "dropcompute.completed.at_least": DONE,
    "dropcompute.completed.new_better": DONE,
    "dropcompute.completed.at_the_mean": {
        **DONE,
        "root": lambda M: sp.sqrt(M),
        "deviation": lambda M, latency, capped: 2 * (M * latency - capped),
    },
    "dropcompute.completed.one_sided": {"passed": lambda measured: measured},
    "dropcompute.sgd.convex_tuned": {"many": lambda sgdsteps: float(sgdsteps) ** 0.5},
}
