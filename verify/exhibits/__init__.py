"""Figures about more than one claim: one module per column, each with its dict ``EXHIBITS``."""

from types import MappingProxyType

from commbounds.verify.exhibits import (
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

__all__ = ["EXHIBITS"]

_COLUMNS = (dense, sparse, oktopk, arctopk, feedback, moshpit, gossip, packetloss, dropcompute, flashcomm)

EXHIBITS = MappingProxyType({name: make for column in _COLUMNS for name, make in column.EXHIBITS.items()})
"""What makes an exhibit, under the exhibit's name, in the order of the columns."""
