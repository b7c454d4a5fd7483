"""Every collective that runs rank by rank, beside its twin in one process."""

from commbounds.columns import parts
from commbounds.verify.pairing import Pairing

PAIRINGS: dict[str, Pairing] = {
    pairing.name: pairing for _, found in parts("verify.experiments", "pairings") for pairing in found.PAIRINGS
}
"""Pairings by name, in the order of the columns."""
