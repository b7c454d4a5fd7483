"""The ranks of the block formats' all-reduces beside their sums in one process."""

from commbounds.verify.experiments.blockformats.definitions import DEFINITIONS
from commbounds.verify.pairing import on_definition
from commbounds.verify.space import LeftOut

_REFUSED = LeftOut(
    "A butterfly of other than a power of two of ranks is refused.",
    lambda P, topology: topology != "ring" and P & (P - 1) != 0,
)
_NAMES = ("requantised_allreduce", "homomorphic_allreduce", "table_allreduce")
PAIRINGS = (
    *(on_definition(name, DEFINITIONS[name]) for name in _NAMES),
    on_definition("multihop_allreduce", DEFINITIONS["multihop_allreduce"], _REFUSED),
)
