"""Stars: what one worker does."""

from commbounds.compressors.stars.parity import EveryOther, Parity

__all__ = ["COMPRESSORS", "EveryOther", "Parity"]

COMPRESSORS = {"Parity": Parity}
