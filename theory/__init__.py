"""Claims and cost models, as sympy: what the papers state, with hypotheses and sources.

Knows nothing of arrays, randomness or the other rooms.
"""

from collections.abc import Mapping

from commbounds.theory.claim import Claim, Hypothesis, Kind, Quantity, Source, Standing, Tag

__all__ = ["Claim", "Hypothesis", "Kind", "Quantity", "Source", "Standing", "Tag", "claims"]


def claims() -> Mapping[str, Claim]:
    """Every claim of the book under its name: `theory.book.claims`, which reads the book when it is first asked."""
    from commbounds.theory import book

    return book.claims()
