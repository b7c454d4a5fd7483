"""Sparse all-reduce before Ok-Topk, and SparDL: what is claimed."""

from commbounds.theory.column import Column, Synopsis

__all__ = ["COLUMN"]

COLUMN = Column(
    "sparse",
    "Sparse all-reduce before Ok-Topk, and SparDL",
    "The sum of vectors with k entries each has up to P k entries. The methods before Ok-Topk, and SparDL, handle this "
    "in different ways.",
    synopsis=Synopsis(
        found=(
            "SparDL and gTopk move the same number of words for every input. TopkDSA leaves its printed range at both "
            "ends."
        ),
        promise="The words of a sum of sparse vectors do not grow with the ranks, or only like their logarithm.",
        holds=(
            "gTopk’s and SparDL’s words are as stated (`sparse.gtopk.critical_path`, `sparse.spardl.most`), the lower "
            "bound holds on average (`sparse.lower_bound.mean`), and SparDL’s residual collection loses nothing "
            "(`sparse.spardl.mass`)."
        ),
        fails=(
            "TopkDSA’s range does not hold for all vectors (`sparse.topkdsa.upper_any_split`, "
            "`sparse.topkdsa.lower_any_density`). The put-back of gTopk’s code loses entries "
            "(`sparse.gtopk.code_mass`), and gTopk does not find the top-k of the sum (`sparse.gtopk.true_topk`)."
        ),
        tight=(
            "Most counts are equalities. Gaussiank’s selection depends on the tails: from a small part of k up to ten "
            "times k."
        ),
        lesson=(
            "Choose by words for typical gradients, and by the worst case if layers are hot; keep the entries that a "
            "merge drops (`sparse.gtopk.mass`)."
        ),
        picture="sparse.words",
    ),
    renamed={
        "sparse.gtopk.published_mass": "sparse.gtopk.code_mass",
        "sparse.topkdsa.printed_upper": "sparse.topkdsa.upper_any_split",
        "sparse.topkdsa.printed_lower": "sparse.topkdsa.lower_any_density",
    },
)
