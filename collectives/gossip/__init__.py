"""Gossip averaging, push-sum and all-reduce with restarts: what the workers do together."""

from commbounds.collectives.gossip.mixing import gossip, push_sum
from commbounds.collectives.gossip.restarts import allreduce_with_restarts

__all__ = ["COLLECTIVES", "allreduce_with_restarts", "gossip", "push_sum"]

COLLECTIVES = {"allreduce_with_restarts": allreduce_with_restarts, "gossip": gossip, "push_sum": push_sum}
"""What is run and counted here, by name."""
