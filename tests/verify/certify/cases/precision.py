"""Refuted claims of precision at their smallest counterexamples: what the cases there are made with."""


def _rounding(schedule, **other):
    """Settings of a rounded all-reduce."""
    common = {"per_hop": True, "rounding": "nearest", "nodes": None, "accumulate": "float32", "wire": "float32"}
    return {"schedule": schedule, **common, **other}


def _sum(schedule, **other):
    return _simulated(schedule, **other), None


def _simulated(schedule, **other):
    return _rounding(schedule, **{"own": "as sent", "kept": "as sent", "average": None, "nodes": 1, **other})


_E5M2 = {"accumulate": "float8_e5m2", "wire": "float8_e5m2"}

_E4M3 = {"accumulate": "float8_e4m3fn", "wire": "float8_e4m3fn"}

_BFLOAT16 = {"accumulate": "bfloat16", "wire": "bfloat16"}

_TO_BFLOAT16 = {"accumulate": "float32", "wire": "bfloat16"}

CASES = {
    "precision.running.sharp_beyond": (_rounding("ring", n=1, **_E5M2), None),
    "precision.tree.sharp_beyond": (_rounding("recursive_doubling", n=1, **_E5M2), None),
    "precision.per_hop": (_rounding("ring", P=2, n=1, accumulate="bfloat16", wire="float8_e4m3fn"), None),
    "precision.underflow": (_rounding("ring", n=1), None),
    "precision.bits.owner_keeps": (_simulated("ring", P=2, n=1, kept="unrounded", **_TO_BFLOAT16), None),
    "precision.bits.own_unrounded": (_simulated("recursive_doubling", P=4, n=1, own="unrounded", **_TO_BFLOAT16), None),
    "precision.fused.ring": _sum("ring", P=3, n=2, cut=1, layout="one behind the other", **_BFLOAT16),
    "precision.fused.rabenseifner_unrounded": (
        _simulated("rabenseifner", P=4, n=2, own="unrounded", cut=1, layout="one behind the other", **_TO_BFLOAT16),
        None,
    ),
    "precision.shards.ring": _sum("ring", P=4, n=1, deal="in a row", terms=4),
    "precision.shards.rabenseifner": _sum("rabenseifner", P=4, n=1, deal="in a row", terms=4),
    "precision.shards.any_ranks": _sum("recursive_doubling", P=5, n=1, deal="in a row", terms=5),
    "precision.average.any_ranks": (_simulated("ring", P=3, n=1, average="before"), None),
    "precision.average.before_in_range": (_simulated("ring", P=3, n=1, average="before", **_E5M2), None),
    "precision.overflow.exact_sum": _sum("binomial", P=3, n=1, **_E5M2),
    "precision.overflow.nan": _sum("ring", P=2, n=1, **_E4M3),
    "precision.quantised.own_entries": ({"P": 1, "n": 3, "width": 1, "group": 3, "second_width": 1}, None),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
