"""What one worker does to its vector: reference compressors, kernels in Numba, laws in exact arithmetic."""

from commbounds.compressors.base import Compressor, Law, Message
from commbounds.compressors.grouped_topk import BlockTopK, ChunkTopK
from commbounds.compressors.randk import RandK
from commbounds.compressors.sparse_message import Sparse
from commbounds.compressors.sparsifiers import AdaptiveSparsification, Dense, HardThreshold, Identity
from commbounds.compressors.topk import TopK

__all__ = [
    "COMPRESSORS",
    "AdaptiveSparsification",
    "BlockTopK",
    "ChunkTopK",
    "Compressor",
    "Dense",
    "HardThreshold",
    "Identity",
    "Law",
    "Message",
    "RandK",
    "Sparse",
    "TopK",
]

COMPRESSORS: dict[str, type[Compressor]] = {
    "TopK": TopK,
    "RandK": RandK,
    "BlockTopK": BlockTopK,
    "ChunkTopK": ChunkTopK,
    "HardThreshold": HardThreshold,
    "AdaptiveSparsification": AdaptiveSparsification,
    "Identity": Identity,
}
"""Every compressor under its class name: the one registry that tests, command line and figures iterate."""
