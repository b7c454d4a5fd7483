"""Classical all-reduce, reduce-scatter and all-gather: the claims."""

from __future__ import annotations

from commbounds.theory.claim import Claim
from commbounds.theory.dense.allreduce import ALLREDUCE
from commbounds.theory.dense.gather import GATHER
from commbounds.theory.implementations import rank_by_rank

_RANKS = rank_by_rank(
    "dense",
    "ring_allreduce",
    "recursive_doubling_allreduce",
    "rabenseifner_allreduce",
    "butterfly_allreduce",
    "reduce_scatter",
    "allgather",
    "allgatherv",
    "gather_blocks",
)

CLAIMS: tuple[Claim, ...] = (*ALLREDUCE, *GATHER, *_RANKS)
