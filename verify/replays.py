"""Published experiments, run again: a column's package names them in ``REPLAYS``, with the module of each."""

from collections.abc import Mapping
from types import MappingProxyType

from commbounds.columns import parts

REPLAYS: Mapping[str, str] = MappingProxyType(
    {
        name: f"{found.__name__}.{module}"
        for _, found in parts("verify.experiments")
        for name, module in sorted(getattr(found, "REPLAYS", {}).items())
    }
)
"""Name -> module with a function ``replay`` of type `verify.replay.Replay`; imported when it is asked for."""
