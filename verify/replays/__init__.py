"""Published experiments, run again: one module for each, with its function ``replay``."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["REPLAYS"]

REPLAYS: Mapping[str, str] = MappingProxyType({})
"""Name -> module with a function ``replay`` of type `verify.replay.Replay`; imported when it is asked for."""
