"""Refuted claims of lowcomm at their smallest counterexamples: what the cases there are made with."""

CASES = {
    "lowcomm.streaming.peak_any": ({}, None),
    "lowcomm.diloco.reversed": ({"P": 1, "n": 1, "outermu": 0.0, "direction": "local - anchor", "seed": 0}, None),
    "lowcomm.diloco.ball_is_nesterov": (lambda at: {"outermu": at["u"] / at["v"]}, None),
    "lowcomm.diloco.contraction_suffices": (lambda at: {"outermu": 0.5, "innershare": at["u"] / at["v"]}, None),
    "lowcomm.local.optimum": (lambda at: {"retained": at["u"] / at["v"], "retained_second": at["w"] / at["v"]}, None),
    "lowcomm.quorum.unbiased": ({"heavy": 0}, None),
    "lowcomm.noloco.range": ({"pairmomentum": 0.5}, None),
    "lowcomm.sparseloco.keeps": ({"P": 1, "decay": 0.5, "n": 2, "k": 1, "chunk": 2, "data": "equal", "seed": 0}, None),
    "lowcomm.sparseloco.gets_through": ({"P": 1, "decay": 0.5, "weak": 0.5}, None),
    "lowcomm.demo.rate": ({}, None),
    "lowcomm.loco.cut_off": ({"P": 1, "fresh": 1.0, "outerrounds": 1, "data": "one over", "seed": 0, "bits": 4}, None),
    "lowcomm.loco.late_at_once": ({"P": 1, "fresh": 0.5, "data": "half", "seed": 0, "bits": 4}, None),
    "lowcomm.loco.resets_all": ({"reset_after": 1, "passes": 2}, None),
    "lowcomm.qgz.in_a_row": ({}, None),
    "lowcomm.loco.kept_late": (
        lambda at: {
            "P": 1,
            "fresh": 1 / at["v"],
            "keptstep": 1 / at["v"],
            "data": "half",
            "seed": 1,
            "kept_in_bits": True,
        },
        None,
    ),
    "lowcomm.e3m0.relative": ({}, None),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
