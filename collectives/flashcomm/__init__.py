"""Flash Communication: quantised all-reduce: what the workers do together."""

from commbounds.collectives.flashcomm.allreduce import (
    hierarchical_quantised_allreduce,
    oneshot_quantised_allreduce,
    ring_quantised_allreduce,
    twostep_quantised_allreduce,
)
from commbounds.collectives.flashcomm.wire import QuantisedSum

__all__ = [
    "COLLECTIVES",
    "QuantisedSum",
    "hierarchical_quantised_allreduce",
    "oneshot_quantised_allreduce",
    "ring_quantised_allreduce",
    "twostep_quantised_allreduce",
]

COLLECTIVES = {
    "hierarchical_quantised_allreduce": hierarchical_quantised_allreduce,
    "oneshot_quantised_allreduce": oneshot_quantised_allreduce,
    "ring_quantised_allreduce": ring_quantised_allreduce,
    "twostep_quantised_allreduce": twostep_quantised_allreduce,
}
"""What is run and counted here, by name."""
