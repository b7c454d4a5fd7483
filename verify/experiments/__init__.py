"""Claims bound to implementations: one module per column."""

from types import MappingProxyType

from commbounds.theory import claims
from commbounds.verify.experiments import lowrank, quantizers, sparsifiers

__all__ = ["EXPERIMENTS"]

_BOUND = {**sparsifiers.EXPERIMENTS, **quantizers.EXPERIMENTS, **lowrank.EXPERIMENTS}

EXPERIMENTS = MappingProxyType({name: _BOUND[name] for name in claims()})
"""Every experiment under the name of its claim, in the book's order."""
