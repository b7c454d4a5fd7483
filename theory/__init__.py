"""Claims and cost models, as sympy: what the papers state, with hypotheses and sources.

Knows nothing of arrays, randomness or the other rooms.
"""

from commbounds.columns import extended
from commbounds.theory._contents import claims
from commbounds.theory._tolerance import tolerance
from commbounds.theory.claim import Claim, Code, Hypothesis, Kind, Origin, Source, Standing, Tag
from commbounds.theory.quantities import Quantity

__path__ = extended(__path__, "theory")

__all__ = [
    "Claim",
    "Code",
    "Hypothesis",
    "Kind",
    "Origin",
    "Quantity",
    "Source",
    "Standing",
    "Tag",
    "claims",
    "tolerance",
]
