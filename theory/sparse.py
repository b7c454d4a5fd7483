"""Sparse all-reduces before Ok-Topk, and SparDL: the claims."""

from __future__ import annotations

from commbounds.theory._sparse_gaussiank import GAUSSIANK
from commbounds.theory._sparse_regions import LOWER_BOUND, TOPK_DSA
from commbounds.theory._sparse_results import MASS, TRUE_TOPK
from commbounds.theory._sparse_words import GTOPK, SPARDL, TOPKA
from commbounds.theory.claim import Claim

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = (*TOPKA, *TOPK_DSA, *GTOPK, *GAUSSIANK, *SPARDL, *MASS, *TRUE_TOPK, *LOWER_BOUND)
