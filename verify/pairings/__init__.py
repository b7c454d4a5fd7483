"""Every collective that runs rank by rank, beside its twin in one process."""

from commbounds.verify.pairing import Pairing
from commbounds.verify.pairings import arctopk, dense, flashcomm, oktopk, sparse

__all__ = ["PAIRINGS"]

PAIRINGS: dict[str, Pairing] = {
    pairing.name: pairing for column in (dense, sparse, oktopk, arctopk, flashcomm) for pairing in column.PAIRINGS
}
"""Pairings by name, in the order of the columns."""
