"""ARC-Top-K: all-reduce-compatible Top-K: what the workers do together."""

from commbounds.collectives.arctopk.allreduce import ArcResult, arctopk_allreduce, row_count
from commbounds.collectives.arctopk.law import kept_of_orthogonal_rows, kept_of_planar_rows

__all__ = [
    "COLLECTIVES",
    "ArcResult",
    "arctopk_allreduce",
    "kept_of_orthogonal_rows",
    "kept_of_planar_rows",
    "row_count",
]

COLLECTIVES = {"arctopk_allreduce": arctopk_allreduce, "row_count": row_count}
"""What is run and counted here, by name."""
