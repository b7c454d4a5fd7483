"""Which hyper-parameters to try on an input of n entries, and each compressor's natural parameter."""

from __future__ import annotations

from collections.abc import Mapping

from commbounds.columns import Table
from commbounds.verify.compressor_study import Setups, Sweep

SETUPS: Mapping[str, Setups] = Table("SETUPS", "verify.experiments", "setups")
"""Instances by compressor; a second word names a variant of it."""

SWEEPS: Mapping[str, Sweep] = Table("SWEEPS", "verify.experiments", "setups")
"""Natural parameter by compressor (and variant); the others are drawn over the number of entries."""
