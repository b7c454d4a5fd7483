"""Executable theory for compressed, sparse, lossy and straggling all-reduce.

The rooms are sub-packages, and imports only ever point left::

    theory  <-  compressors  <-  collectives  <-  verify  <-  figures

Importing ``commbounds`` itself imports none of them; each is imported when its name is first used,
``commbounds.theory.claims()``.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from commbounds import collectives, compressors, figures, testing, theory, verify

__all__ = ["__version__", "collectives", "compressors", "figures", "testing", "theory", "verify"]

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    if name in __all__:
        from importlib import import_module

        return import_module(f"commbounds.{name}")
    raise AttributeError(f"module 'commbounds' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
