"""What is known of a law of latencies, and what is measured of it, says of the symbols of DropCompute's models."""

import sympy as sp

DONE = {"done": lambda measured: measured}

RUNS = {
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
