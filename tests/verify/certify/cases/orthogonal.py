"""Refuted claims of orthogonal at their smallest counterexamples: what the cases there are made with."""

_VALUE = {"steps": 5, "P": 1, "columns": 2, "tall": False, "turned": False, "arithmetic": "dtype", "seed": 0}
_DION = {"P": 1, "m": 2, "n": 2, "r": 2, "mu": "3/4", "seed": 1, "right": "columns"}


CASES = {
    "orthogonal.muon.uniform": ({**_VALUE, "iteration": "muon", "value": "0"}, None),
    "orthogonal.muon.rounded_along": (
        {"P": 1, "steps": 5, "iteration": "muon", "arithmetic": "bfloat16", "dtype": "float64"}, None
    ),
    "orthogonal.polar_express.balanced": ({**_VALUE, "iteration": "polar_express", "value": "1/1000"}, None),
    "orthogonal.dion.fewer": ({"mu": "3/4", "seed": 1, "right": "columns"}, None),
    "orthogonal.dion.buffer_geometric": (
        lambda at: {
            "m": 1, "n": 2, "r": 1, "mu": f"{at['u']}/{at['v']}", "steps": at["dion_steps"], "fixed": True,
            "missed": "all", "seed": 1, "right": "columns",
        },
        None,
    ),
    "orthogonal.dion.orthonormal": (lambda at: {**_DION, "short": at["u"] / at["v"]}, None),
    "orthogonal.orth_dion.polar": (
        lambda at: {**_DION, "short": at["u"] / at["v"], "right": "orthonormal"},
        None,
    ),
    "orthogonal.matrix_topk": ({}, None),
}  # fmt: skip
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""

HYPER_PARAMETERS = {"orthogonal.lowrank": {"rank": 1}}
"""Of the compressor at the point, by the beginning of the claim's name."""

IN_FLOATS = {"orthogonal.lowrank.spectral_contracts"}
"""Of singular values there is no exact measure."""
