"""Claims bound to implementations: one module per column."""

from types import MappingProxyType

from commbounds.theory import claims
from commbounds.verify.experiments.arctopk import studies as arctopk
from commbounds.verify.experiments.dense import studies as dense
from commbounds.verify.experiments.dropcompute import studies as dropcompute
from commbounds.verify.experiments.feedback import studies as feedback
from commbounds.verify.experiments.flashcomm import studies as flashcomm
from commbounds.verify.experiments.gossip import studies as gossip
from commbounds.verify.experiments.lowrank import studies as lowrank
from commbounds.verify.experiments.moshpit import studies as moshpit
from commbounds.verify.experiments.oktopk import studies as oktopk
from commbounds.verify.experiments.packetloss import studies as packetloss
from commbounds.verify.experiments.quantizers import studies as quantizers
from commbounds.verify.experiments.sparse import studies as sparse
from commbounds.verify.experiments.sparsifiers import studies as sparsifiers

__all__ = ["EXPERIMENTS"]

_COLUMNS = (
    sparsifiers,
    quantizers,
    lowrank,
    dense,
    sparse,
    oktopk,
    arctopk,
    feedback,
    moshpit,
    gossip,
    packetloss,
    dropcompute,
    flashcomm,
)
_BOUND = {name: experiment for column in _COLUMNS for name, experiment in column.EXPERIMENTS.items()}

EXPERIMENTS = MappingProxyType({name: _BOUND[name] for name in claims() if name in _BOUND})
"""Every experiment under the name of its claim, in the book's order."""
