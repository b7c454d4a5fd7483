"""Shipped collectives beside the programs of their ranks."""

from commbounds.verify.experiments.shipped_collectives.definitions import DEFINITIONS
from commbounds.verify.pairing import on_definition

_NAMES = (
    "quickreduce",
    "flashinfer_allreduce",
    "torchft_allreduce",
    "quantization_hook",
    "nccl_sum",
    "torchcomms_reduce_scatter",
    "loongforge_hook",
)
PAIRINGS = tuple(on_definition(name, DEFINITIONS[name]) for name in _NAMES)
