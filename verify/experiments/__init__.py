"""Claims bound to implementations: one module per column."""

from types import MappingProxyType

from commbounds.theory import claims
from commbounds.verify.experiments import (
    arctopk,
    dense,
    dropcompute,
    feedback,
    flashcomm,
    gossip,
    lowrank,
    moshpit,
    oktopk,
    packetloss,
    quantizers,
    sparse,
    sparsifiers,
)

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
