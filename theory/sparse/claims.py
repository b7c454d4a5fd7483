"""Sparse all-reduces before Ok-Topk, and SparDL: the claims."""

from commbounds.theory.claim import Claim
from commbounds.theory.implementations import defined
from commbounds.theory.sparse.gaussiank import GAUSSIANK
from commbounds.theory.sparse.regions import LOWER_BOUND, TOPK_DSA
from commbounds.theory.sparse.results import MASS, TRUE_TOPK
from commbounds.theory.sparse.words import GTOPK, SPARDL, TOPKA

_TOLD = (
    " Every rank's selection, with ties and zeros, the order of additions, residuals, and the traffic of every phase, "
    "message by message."
)
_DEFINITIONS = defined(
    "sparse",
    {
        "topk_allgather": f"Written from the documented method, an all-gather of top-k vectors.{_TOLD}",
        "topk_dsa": f"Written from SparCML's dynamic sparse all-reduce as documented.{_TOLD}",
        "gtopk_allreduce": f"Written from the published tree, for any number of ranks as documented.{_TOLD}",
        "gaussiank_allreduce": "Written from the documented threshold and adaptations; the quantile is the library's, "
        f"moments are added up entry by entry.{_TOLD}",
        "spardl_allreduce": f"Written from SparDL's three phases as documented.{_TOLD}",
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
