"""Which hyper-parameters to try on an input of n entries, and each compressor's natural parameter."""

from commbounds.columns import Registry
from commbounds.verify.compressor_study import Setups, Sweep

SETUPS: Registry[Setups] = Registry("SETUPS", "verify.experiments", "setups")
"""Instances by compressor; a second word names a variant of it."""

SWEEPS: Registry[Sweep] = Registry("SWEEPS", "verify.experiments", "setups")
"""Natural parameter by compressor (and variant); the others are drawn over the number of entries."""
