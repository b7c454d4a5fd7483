"""Claims bound to implementations: a folder per column, whose ``studies.py`` has a dict ``EXPERIMENTS``."""

from types import MappingProxyType

from commbounds.columns import entries, extended
from commbounds.theory import claims

__path__ = extended(__path__, "verify/experiments")

__all__ = ["EXPERIMENTS"]

_BOUND = entries("EXPERIMENTS", "verify.experiments", "studies")

EXPERIMENTS = MappingProxyType({name: _BOUND[name] for name in claims() if name in _BOUND})
"""Every experiment under the name of its claim, in the book's order."""
