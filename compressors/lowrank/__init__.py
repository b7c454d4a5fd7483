"""Low-rank compression: what one worker does."""

from commbounds.compressors.lowrank.approximations import Factors, LowRank, PowerSGD

__all__ = ["COMPRESSORS", "Factors", "LowRank", "PowerSGD"]

COMPRESSORS = {"PowerSGD": PowerSGD, "LowRank": LowRank}
"""The compressors of this family, by class name."""
