"""The registry of broken collectives: every broken twin, and what kills it; one module for a column."""

from mutants import dense, dropcompute, gossip, moshpit, oktopk, packetloss, sparse_collectives

__all__ = ["SYSTEMS"]

SYSTEMS = (
    *dense.MUTANTS,
    *sparse_collectives.MUTANTS,
    *oktopk.MUTANTS,
    *moshpit.MUTANTS,
    *gossip.MUTANTS,
    *packetloss.MUTANTS,
    *dropcompute.MUTANTS,
)
"""Column by column."""
