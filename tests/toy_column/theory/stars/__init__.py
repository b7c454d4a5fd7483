"""Stars: what is claimed."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column("stars", "Stars: everything through rank 0", "A column that is no part of the package, for a test.")
