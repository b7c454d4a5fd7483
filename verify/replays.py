"""Published experiments, run again: one module for each, with its function ``replay``."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["REPLAYS"]

REPLAYS: Mapping[str, str] = MappingProxyType(
    {
        "dropcompute-scale": "commbounds.verify.experiments.dropcompute.replay",
        "moshpit-averaging": "commbounds.verify.experiments.moshpit.replay",
        "oktopk-volume": "commbounds.verify.experiments.oktopk.replay",
    }
)
"""Name -> module with a function ``replay`` of type `verify.replay.Replay`; imported when it is asked for."""
