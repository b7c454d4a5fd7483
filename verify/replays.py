"""Published experiments, run again: a column's package names them in ``REPLAYS``, with the module of each."""

from types import ModuleType

from commbounds.columns import Registry


def _modules(_column: str, found: ModuleType) -> dict[str, str]:
    return {name: f"{found.__name__}.{module}" for name, module in sorted(getattr(found, "REPLAYS", {}).items())}


REPLAYS = Registry("REPLAYS", "verify.experiments", read=_modules)
"""Name -> module with a function ``replay`` of type `verify.replay.Replay`; imported when it is asked for."""
