"""What is claimed of a star, and of a compressor that sends every other entry."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Kind, Le, Standing
from commbounds.theory.compression import CompressorClaims
from commbounds.theory.hypotheses import NONZERO
from commbounds.theory.implementations import defined
from commbounds.theory.quantities import RELATIVE_ERROR, Quantity, itembits, n
from commbounds.theory.sources import derived
from commbounds.theory.symbols import Symbol

spokes = Symbol("spokes", r"\varsigma", 4, integer=True, nonnegative=True)
"""Ranks but the first."""
HUB = Quantity("hub_words", r"\mathrm{hub}", "words that rank 0 sends")

_parity = CompressorClaims("stars.parity", "every other entry", randomised=True)

DEFINITIONS = defined(
    "stars",
    {
        "Parity": "Written from the docstring: every other entry, and a zero for the last one where there is none.",
        "star_allreduce": "Written from the docstring: sums in the order of the ranks, a step for each, and back.",
    },
)

CLAIMS = (
    *DEFINITIONS,
    Claim(
        name="stars.star.hub",
        title="Rank 0 of a star sends n words to every other rank",
        relation=Eq(HUB, spokes * n),
        source=derived("the sum goes to P - 1 ranks"),
        axis="spokes",
    ),
    Claim(
        name="stars.star.equal",
        title="Rank 0 of a star sends as much as any other rank",
        relation=Eq(HUB, n),
        source=derived("One might expect it of an all-reduce. Refuted by three ranks."),
        stands=Standing.REFUTED,
        extremal="three ranks of one entry: two words",
        note="It sends the sum to each of them.",
    ),
    _parity.biased("x = (1): the mean of the outputs is (1/2)"),
    Claim(
        name="stars.parity.contraction",
        title="Every other entry loses half of the squared norm",
        relation=Eq(RELATIVE_ERROR, sp.Rational(1, 2)),
        kind=Kind.EXPECTED,
        assumes=(NONZERO,),
        source=derived("Either half of the entries is lost, with probability one half each."),
    ),
    Claim(
        name="stars.parity.no_expansion",
        title="Leaving entries out is no expansion",
        relation=Le(RELATIVE_ERROR, 1),
        kind=Kind.EXPECTED,
        assumes=(NONZERO,),
        source=derived("What is left out is part of x."),
        tightness=sp.Rational(1, 2),
        extremal="any vector",
    ),
    _parity.wire(1 + sp.ceiling(n / 2) * itembits, "a bit for the coin, and half of the entries, rounded up"),
    _parity.sign_symmetry("What is drawn does not look at x."),
    _parity.scale_equivariance("What is drawn does not look at x."),
    _parity.no_idempotence("x = (1): what is kept is lost with probability one half"),
)
