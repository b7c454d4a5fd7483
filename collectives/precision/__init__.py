"""All-reduces that add in one number format and send in another: what the ranks do together."""

from commbounds.collectives.precision.allreduce import SCHEDULES, mixed_precision_allreduce, uniforms_shape
from commbounds.collectives.precision.rounding import added_in, rounded_to
from commbounds.collectives.precision.simulation import SIMULATED, rounded, simulated_allreduce
from commbounds.collectives.precision.split import COMPUTATIONS, split_computation

__all__ = [
    "COLLECTIVES",
    "COMPUTATIONS",
    "SCHEDULES",
    "SIMULATED",
    "added_in",
    "mixed_precision_allreduce",
    "rounded",
    "rounded_to",
    "simulated_allreduce",
    "split_computation",
    "uniforms_shape",
]

COLLECTIVES = {
    "mixed_precision_allreduce": mixed_precision_allreduce,
    "simulated_allreduce": simulated_allreduce,
    "split_computation": split_computation,
}
"""What is run and counted here, by name."""
