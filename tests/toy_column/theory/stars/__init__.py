"""Stars: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "stars",
    "Stars: everything through rank 0",
    "A column that is no part of the package, for a test.",
    synopsis=Synopsis(
        found="Rank 0 sends as much as all others together.",
        promise="A sum with as few messages as there are, and half a vector for half of its norm.",
        holds="What rank 0 sends (`stars.star.hub`); what half of the entries lose (`stars.parity.contraction`).",
        fails="Rank 0 is no rank like the others (`stars.star.equal`); half is biased (`stars.parity.unbiased`).",
        tight="All of it exactly.",
        lesson="Look at the busiest rank.",
        picture="stars.hub",
    ),
)
