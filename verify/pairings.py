"""Every collective that runs rank by rank, beside its twin in one process."""

from types import ModuleType

from commbounds.columns import Registry
from commbounds.verify.pairing import Pairing


def _by_name(_column: str, found: ModuleType) -> dict[str, Pairing]:
    return {pairing.name: pairing for pairing in getattr(found, "PAIRINGS", ())}


PAIRINGS = Registry("PAIRINGS", "verify.experiments", "pairings", _by_name)
"""Pairings by name, in the order of the columns."""
