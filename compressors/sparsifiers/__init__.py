"""Sparsifiers: what one worker does."""

from commbounds.compressors.sparsifiers.grouped_topk import BlockTopK, ChunkTopK
from commbounds.compressors.sparsifiers.message import Sparse
from commbounds.compressors.sparsifiers.randk import RandK
from commbounds.compressors.sparsifiers.topk import TopK
from commbounds.compressors.sparsifiers.unranked import AdaptiveSparsification, Dense, HardThreshold, Identity

__all__ = [
    "AdaptiveSparsification",
    "BlockTopK",
    "ChunkTopK",
    "Dense",
    "HardThreshold",
    "Identity",
    "RandK",
    "Sparse",
    "TopK",
]
