"""Sparse all-reduce before Ok-Topk, and SparDL: what is claimed."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column(
    "sparse",
    "Sparse all-reduce before Ok-Topk, and SparDL",
    "The sum of vectors with k entries each has up to P k entries. The methods before Ok-Topk, and SparDL, differ "
    "in what they do about that.",
)
