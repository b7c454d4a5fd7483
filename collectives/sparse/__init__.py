"""Sparse all-reduces before Ok-Topk, and SparDL: what the workers do together."""

from commbounds.collectives.sparse.entries import SparseResult
from commbounds.collectives.sparse.gaussiank import GaussiankResult, gaussiank_allreduce
from commbounds.collectives.sparse.gtopk import gtopk_allreduce
from commbounds.collectives.sparse.spardl import spardl_allreduce
from commbounds.collectives.sparse.topk_allgather import topk_allgather
from commbounds.collectives.sparse.topk_dsa import topk_dsa

__all__ = [
    "GaussiankResult",
    "SparseResult",
    "gaussiank_allreduce",
    "gtopk_allreduce",
    "spardl_allreduce",
    "topk_allgather",
    "topk_dsa",
]
