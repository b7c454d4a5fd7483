"""Sparsifiers: what is claimed."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column(
    "sparsifiers",
    "Sparsifiers: send few entries",
    "A worker sends a few of its vector's entries, the largest, random ones or those above a threshold, and the "
    "claims say what that loses and what it costs in bits.",
)
