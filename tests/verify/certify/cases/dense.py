"""Refuted claims of dense at their smallest counterexamples: what the cases there are made with."""

import numpy as np

from commbounds.verify.study import Case

CASES = {
    "dense.recursive_doubling.words_any_ranks": ({}, None),
    **{
        f"dense.{name}.rank_order": ({"P": P, "n": 1, "dtype": "float64"}, None)
        for name, P in (("ring", 3), ("butterfly", 3), ("recursive_doubling", 4), ("rabenseifner", 4))
    },
    "dense.allgather.bruck_words_any_blocks": ({"algorithm": "bruck"}, None),
    "dense": ({}, None),
}
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""


def case_of(name, settings, more, stack):
    """The case of a claim; where it is about traffic, of ones."""
    given = {**settings, **more}
    return Case(given, np.ones((given["P"], given["n"])) if stack is None else stack)
