"""Sums in block-scaled formats: what the ranks do together."""

from commbounds.collectives.blockformats.homomorphic import ROUNDINGS, homomorphic_allreduce
from commbounds.collectives.blockformats.requantised import SCHEDULES, requantised_allreduce, rounding_stages
from commbounds.collectives.blockformats.wire import bytes_of, message_of

__all__ = [
    "COLLECTIVES",
    "ROUNDINGS",
    "SCHEDULES",
    "bytes_of",
    "homomorphic_allreduce",
    "message_of",
    "requantised_allreduce",
    "rounding_stages",
]

COLLECTIVES = {
    "requantised_allreduce": requantised_allreduce,
    "homomorphic_allreduce": homomorphic_allreduce,
}
"""What is run and counted here, by name."""
