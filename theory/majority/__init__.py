"""Sign SGD with majority vote: what is claimed."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column(
    "majority",
    "Sign SGD with majority vote: a bit up, a bit down",
    "Workers send the signs of their gradients, and what comes back is the sign of the sum. The texts of both papers "
    "were read without their appendices: the bounds for one entry are recalled, and proved here.",
)
