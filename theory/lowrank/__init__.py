"""Low rank: what is claimed."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column(
    "lowrank",
    "Low rank: send two thin factors",
    "A worker takes its gradient for a matrix and sends two thin factors of it.",
)
