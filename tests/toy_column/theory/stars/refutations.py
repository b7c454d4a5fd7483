"""Where refuted claims about stars are computed: the models of their smallest counterexamples."""

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import n
from commbounds.theory.stars.claims import spokes

_a = sp.Symbol("a", integer=True, nonnegative=True)

REFUTATIONS = by_claim(
    Refutation(
        claim="stars.star.equal",
        words="The sum of n words goes to every other rank.",
        whole={spokes: 1, n: 1},
        measured=spokes * n,
        values={n: n},
    ),
    Refutation(
        claim="stars.starsparity.unbiased",
        words="One entry a is kept with probability one half, unscaled.",
        whole={_a: 1},
        measured=sp.Rational(1, 2),
        x=(_a,),
    ),
)
