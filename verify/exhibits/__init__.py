"""Figures about more than one claim: one module per column, each with its dict ``EXHIBITS``."""

from types import MappingProxyType

from commbounds.verify.exhibits import dense, dropcompute, gossip, moshpit, oktopk, packetloss, sparse

__all__ = ["EXHIBITS"]

_COLUMNS = (dense, sparse, oktopk, moshpit, gossip, packetloss, dropcompute)

EXHIBITS = MappingProxyType({name: make for column in _COLUMNS for name, make in column.EXHIBITS.items()})
"""What makes an exhibit, under the exhibit's name, in the order of the columns."""
