"""Gossip averaging, push-sum and all-reduce with restarts: what the workers do together."""

from commbounds.collectives.gossip.mixing import gossip, push_sum
from commbounds.collectives.gossip.restarts import allreduce_with_restarts

__all__ = [
    "allreduce_with_restarts",
    "gossip",
    "push_sum",
]
