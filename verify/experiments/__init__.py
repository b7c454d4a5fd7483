"""Claims bound to implementations: one module per column."""

from types import MappingProxyType

from commbounds.verify.experiments import sparsifiers

__all__ = ["EXPERIMENTS"]

EXPERIMENTS = MappingProxyType({**sparsifiers.EXPERIMENTS})
"""Every experiment under the name of its claim, in the book's order."""
