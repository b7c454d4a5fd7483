"""Refuted claims of gossip at their smallest counterexamples: what the cases there are made with."""

from fractions import Fraction

import numpy as np
from refutation_cases import squared_distance

from commbounds.collectives import gossip
from commbounds.verify.study import Outcome

CASES = {
    "gossip.mean.renormalised": ({"topology": "ring", "N": 4, "alive": 0b0111, "broken": 0, "seed": 0}, None),
    "gossip.push_sum.losing": (
        {"topology": "one-peer", "N": 2, "rounds": 1, "loss": 0.0, "works": 0b01, "seed": 0},
        None,
    ),
    "gossip.restarts.as_restarts": ({"failure": Fraction(0), "attempts": 0}, None),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""


def _three_workers(at):
    result, _ = gossip(at["a"] * np.eye(3), "one-peer", 2)
    return Outcome(squared_distance(result), {"N": 3, "rounds": 2})


ALONE = {"gossip.one_peer.any_number": _three_workers}
"""Outcomes that no study measures at so small a point: what the collective itself returns."""
