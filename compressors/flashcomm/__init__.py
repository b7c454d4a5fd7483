"""Flash Communication: quantised all-reduce: what one worker does."""

from commbounds.compressors.flashcomm.bit_planes import packed, packed_bytes, unpacked
from commbounds.compressors.flashcomm.groupquant import GroupQuantizer
from commbounds.compressors.flashcomm.message import GroupCodes
from commbounds.compressors.flashcomm.stochastic_groupquant import StochasticGroupQuantizer
from commbounds.compressors.flashcomm.wire import message_from_bytes, wire_bytes

__all__ = [
    "MECHANISMS",
    "GroupCodes",
    "GroupQuantizer",
    "StochasticGroupQuantizer",
    "message_from_bytes",
    "packed",
    "packed_bytes",
    "unpacked",
    "wire_bytes",
]

MECHANISMS = {"GroupQuantizer": GroupQuantizer, "StochasticGroupQuantizer": StochasticGroupQuantizer, "packed": packed}
"""What a worker does here, by name."""
