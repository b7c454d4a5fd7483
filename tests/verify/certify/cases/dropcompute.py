"""Refuted claims of dropcompute at their smallest counterexamples: what the cases there are made with."""

from fractions import Fraction

CASES = {
    "dropcompute.time.variance_as_proxy": ({"law": "exponential", "share": 1.0, "overhead": 0.2}, None),
    "dropcompute.gain.bounded_by_mean": ({"law": "1 (9/10) or 100", "share": 0.1, "overhead": 0.0}, None),
    "dropcompute.gain.single_any": ({"law": "1 (9/10) or 100", "share": 0.1, "overhead": 0.0}, None),
    "dropcompute.backup.dominated_strictly": (
        {"tau": Fraction(1), "overhead": Fraction(0), "preemption": "A", "at_threshold": False},
        None,
    ),
    "dropcompute.gradient.correlated": (
        {
            "law": "1 (1/2) or 2 (1/2)",
            "N": 1,
            "M": 1,
            "tau": Fraction(2),
            "normalisation": "computed",
            "gradients": "latencies",
        },
        None,
    ),
    "dropcompute.sgd.drops_ignored": (
        {"f": "x^2/2", "start": Fraction(1), "batches": (0, 1), "B": 1, "eta": Fraction(1), "L": 1, "sigma": 0},
        None,
    ),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
