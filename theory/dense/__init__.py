"""Dense all-reduce: what is claimed."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column(
    "dense",
    "Dense all-reduce: what every word costs",
    "All-reduce, reduce-scatter and all-gather as they are found in every library, with every word, message and "
    "step counted, and what no algorithm can avoid.",
)
