"""Low-rank compression: what one worker does."""

from commbounds.compressors.lowrank.approximations import Factors, LowRank, PowerSGD

__all__ = [
    "Factors",
    "LowRank",
    "PowerSGD",
]
