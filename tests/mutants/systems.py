"""The registry of broken collectives: every broken twin, and what kills it; one module for a column."""

from mutants import (
    arctopk,
    dense,
    dropcompute,
    feedback,
    flashcomm,
    gossip,
    moshpit,
    oktopk,
    packetloss,
    sparse_collectives,
)

__all__ = ["SYSTEMS"]

SYSTEMS = (
    *dense.MUTANTS,
    *sparse_collectives.MUTANTS,
    *oktopk.MUTANTS,
    *arctopk.MUTANTS,
    *feedback.MUTANTS,
    *moshpit.MUTANTS,
    *gossip.MUTANTS,
    *packetloss.MUTANTS,
    *dropcompute.MUTANTS,
    *flashcomm.MUTANTS,
)
"""Column by column."""
