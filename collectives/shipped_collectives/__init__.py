"""All-reduces in few bits as they are shipped.

QuickReduce, FlashInfer, torchft, torch's DDP hooks, NCCL's float8, torchcomms' reduce-scatter, LoongForge's hook.
Numbers are rounded where the sources round them, and to the formats that they say. Divisions and reciprocals are
rounded correctly; instructions that a GPU has for them may be off by a unit in the last place. Messages hold the bytes
of the sources; their order within a message is ours.
"""

from typing import Any

from commbounds.collectives.ranks.one_program import Collective
from commbounds.collectives.shipped_collectives.flashinfer import (
    flashinfer_allreduce,
    flashinfer_code,
    flashinfer_read,
)
from commbounds.collectives.shipped_collectives.hooks import quantization_hook
from commbounds.collectives.shipped_collectives.loongforge import loongforge_code, loongforge_hook
from commbounds.collectives.shipped_collectives.nccl import FLOAT8, float8, nccl_sum
from commbounds.collectives.shipped_collectives.quickreduce import (
    ATOMS,
    halves,
    quick_code,
    quick_read,
    quick_sum,
    quickreduce,
)
from commbounds.collectives.shipped_collectives.torchcomms import (
    philox,
    rounded_by_words,
    torchcomms_reduce_scatter,
    words_of,
)
from commbounds.collectives.shipped_collectives.torchft import torchft_allreduce, torchft_code, torchft_read

__all__ = [
    "ATOMS",
    "COLLECTIVES",
    "FLOAT8",
    "flashinfer_allreduce",
    "flashinfer_code",
    "flashinfer_read",
    "float8",
    "halves",
    "loongforge_code",
    "loongforge_hook",
    "nccl_sum",
    "philox",
    "quantization_hook",
    "quick_code",
    "quick_read",
    "quick_sum",
    "quickreduce",
    "rounded_by_words",
    "torchcomms_reduce_scatter",
    "torchft_allreduce",
    "torchft_code",
    "torchft_read",
    "words_of",
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
