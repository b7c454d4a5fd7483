"""ARC-Top-K: what is claimed."""

from commbounds.theory.column import Column

__all__ = ["COLUMN"]

COLUMN = Column(
    "arctopk",
    "ARC-Top-K: rows agreed on through a sketch",
    "The ranks agree on the rows to send through an all-reduced sketch, so that no index is sent. The paper's own "
    "theorems were not read. What is stated here is derived, and the sources say so.",
)
