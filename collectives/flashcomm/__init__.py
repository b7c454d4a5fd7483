"""Flash Communication: quantised all-reduce: what the workers do together."""

from commbounds.collectives.flashcomm.allreduce import (
    QuantisedSum,
    hierarchical_quantised_allreduce,
    oneshot_quantised_allreduce,
    ring_quantised_allreduce,
    twostep_quantised_allreduce,
)

__all__ = [
    "QuantisedSum",
    "hierarchical_quantised_allreduce",
    "oneshot_quantised_allreduce",
    "ring_quantised_allreduce",
    "twostep_quantised_allreduce",
]
