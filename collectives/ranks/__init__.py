"""The collectives rank by rank: every rank runs its own program and sees what arrives; in threads, or under mpirun."""

from commbounds.collectives.ranks.communicator import Communicator, Parcel, World, assembled, packets, parcel
from commbounds.collectives.ranks.lockstep import LockstepWorld, in_one_process
from commbounds.collectives.ranks.mpi import MpiWorld
from commbounds.collectives.ranks.one_program import Collective, fused_program, one_program
from commbounds.collectives.ranks.threads import ThreadWorld

__all__ = [
    "Collective",
    "Communicator",
    "LockstepWorld",
    "MpiWorld",
    "Parcel",
    "ThreadWorld",
    "World",
    "assembled",
    "fused_program",
    "in_one_process",
    "one_program",
    "packets",
    "parcel",
]
