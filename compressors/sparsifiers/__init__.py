"""Sparsifiers: what one worker does."""

from commbounds.compressors.sparsifiers.grouped_topk import BlockTopK, ChunkTopK
from commbounds.compressors.sparsifiers.message import Sparse
from commbounds.compressors.sparsifiers.randk import RandK
from commbounds.compressors.sparsifiers.topk import TopK
from commbounds.compressors.sparsifiers.unranked import AdaptiveSparsification, Dense, HardThreshold, Identity

__all__ = [
    "COMPRESSORS",
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

COMPRESSORS = {
    "TopK": TopK,
    "RandK": RandK,
    "BlockTopK": BlockTopK,
    "ChunkTopK": ChunkTopK,
    "HardThreshold": HardThreshold,
    "AdaptiveSparsification": AdaptiveSparsification,
    "Identity": Identity,
}
"""The compressors of this family, by class name."""
