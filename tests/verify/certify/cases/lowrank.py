"""Refuted claims of lowrank at their smallest counterexamples: what the cases there are made with."""

_MISSED = {"sequence": "missed", "sketch": "drawn", "dtype": "float64", "seed": 1}

CASES = {
    "lowrank.powersgd_ef14.warm_start_residual": (
        lambda at: {**_MISSED, "reach": float(at["a"]), "horizon": at["t"]},
        None,
    )
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""

HYPER_PARAMETERS = {"lowrank": {"rank": 1}}
"""Of the compressor at the point, by the beginning of the claim's name; or the compressor."""

IN_FLOATS = {"lowrank.powersgd.warm_start_contraction"}
"""Whose law is not finite: run in floats alone."""
