"""Refuted claims of flashcomm at their smallest counterexamples: what the cases there are made with."""

CASES = {
    "flashcomm.groupquant.half_step_stored": ({"width": 1, "group": 2, "metadata": "bfloat16"}, None),
    "flashcomm.groupquant.exact_then_stored": (
        {"width": 1, "group": 2, "metadata": "bfloat16", "quantise_with": "exact"},
        None,
    ),
    "flashcomm.groupquant.clamped_point": ({"width": 1, "group": 2, "zero": "clamped", "family": "one sign"}, None),
    "flashcomm.twostep.agreement_of_owners": ({"P": 2, "n": 6, "width": 1, "group": 3}, None),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
