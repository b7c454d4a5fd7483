"""Broken implementations with what they claim, for the conformance kit to find."""

from zoo.record import Broken
from zoo.registry import ZOO, twins

__all__ = ["ZOO", "Broken", "twins"]
