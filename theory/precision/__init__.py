"""Precision and the order of sums: what is claimed, and how far a correct all-reduce may be off."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column(
    "precision",
    "Precision and the order of sums: how far a correct all-reduce may be off",
    "All-reduces that add in one number format and send in another, from float64 down to eight bits. The number of "
    "roundings on a term's way is read off the schedules; bounds that hold surely, bounds that hold probably, and "
    "worst cases computed exactly. Literature is recalled; what is relied on is proved or enumerated here.",
)
