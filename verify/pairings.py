"""Every collective that runs rank by rank, beside its twin in one process."""

from commbounds.verify.experiments.arctopk import pairings as arctopk
from commbounds.verify.experiments.dense import pairings as dense
from commbounds.verify.experiments.dropcompute import pairings as dropcompute
from commbounds.verify.experiments.feedback import pairings as feedback
from commbounds.verify.experiments.flashcomm import pairings as flashcomm
from commbounds.verify.experiments.gossip import pairings as gossip
from commbounds.verify.experiments.moshpit import pairings as moshpit
from commbounds.verify.experiments.oktopk import pairings as oktopk
from commbounds.verify.experiments.packetloss import pairings as packetloss
from commbounds.verify.experiments.sparse import pairings as sparse
from commbounds.verify.pairing import Pairing

__all__ = ["PAIRINGS"]

_COLUMNS = (dense, sparse, oktopk, arctopk, flashcomm, moshpit, gossip, packetloss, dropcompute, feedback)

PAIRINGS: dict[str, Pairing] = {pairing.name: pairing for column in _COLUMNS for pairing in column.PAIRINGS}
"""Pairings by name, in the order of the columns."""
