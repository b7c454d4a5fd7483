"""Sparse all-reduce before Ok-Topk, and SparDL: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "sparse",
    "Sparse all-reduce before Ok-Topk, and SparDL",
    "The sum of vectors with k entries each has up to P k entries. The methods before Ok-Topk, and SparDL, differ "
    "in what they do about that.",
    synopsis=Synopsis(
        found=(
            "SparDL and gTopk move the same number of words for every input. TopkDSA leaves its printed range, "
            "both ways."
        ),
        promise=(
            "A sum of sparse vectors for a number of words that does not grow with the ranks, or only like their "
            "logarithm."
        ),
        holds=(
            "gTopk’s and SparDL’s words (`sparse.gtopk.critical_path`, `sparse.spardl.most`), the lower bound on "
            "the average (`sparse.lower_bound.mean`), and that SparDL’s residual collection loses nothing "
            "(`sparse.spardl.mass`)."
        ),
        fails=(
            "TopkDSA’s range, read for any vectors (`sparse.topkdsa.upper_any_split`, "
            "`sparse.topkdsa.lower_any_density`); that the put-back of gTopk’s code loses nothing "
            "(`sparse.gtopk.code_mass`), and that gTopk finds the top-k of the sum (`sparse.gtopk.true_topk`)."
        ),
        tight=(
            "Most counts are equalities. Gaussiank’s selection depends on the tails: up to ten times k, and a "
            "small part of k."
        ),
        lesson=(
            "Choose by words for what is typical, and by the worst case where layers are hot; keep what a merge "
            "drops (`sparse.gtopk.mass`)."
        ),
        picture="sparse.words",
    ),
    renamed={
        "sparse.gtopk.published_mass": "sparse.gtopk.code_mass",
        "sparse.topkdsa.printed_upper": "sparse.topkdsa.upper_any_split",
        "sparse.topkdsa.printed_lower": "sparse.topkdsa.lower_any_density",
    },
)
