"""Classical all-reduce, reduce-scatter and all-gather: what the workers do together."""

from commbounds.collectives.dense.allreduce import (
    allgather,
    allgatherv,
    butterfly_allreduce,
    rabenseifner_allreduce,
    recursive_doubling_allreduce,
    reduce_scatter,
    ring_allreduce,
)
from commbounds.collectives.dense.gathering import gather_blocks

__all__ = [
    "allgather",
    "allgatherv",
    "butterfly_allreduce",
    "gather_blocks",
    "rabenseifner_allreduce",
    "recursive_doubling_allreduce",
    "reduce_scatter",
    "ring_allreduce",
]
