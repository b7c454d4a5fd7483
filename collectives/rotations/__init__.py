"""Rotation-based aggregation: what ranks do together."""

from commbounds.collectives.rotations.means import rotated_mean
from commbounds.collectives.rotations.sums import rotated_sum

__all__ = ["COLLECTIVES", "rotated_mean", "rotated_sum"]

COLLECTIVES = {"rotated_mean": rotated_mean, "rotated_sum": rotated_sum}
"""What is run and counted here, by name."""
