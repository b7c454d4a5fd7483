"""What the implementations of `lowcomm` are run with at the smallest counterexamples."""

CASES = {
    "lowcomm.loco.kept_late": (
        lambda at: {"fresh": 1 / at["v"], "keptstep": 1 / at["v"], "seed": 1, "kept_in_bits": True},
        None,
    ),
    "lowcomm.e3m0.relative": ({}, None),
}
