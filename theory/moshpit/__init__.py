"""Moshpit: what is claimed."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column(
    "moshpit",
    "Moshpit: averaging in groups on a grid",
    "Peers average in small groups, anew in every round, so that a failure spoils a group and no more.",
)
