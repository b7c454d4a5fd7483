"""Flash Communication: what is claimed."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column(
    "flashcomm",
    "Flash Communication: all-reduce in few bits",
    "Groups of entries are sent in a few bits each, between a smallest and a largest value, at two stages of an "
    "all-reduce.",
)
