"""Published experiments, run again: one module for each, with its function ``replay``."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["REPLAYS"]

REPLAYS: Mapping[str, str] = MappingProxyType(
    {
        "dropcompute-scale": "commbounds.verify.replays.dropcompute_scale",
        "moshpit-averaging": "commbounds.verify.replays.moshpit_averaging",
        "oktopk-volume": "commbounds.verify.replays.oktopk_volume",
    }
)
"""Name -> module with a function ``replay`` of type `verify.replay.Replay`; imported when it is asked for."""
