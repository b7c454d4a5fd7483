"""The ranks of an all-reduce of several hops beside it in one process, in rows that are not refused."""

from commbounds.verify.experiments.blockformats.definitions import DEFINITIONS
from commbounds.verify.pairing import on_definition
from commbounds.verify.space import LeftOut

_REFUSED = LeftOut(
    "A butterfly of other than a power of two of ranks is refused.",
    lambda P, topology: topology != "ring" and P & (P - 1) != 0,
)
PAIRINGS = (on_definition("multihop_allreduce", DEFINITIONS["multihop_allreduce"], _REFUSED),)
