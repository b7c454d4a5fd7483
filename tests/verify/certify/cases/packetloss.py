"""Refuted claims of packetloss at their smallest counterexamples: what the cases there are made with."""

from fractions import Fraction

CASES = {
    "packetloss.bursts.as_if_independent": ({"receivers": 2, "t": 2, "p": Fraction(1, 2), "last": False}, None),
    "packetloss.drift.as_reviewed": ({"receivers": 2, "t": 2, "p": Fraction(1, 2), "last": False}, None),
    "packetloss.owner.unbiased_for_given_gradients": ({"p": Fraction(1, 2), "pattern": 0, "owner": 0}, None),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
