"""All-reduces in few bits as they are shipped.

QuickReduce, FlashInfer, torchft, torch's DDP hooks, NCCL's float8, torchcomms' reduce-scatter, LoongForge's hook.
Numbers are rounded where the sources round them, and to the formats that they say. Divisions and reciprocals are
rounded correctly; instructions that a GPU has for them may be off by a unit in the last place. Messages hold the bytes
of the sources; their order within a message is ours.
"""

from typing import Any

from commbounds.collectives.ranks.one_program import Collective
from commbounds.collectives.shipped_collectives.flashinfer import flashinfer_allreduce
from commbounds.collectives.shipped_collectives.hooks import quantization_hook
from commbounds.collectives.shipped_collectives.loongforge import loongforge_hook
from commbounds.collectives.shipped_collectives.nccl import nccl_sum
from commbounds.collectives.shipped_collectives.quickreduce import quickreduce
from commbounds.collectives.shipped_collectives.torchcomms import torchcomms_reduce_scatter
from commbounds.collectives.shipped_collectives.torchft import torchft_allreduce

__all__ = [
    "COLLECTIVES",
    "flashinfer_allreduce",
    "loongforge_hook",
    "nccl_sum",
    "quantization_hook",
    "quickreduce",
    "torchcomms_reduce_scatter",
    "torchft_allreduce",
]

COLLECTIVES: dict[str, Collective[..., Any, Any]] = {
    "quickreduce": quickreduce,
    "flashinfer_allreduce": flashinfer_allreduce,
    "torchft_allreduce": torchft_allreduce,
    "quantization_hook": quantization_hook,
    "nccl_sum": nccl_sum,
    "torchcomms_reduce_scatter": torchcomms_reduce_scatter,
    "loongforge_hook": loongforge_hook,
}
"""What is run and counted here, by name."""
