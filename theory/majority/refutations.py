"""Where refuted claims about the majority vote are computed: the models of their smallest counterexamples."""

from __future__ import annotations

import sympy as sp

from commbounds.theory.majority.terms import votebits
from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import P, n

_a, _b = sp.symbols("a b", integer=True, nonnegative=True)

REFUTATIONS = by_claim(
    Refutation(
        claim="majority.server.thirty_two",
        words="The server sends the vote, n/8 bytes, to P - 1 workers.",
        whole={P: 1, n: 1},
        measured=(P - 1) * n / 8,
        values={P: P, n: n, votebits: 1},
        met={"vote_by_server": "The vote is run so."},
    ),
    Refutation(
        claim="majority.vote.no_expansion",
        words="Two of three workers outvote the sign of the mean; the vote has its magnitude, and errs by twice that.",
        whole={_a: 1, _b: 1},
        measured=sp.Integer(4),
        x=((_a,), (-_b,), (-_b,)),
        positive={"a > 2 b": _a - 2 * _b},
        met={"nonzero_mean": "a > 2 b."},
    ),
    Refutation(
        claim="majority.ties.one_bit",
        words="One worker, whose entries may be positive, negative or zero: so may the vote.",
        whole={},
        measured=sp.Integer(3),
        values={P: 1},
        met={"open_ties": "The vote is run so."},
    ),
)
