"""Every collective that runs rank by rank, beside its twin in one process."""

from commbounds.verify.pairing import Pairing

__all__ = ["PAIRINGS"]

PAIRINGS: dict[str, Pairing] = {}
"""Pairings by name, in the order of the columns."""
