"""Published experiments, run again: one module for each, with its function ``replay``."""

from types import MappingProxyType

__all__ = ["REPLAYS"]

REPLAYS = MappingProxyType({})
"""Name -> module with a function ``replay`` of type `verify.replay.Replay`; imported when it is asked for."""
