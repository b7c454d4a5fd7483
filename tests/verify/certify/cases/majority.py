"""Refuted claims of majority at their smallest counterexamples: what the cases there are made with."""

from fractions import Fraction

_VOTE = {"A": 0, "L": 0, "noise": "uniform", "kept": Fraction(1, 2), "way": "server", "zeros": "plus", "sign": 1}

CASES = {
    "majority.vote.any_noise": ({**_VOTE, "noise": "skewed", "r": Fraction(1)}, None),
    "majority.vote.shared_noise": ({**_VOTE, "r": Fraction(1, 2)}, None),
    "majority.adversaries.negation_is_worst": (lambda at: {**_VOTE, "r": Fraction(2, 3), "L": 11 * at["j"]}, None),
    "majority.server.thirty_two": ({"way": "server", "zeros": "plus"}, None),
    "majority.vote.no_expansion": ({"P": 3, "n": 1, "seed": 0, "way": "server", "zeros": "plus"}, None),
    "majority.ties.one_bit": ({"way": "server", "zeros": "abstain", "zero_entries": True}, None),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
