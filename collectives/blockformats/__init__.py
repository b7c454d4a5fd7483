"""Sums in block-scaled formats: what the ranks do together."""

from commbounds.collectives.blockformats.homomorphic import ROUNDINGS, homomorphic_allreduce
from commbounds.collectives.blockformats.multihop import TOPOLOGIES, Thinned, hop_stages, multihop_allreduce
from commbounds.collectives.blockformats.requantised import SCHEDULES, requantised_allreduce, rounding_stages
from commbounds.collectives.blockformats.table import EVEN_TABLE, UNEVEN_TABLE, table_allreduce
from commbounds.collectives.blockformats.wire import bytes_of, message_of

__all__ = [
    "COLLECTIVES",
    "EVEN_TABLE",
    "ROUNDINGS",
    "SCHEDULES",
    "TOPOLOGIES",
    "UNEVEN_TABLE",
    "Thinned",
    "bytes_of",
    "homomorphic_allreduce",
    "hop_stages",
    "message_of",
    "multihop_allreduce",
    "requantised_allreduce",
    "rounding_stages",
    "table_allreduce",
]

COLLECTIVES = {
    "requantised_allreduce": requantised_allreduce,
    "homomorphic_allreduce": homomorphic_allreduce,
    "multihop_allreduce": multihop_allreduce,
    "table_allreduce": table_allreduce,
}
"""What is run and counted here, by name."""
