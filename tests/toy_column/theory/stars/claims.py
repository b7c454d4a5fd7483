"""What is claimed of a star, and of a compressor that sends every other entry."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Le
from commbounds.theory.hypotheses import NONZERO
from commbounds.theory.quantities import BITS, RELATIVE_ERROR, Quantity, itembits, n
from commbounds.theory.sources import derived
from commbounds.theory.symbols import Symbol

spokes = Symbol("spokes", r"\varsigma", 4, integer=True, nonnegative=True)
HUB = Quantity("hub_words", r"\mathrm{hub}", "words that rank 0 sends")

CLAIMS = (
    Claim(
        name="stars.star.hub",
        title="Rank 0 of a star sends n words to every other rank",
        relation=Eq(HUB, spokes * n),
        source=derived("the sum goes to P - 1 ranks"),
        axis="spokes",
    ),
    Claim(
        name="stars.evens.no_expansion",
        title="Leaving entries out is no expansion",
        relation=Le(RELATIVE_ERROR, 1),
        assumes=(NONZERO,),
        source=derived("what is left out is part of x"),
        tightness=1,
        extremal="a vector whose only nonzero entry has an odd position",
    ),
    Claim(
        name="stars.evens.wire",
        title="Every other entry is sent, and no index",
        relation=Eq(BITS, sp.ceiling(n / 2) * itembits),
        source=derived("the positions are known beforehand"),
    ),
)
