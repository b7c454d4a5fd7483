"""Sparse all-reduces before Ok-Topk, and SparDL: the claims."""

from __future__ import annotations

from commbounds.theory.claim import Claim
from commbounds.theory.implementations import defined
from commbounds.theory.sparse.gaussiank import GAUSSIANK
from commbounds.theory.sparse.regions import LOWER_BOUND, TOPK_DSA
from commbounds.theory.sparse.results import MASS, TRUE_TOPK
from commbounds.theory.sparse.words import GTOPK, SPARDL, TOPKA

_DEFINITIONS = defined(
    "sparse",
    {
        "topk_allgather": "Written from the description of TopkA: every rank's k largest, ties to the lowest index, "
        "gathered and added in the order of the ranks.",
        "topk_dsa": "Written from the description of TopkDSA and the documented rules of its switch to dense blocks; "
        "an owner adds its own entries first, then those of the ranks before it.",
        "gtopk_allreduce": "Written from the tree of gTopk, which merges two and keeps the k largest; what is dropped "
        "is put back at indices of the update.",
        "spardl_allreduce": "Written from the description of SparDL: Bruck's pattern within the teams, agreement of "
        "the teams by either way, and a residual that loses nothing.",
        "gaussiank_allreduce": "Written from the threshold of the published code, whose mean is signed, and its two "
        "adaptations.",
    },
)

CLAIMS: tuple[Claim, ...] = (
    *TOPKA,
    *TOPK_DSA,
    *GTOPK,
    *GAUSSIANK,
    *SPARDL,
    *MASS,
    *TRUE_TOPK,
    *LOWER_BOUND,
    *_DEFINITIONS,
)
