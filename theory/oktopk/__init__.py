"""Ok-Topk: what is claimed."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column(
    "oktopk",
    "Ok-Topk: sparse all-reduce in less than 6k words",
    "Every rank owns a region of the entries, chosen so that all receive about as much, and thresholds are reused "
    "for many iterations. What is said of the paper is second-hand, from a summary and from the published code; "
    "the proofs are ours.",
)
