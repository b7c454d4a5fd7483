"""What is claimed of a star, and of a compressor that sends every other entry."""

import sympy as sp

from commbounds.theory.claim import Claim, Kind, Quantity
from commbounds.theory.quantities import BITS, RELATIVE_ERROR, itembits, n
from commbounds.theory.sources import derived
from commbounds.theory.symbols import Symbol

spokes = Symbol("spokes", r"\varsigma", 4, integer=True, nonnegative=True)
hub = Quantity(sp.Symbol("hub_words", nonnegative=True), r"\mathrm{hub}", "words that rank 0 sends")

CLAIMS = (
    Claim(
        name="stars.star.hub",
        title="Rank 0 of a star sends n words to every other rank",
        quantity=hub,
        relation=sp.Eq(hub.symbol, spokes * n),
        kind=Kind.SURE,
        source=derived("the sum goes to P - 1 ranks"),
        axis="spokes",
    ),
    Claim(
        name="stars.evens.no_expansion",
        title="Leaving entries out is no expansion",
        quantity=RELATIVE_ERROR,
        relation=sp.Le(RELATIVE_ERROR.symbol, 1),
        kind=Kind.SURE,
        source=derived("what is left out is part of x"),
        tightness=1,
        extremal="a vector whose only nonzero entry has an odd position",
    ),
    Claim(
        name="stars.evens.wire",
        title="Every other entry is sent, and no index",
        quantity=BITS,
        relation=sp.Eq(BITS.symbol, sp.ceiling(n / 2) * itembits),
        kind=Kind.SURE,
        source=derived("the positions are known beforehand"),
    ),
)
