"""Stars: what one worker does."""

from commbounds.compressors.stars.evens import Evens

__all__ = ["COMPRESSORS", "Evens"]

COMPRESSORS = {"Evens": Evens}
