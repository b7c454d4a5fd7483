"""DropCompute: what is claimed."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column(
    "dropcompute",
    "DropCompute: dropping the stragglers' work",
    "Workers stop computing at a threshold, so that nobody waits for the slowest. The claims are about the time "
    "of a step, what is dropped, and what that does to the gradient.",
)
