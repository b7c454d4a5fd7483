"""Sparse all-reduces before Ok-Topk, and SparDL: the claims."""

from __future__ import annotations

from commbounds.theory.claim import Claim
from commbounds.theory.sparse.gaussiank import GAUSSIANK
from commbounds.theory.sparse.regions import LOWER_BOUND, TOPK_DSA
from commbounds.theory.sparse.results import MASS, TRUE_TOPK
from commbounds.theory.sparse.words import GTOPK, SPARDL, TOPKA

CLAIMS: tuple[Claim, ...] = (*TOPKA, *TOPK_DSA, *GTOPK, *GAUSSIANK, *SPARDL, *MASS, *TRUE_TOPK, *LOWER_BOUND)
