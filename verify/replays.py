"""Published experiments, run again: a column's package names them in ``REPLAYS``, with the module of each."""

from importlib import import_module
from types import ModuleType

from commbounds.columns import Registry
from commbounds.verify.contents import told
from commbounds.verify.sources import Sources


def _modules(_column: str, found: ModuleType) -> dict[str, str]:
    return {name: f"{found.__name__}.{module}" for name, module in sorted(getattr(found, "REPLAYS", {}).items())}


REPLAYS = Registry("REPLAYS", "verify.experiments", read=_modules)
"""Name -> module with a function ``replay`` of type `verify.replay.Replay`; imported when it is asked for."""


def replay_words() -> dict[str, str]:
    """Name of a replay -> what it is, in a sentence; those of a column that cannot be imported are left out."""
    found = told("replays", _words, _made_from).values()
    return {name: words for of_column in found if isinstance(of_column, list) for name, words in of_column}


def _words(column: str) -> list[tuple[str, str]]:
    described = []
    for name, module in REPLAYS.of_column(column).items():
        about = (import_module(module).__doc__ or "").split("\n\n")[0]
        described.append((name, " ".join(about.split())))
    return described


def _made_from(sources: Sources, column: str) -> frozenset[str]:
    return sources.modules(column, engine=("columns",), rooms=("verify.experiments",))
