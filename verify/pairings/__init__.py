"""Every collective that runs rank by rank, beside its twin in one process."""

from commbounds.verify.pairing import Pairing
from commbounds.verify.pairings import (
    arctopk,
    dense,
    dropcompute,
    feedback,
    flashcomm,
    gossip,
    moshpit,
    oktopk,
    packetloss,
    sparse,
)

__all__ = ["PAIRINGS"]

_COLUMNS = (dense, sparse, oktopk, arctopk, flashcomm, moshpit, gossip, packetloss, dropcompute, feedback)

PAIRINGS: dict[str, Pairing] = {pairing.name: pairing for column in _COLUMNS for pairing in column.PAIRINGS}
"""Pairings by name, in the order of the columns."""
