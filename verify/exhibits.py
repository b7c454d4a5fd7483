"""Figures about more than one claim: one module per column, each with its dict ``EXHIBITS``."""

from types import MappingProxyType

from commbounds.verify.experiments.arctopk import exhibits as arctopk
from commbounds.verify.experiments.dense import exhibits as dense
from commbounds.verify.experiments.dropcompute import exhibits as dropcompute
from commbounds.verify.experiments.feedback import exhibits as feedback
from commbounds.verify.experiments.flashcomm import exhibits as flashcomm
from commbounds.verify.experiments.gossip import exhibits as gossip
from commbounds.verify.experiments.moshpit import exhibits as moshpit
from commbounds.verify.experiments.oktopk import exhibits as oktopk
from commbounds.verify.experiments.packetloss import exhibits as packetloss
from commbounds.verify.experiments.sparse import exhibits as sparse

__all__ = ["EXHIBITS"]

_COLUMNS = (dense, sparse, oktopk, arctopk, feedback, moshpit, gossip, packetloss, dropcompute, flashcomm)

EXHIBITS = MappingProxyType({name: make for column in _COLUMNS for name, make in column.EXHIBITS.items()})
"""What makes an exhibit, under the exhibit's name, in the order of the columns."""
